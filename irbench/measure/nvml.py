"""NVIDIA GPUs, as NVML tells of them: the driver's library, asked through ``nvidia-ml-py`` where that is installed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
"""What the driver says of itself, where there is one."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
_ORDER, _ORDER_OF_NVML = "CUDA_DEVICE_ORDER", "PCI_BUS_ID"

GpuAbsence: TypeAlias = Literal["not-visible", "unknown-order", "divided", "unreadable", "no-package", "no-driver"]
"""Why GPUs cannot be read. ``not-visible``: ``CUDA_VISIBLE_DEVICES`` hides all; ``unknown-order``: it names some by
numbers, which CUDA counts from the fastest of different GPUs and NVML by their place on the bus, or it names parts of
a GPU; ``divided``: the GPU is (MIG), and NVML's figures are those of the whole card; ``unreadable``: NVML failed;
``no-package``: the binding is missing."""


class NvmlUnavailable(Exception):
    """NVML cannot be asked: there is no driver."""


@dataclass(frozen=True)
class Gpu:
    """A GPU that NVML can be asked about.

    Attributes:
        number: NVML's, as ``nvidia-smi`` shows it.
        handle: NVML's name of the device.
    """

    number: int
    uuid: str
    nvml: Any
    handle: Any

    def ask(self, function: str, *arguments: Any) -> Any:
        """Return what a function of NVML answers about this GPU.

        Raises:
            OSError: It does not answer: older GPUs and drivers know less.
        """
        try:
            return getattr(self.nvml, function)(self.handle, *arguments)
        except (self.nvml.NVMLError, AttributeError) as error:  # older bindings lack functions
            raise OSError(str(error)) from error

    def ask_or_none(self, function: str, *arguments: Any) -> Any:
        """Return what :meth:`ask` does, and ``None`` where NVML does not answer."""
        try:
            return self.ask(function, *arguments)
        except OSError:
            return None


def load_nvml() -> Any:
    """Return the module ``pynvml``, ready to be asked.

    Raises:
        ModuleNotFoundError: It is not installed.
        NvmlUnavailable: There is no NVIDIA driver.
    """
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NvmlUnavailable(str(error)) from error
    return nvml


def all_gpus(nvml: Any) -> tuple[tuple[Gpu, ...], int]:
    """Return the GPUs of this machine that can be asked, and how many there are.

    Raises:
        OSError: NVML does not even tell how many.
    """
    try:
        count = int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError as error:
        raise OSError(str(error)) from error
    gpus = (_gpu(nvml, number) for number in range(count))
    return tuple(gpu for gpu in gpus if gpu is not None), count


def _gpu(nvml: Any, number: int) -> Gpu | None:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(number)
        uuid = nvml.nvmlDeviceGetUUID(handle)
        return Gpu(number, uuid.decode() if isinstance(uuid, bytes) else str(uuid), nvml, handle)
    except nvml.NVMLError:
        return None


def gpus_of_rows() -> tuple[tuple[Gpu, ...], GpuAbsence | None]:
    """Return the GPUs that rows may use, and why any is missing: the best one, unless the user names others.

    ``CUDA_VISIBLE_DEVICES`` names them; see :func:`one_gpu`.
    """
    try:
        gpus, count = all_gpus(load_nvml())
    except ModuleNotFoundError:
        return (), "no-package" if NVIDIA_DRIVER.exists() else "no-driver"
    except NvmlUnavailable:
        return (), "no-driver"
    except OSError:
        return (), "unreadable"
    if not count:
        return (), "no-driver"
    named = os.environ.get(VISIBLE)
    if named is None and not gpus:
        return (), "unreadable"
    if named is None:
        return _undivided((max(gpus, key=_rank),))
    visible = _visible(named, gpus, count)
    if visible is None:
        return (), "unknown-order"
    if not visible:
        return (), "not-visible" if len(gpus) == count else "unreadable"
    chosen = tuple(gpu for gpu in gpus if gpu.number in visible)
    return _undivided(chosen) if len(chosen) == len(visible) else (chosen, "unreadable")


def _undivided(gpus: tuple[Gpu, ...]) -> tuple[tuple[Gpu, ...], GpuAbsence | None]:
    return ((), "divided") if any(map(is_divided, gpus)) else (gpus, None)


def one_gpu() -> dict[str, str]:
    """Return the variable that shows a worker one GPU; none where the user set it, and where there is no GPU.

    Some runtimes take memory of all GPUs that they see, and others spread over them. The GPU is named by its UUID,
    since NVML and CUDA count in other orders. The parts of a GPU (MIG) are left to CUDA, which shows one of them.
    """
    return {} if VISIBLE in os.environ else _one_gpu()


@cache  # NVML takes tens of milliseconds to start, which no start of a worker contains
def _one_gpu() -> dict[str, str]:
    gpus, absence = gpus_of_rows()
    if absence == "no-package":
        return {VISIBLE: "0"}
    return {VISIBLE: gpus[0].uuid} if gpus and gpus[0].uuid.startswith("GPU-") else {}


def _rank(gpu: Gpu) -> tuple[tuple[int, ...], int]:
    """Return the compute capability of a GPU, and its cores times its highest clock; 0 where NVML does not tell."""
    capability = gpu.ask_or_none("nvmlDeviceGetCudaComputeCapability")
    cores = gpu.ask_or_none("nvmlDeviceGetNumGpuCores")
    clock = gpu.ask_or_none("nvmlDeviceGetMaxClockInfo", gpu.nvml.NVML_CLOCK_SM)
    return tuple(map(int, capability or ())), int(cores or 0) * int(clock or 0)


def is_divided(gpu: Gpu) -> bool:
    """Whether a GPU is divided into parts (MIG)."""
    modes = gpu.ask_or_none("nvmlDeviceGetMigMode")  # the present one, and that after a reset
    return bool(modes and modes[0])


def processes_on(gpu: Gpu) -> Sequence[Any]:
    """Return the processes that compute on a GPU, as NVML describes them."""
    processes: Sequence[Any] = gpu.ask_or_none("nvmlDeviceGetComputeRunningProcesses") or ()
    return processes


def used_memory_bytes(gpus: Sequence[Gpu]) -> int | None:
    """Return the memory of GPUs that is in use, whoever uses it; ``None`` where NVML does not tell."""
    memory = [gpu.ask_or_none("nvmlDeviceGetMemoryInfo") for gpu in gpus]
    return sum(int(each.used) for each in memory) if memory and None not in memory else None


def free_memory_bytes(gpus: Sequence[Gpu]) -> int | None:
    """Return the memory that is left on the GPU that has least; ``None`` where NVML does not tell."""
    memory = [gpu.ask_or_none("nvmlDeviceGetMemoryInfo") for gpu in gpus]
    return min((int(each.free) for each in memory if each is not None), default=None)


def _visible(named: str, gpus: Sequence[Gpu], count: int) -> frozenset[int] | None:
    """Return NVML's numbers of the GPUs that a variable names; ``None`` where it does not tell which these are.

    It names GPUs by CUDA's number or by the beginning of their UUID, and ends at the first that is none.
    """
    numbers: set[int] = set()
    by_number = False
    for name in (part.strip() for part in named.split(",")):
        matching = [gpu.number for gpu in gpus if name.startswith("GPU-") and gpu.uuid.startswith(name)]
        if name.startswith("MIG-"):
            return None
        if name.isdecimal() and int(name) < count:
            by_number = True
            numbers.add(int(name))
        elif matching:
            numbers.add(matching[0])
        else:
            break
    is_same_order = os.environ.get(_ORDER) == _ORDER_OF_NVML or len(numbers) == count or _are_alike(gpus)
    return frozenset(numbers) if is_same_order or not by_number else None


def _are_alike(gpus: Sequence[Gpu]) -> bool:
    """Whether all GPUs are of one model: CUDA then has none to put first, and counts by the bus as NVML does."""
    models = {model_of(gpu) for gpu in gpus}
    return len(models) == 1 and None not in models


def model_of(gpu: Gpu) -> str | None:
    """Return the name of a card, ``NVIDIA H200`` for example."""
    name = gpu.ask_or_none("nvmlDeviceGetName")
    return name.decode() if isinstance(name, bytes) else name
