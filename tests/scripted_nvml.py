"""NVML as a test scripts it, to be put in place of the module ``pynvml``: what each GPU answers, by function."""

from __future__ import annotations

import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from irbench.measure import nvml


class NVMLError(Exception): ...


QUIET = {
    "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
    "nvmlDeviceGetTotalEnergyConsumption": 5_000,
    "nvmlDeviceGetPowerUsage": 70_000,
    "nvmlDeviceGetClockInfo": 1_980,
    "nvmlDeviceGetMaxClockInfo": 1_980,
    "nvmlDeviceGetNumGpuCores": 16_896,
    "nvmlDeviceGetCurrentClocksEventReasons": 0,
    "nvmlDeviceGetComputeRunningProcesses": [],
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80_000_000_000, free=79_000_000_000, used=1_000_000_000),
    "nvmlDeviceGetMigMode": [0, 0],
    "nvmlDeviceGetEccMode": [1, 1],
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetCudaComputeCapability": [9, 0],
    "nvmlDeviceGetTemperature": 41,
}
"""What a quiet GPU answers."""


class ScriptedNvml:
    """GPUs whose UUIDs begin with ``GPU-0``, ``GPU-1`` and so on.

    Args:
        gpus: For each GPU, its answers where they are others than a quiet GPU's; an exception is raised.
    """

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

    def __init__(self, *gpus: dict[str, Any]) -> None:
        self.gpus: tuple[dict[str, Any], ...] = gpus or ({},)

    def nvmlInit(self) -> None: ...  # noqa: N802 - its own names, as those that follow

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:  # noqa: N802
        return number

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-{handle}abc"

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "580.65.06"

    def nvmlSystemGetCudaDriverVersion(self) -> int:  # noqa: N802
        return 13_000

    def __getattr__(self, function: str) -> Any:
        if not function.startswith("nvmlDevice") or not any(function in gpu for gpu in (*self.gpus, QUIET)):
            raise AttributeError(function)

        def answer(handle: int, *_: Any) -> Any:
            script = self.gpus[handle].get(function, QUIET.get(function))
            if isinstance(script, Script):
                script = script.next()
            if isinstance(script, Exception):
                raise script
            return script

        return answer


class Script:
    """Answers that are given one after the other, the last one for ever."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def next(self) -> Any:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def put_in_place(monkeypatch: pytest.MonkeyPatch, scripted: Any) -> None:
    """Have irbench ask the scripted NVML, of which every GPU is visible to it as to ``nvidia-smi``."""
    monkeypatch.setitem(sys.modules, "pynvml", scripted)
    monkeypatch.setattr(nvml, "_one_gpu", cache(nvml._one_gpu.__wrapped__))
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)
