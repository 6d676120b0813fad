"""Whether a process computes with CUDA, as its open files tell, and what of it is left when its code returns."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from irbench.worker import cuda_contexts
from irbench.worker.cuda_contexts import CudaContexts, uses_cuda


def process(folder: Path, *devices: str) -> Path:
    (folder / "fd").mkdir(parents=True)
    for number, device in enumerate(devices):
        (folder / "fd" / str(number)).symlink_to(device)
    return folder


def test_a_process_uses_cuda_once_it_has_opened_unified_memory(tmp_path: Path) -> None:
    nvml = process(tmp_path / "nvml", "/dev/nvidiactl", "/dev/nvidia0")
    torch = process(tmp_path / "torch", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0")
    assert not uses_cuda([nvml, tmp_path / "ended"])
    assert uses_cuda([nvml, torch])
    assert not uses_cuda()


class Driver:
    """Two GPUs, of which the second one has a primary context."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802 - its own names, as those that follow
        count._obj.value = 2
        return 0

    def cuDevicePrimaryCtxGetState(self, device: int, flags: Any, active: Any) -> int:  # noqa: N802
        active._obj.value = device
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> int:  # noqa: N802
        self.called.append(f"retain {device}")
        context._obj.value = 100 + device
        return 0

    def cuCtxPushCurrent_v2(self, context: ctypes.c_void_p) -> int:  # noqa: N802
        self.called.append(f"push {context.value}")
        return 0

    def cuCtxSynchronize(self) -> int:  # noqa: N802
        self.called.append("synchronize")
        return 0

    def cuCtxPopCurrent_v2(self, _: Any) -> int:  # noqa: N802
        self.called.append("pop")
        return 0


def test_only_contexts_that_the_code_made_are_waited_for() -> None:
    driver = Driver()
    assert CudaContexts(driver).unfinished_ns() >= 0
    assert driver.called == ["retain 1", "push 101", "synchronize", "pop"]


def test_the_driver_is_not_loaded_for_code_that_does_not_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cuda_contexts.ctypes, "CDLL")
    assert cuda_contexts.cuda_contexts() is None
