"""What NVIDIA's driver tells of the GPUs, and which packages get in each other's way; the rules judge nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Literal, TypeAlias, cast

import psutil

from irbench.core.record import GpuLimit
from irbench.core.registry import distributions
from irbench.measure.gpu_evidence import limits_of
from irbench.measure.nvml import (
    NVIDIA_DRIVER,
    VISIBLE,
    Gpu,
    NvmlUnavailable,
    all_gpus,
    gpus_of_rows,
    load_nvml,
    model_of,
    processes_on,
)
from irbench.worker.cuda_contexts import OPENED_BY_CUDA

_SHARING = "nvidia-cuda-mps"
"""How the names of the processes of MPS begin."""
_BUILDS = ("", "-cpu", "-gpu", "-openvino", "-directml", "-training")
"""How the names of packages end that install the files of one runtime."""
_CUDNN = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")

ComputeMode: TypeAlias = Literal["default", "exclusive-thread", "prohibited", "exclusive-process"]
_COMPUTE_MODES: tuple[ComputeMode, ...] = ("default", "exclusive-thread", "prohibited", "exclusive-process")


@dataclass(frozen=True)
class GpuState:
    """One GPU. ``None`` is what NVML does not tell.

    Attributes:
        number: As ``nvidia-smi`` shows it.
        capability: What CUDA calls its compute capability: ``9.0``.
        ecc: Whether its memory corrects errors.
        is_divided: Whether it is divided into parts (MIG).
        persistence: Whether the driver stays loaded while nobody uses it.
        sm_mhz: Present clock of the multiprocessors.
        most_mhz: Their highest clock.
        limits: Why the clock is not higher at present.
        others: Programs that compute on it; irbench's own do not while the doctor looks.
        is_for_rows: Whether rows see it: the best one, unless ``CUDA_VISIBLE_DEVICES`` names others.
    """

    number: int
    name: str
    capability: str | None
    memory_bytes: int | None
    free_bytes: int | None
    ecc: bool | None
    is_divided: bool
    persistence: bool | None
    compute_mode: ComputeMode | None
    sm_mhz: int | None
    most_mhz: int | None
    limits: tuple[GpuLimit, ...]
    others: tuple[str, ...]
    is_for_rows: bool


@dataclass(frozen=True)
class GpuFacts:
    """What concerns NVIDIA GPUs and the runtimes for them.

    Attributes:
        driver: Version of the driver; empty where there is one that NVML cannot be asked about, ``None`` without one.
        cuda: The newest CUDA that it runs; ``None`` where it is not known.
        missing: Why it cannot be asked: the Python binding is missing, or NVML does not answer; ``None`` otherwise.
        shared: Whether MPS shares GPUs among processes.
        unified_memory: Whether the device is there without which CUDA starts nowhere.
        visible: What ``CUDA_VISIBLE_DEVICES`` says; ``None`` where it is not set.
        runtimes: Packages of ONNX Runtime that are installed.
        cudnn: Packages of cuDNN that are installed.
    """

    driver: str | None = None
    cuda: str | None = None
    missing: Literal["no-package", "unreadable"] | None = None
    gpus: tuple[GpuState, ...] = ()
    shared: bool = False
    unified_memory: bool = True
    visible: str | None = None
    runtimes: tuple[str, ...] = ()
    cudnn: tuple[str, ...] = ()


def describe_gpus() -> GpuFacts:
    """Return what can be told of the GPUs without using them."""
    packages: dict[str, Any] = {"runtimes": _builds(), "cudnn": _installed(_CUDNN)}
    around: dict[str, Any] = {
        **packages,
        "shared": _is_shared(),
        "unified_memory": any(device.exists() for device in OPENED_BY_CUDA),
        "visible": os.environ.get(VISIBLE),
    }
    try:
        nvml = load_nvml()
    except ModuleNotFoundError:
        return GpuFacts(driver="", missing="no-package", **around) if NVIDIA_DRIVER.exists() else GpuFacts(**packages)
    except NvmlUnavailable:
        return GpuFacts(driver="", missing="unreadable", **around) if NVIDIA_DRIVER.exists() else GpuFacts(**packages)
    try:
        gpus, count = all_gpus(nvml)
        driver, cuda = str(nvml.nvmlSystemGetDriverVersion()), int(nvml.nvmlSystemGetCudaDriverVersion())
    except (OSError, nvml.NVMLError):
        return GpuFacts(driver="", missing="unreadable", **around)
    for_rows = {gpu.number for gpu in gpus_of_rows()[0]}
    return GpuFacts(
        driver=driver,
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}",
        missing="unreadable" if len(gpus) < count else None,
        gpus=tuple(_state(gpu, is_for_rows=gpu.number in for_rows) for gpu in gpus),
        **around,
    )


def _state(gpu: Gpu, *, is_for_rows: bool) -> GpuState:
    memory = gpu.ask_or_none("nvmlDeviceGetMemoryInfo")
    capability = gpu.ask_or_none("nvmlDeviceGetCudaComputeCapability")
    ecc, mig = (_first(gpu.ask_or_none(f"nvmlDeviceGet{kind}Mode")) for kind in ("Ecc", "Mig"))
    persistence, mode = (gpu.ask_or_none(f"nvmlDeviceGet{kind}Mode") for kind in ("Persistence", "Compute"))
    clock, most = (
        gpu.ask_or_none(function, gpu.nvml.NVML_CLOCK_SM)
        for function in ("nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo")
    )
    return GpuState(
        number=gpu.number,
        name=model_of(gpu) or "unknown",
        capability=None if capability is None else ".".join(map(str, capability)),
        memory_bytes=None if memory is None else int(memory.total),
        free_bytes=None if memory is None else int(memory.free),
        ecc=ecc,
        is_divided=bool(mig),
        persistence=None if persistence is None else bool(persistence),
        compute_mode=None if mode is None else _COMPUTE_MODES[int(mode)],
        sm_mhz=cast("int | None", clock),
        most_mhz=cast("int | None", most),
        limits=limits_of(gpu),
        others=tuple(_program(int(process.pid)) for process in processes_on(gpu)),
        is_for_rows=is_for_rows,
    )


def _first(modes: Any) -> bool | None:
    """Return the present one of two modes, of which the other is that after a restart."""
    return None if modes is None else bool(modes[0])


def _program(process: int) -> str:
    try:
        return f"{psutil.Process(process).name()} ({process})"
    except psutil.Error:  # it ended, or it runs outside this container
        return f"process {process}"


def _is_shared() -> bool:
    return any((process.info["name"] or "").startswith(_SHARING) for process in psutil.process_iter(["name"]))


def _builds() -> tuple[str, ...]:
    """Return the packages that install the same runtime, where there are several."""
    for name in distributions():
        found = _installed(f"{name}{build}" for build in _BUILDS)
        if len(found) > 1:
            return found
    return ()


def _installed(names: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)
