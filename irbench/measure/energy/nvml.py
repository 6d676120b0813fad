"""Energy counters of NVIDIA GPUs, through NVML and its Python binding ``nvidia-ml-py``, where that is installed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from irbench.measure.clock import now_ns

__all__ = ["GpuEnergyCounter", "GpuPowerCounter", "NvmlUnavailable", "gpu_counters", "load_nvml"]

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_UJ_PER_MJ = 1_000


class NvmlUnavailable(Exception):
    """NVML cannot be asked: the binding is missing, or the driver."""


@dataclass
class GpuEnergyCounter:
    """A GPU that counts its energy, from the generation of Volta on.

    Attributes:
        domain: ``gpu-0`` for the first one.
        nvml: The module ``pynvml``.
        handle: NVML's name of the device.
    """

    domain: str
    nvml: Any
    handle: Any
    is_sampled: bool = field(default=False, init=False)
    _last_mj: int | None = field(default=None, init=False)

    def advance(self) -> int:
        """Return the microjoules since this was last called; see :class:`irbench.measure.energy.EnergyCounter`."""
        present_mj = int(_asked(self.nvml, "nvmlDeviceGetTotalEnergyConsumption", self.handle))
        last_mj, self._last_mj = self._last_mj, present_mj
        return 0 if last_mj is None else _UJ_PER_MJ * (present_mj - last_mj)


@dataclass
class GpuPowerCounter:
    """An older GPU, which tells its power: energy is the mean of two readings times the time between them.

    Attributes are those of :class:`GpuEnergyCounter`.
    """

    domain: str
    nvml: Any
    handle: Any
    is_sampled: bool = field(default=True, init=False)
    _last: tuple[int, int] | None = field(default=None, init=False)

    def advance(self) -> int:
        """Return the microjoules since this was last called; see :class:`irbench.measure.energy.EnergyCounter`."""
        present_mw, at_ns = int(_asked(self.nvml, "nvmlDeviceGetPowerUsage", self.handle)), now_ns()
        last, self._last = self._last, (present_mw, at_ns)
        if last is None:
            return 0
        last_mw, last_ns = last
        return round((present_mw + last_mw) / 2 * (at_ns - last_ns) / 1e6)


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


def gpu_counters(nvml: Any) -> Iterator[GpuEnergyCounter | GpuPowerCounter]:
    """Yield a counter for each GPU that programs may use and that tells its energy or its power.

    Args:
        nvml: From :func:`load_nvml`.
    """
    for number in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(number)
        if _is_visible(number, str(nvml.nvmlDeviceGetUUID(handle))):
            yield from _counter_of(nvml, f"gpu-{number}", handle)


def _counter_of(nvml: Any, domain: str, handle: Any) -> Iterator[GpuEnergyCounter | GpuPowerCounter]:
    for kind in (GpuEnergyCounter, GpuPowerCounter):
        counter = kind(domain, nvml, handle)
        try:
            counter.advance()
        except OSError:
            continue
        yield counter
        return


def _is_visible(number: int, uuid: str) -> bool:
    """Whether CUDA may use a GPU; its variable names GPUs by number, or by the beginning of their UUID."""
    visible = os.environ.get(_VISIBLE)
    if visible is None:
        return True
    named = [name.strip() for name in visible.split(",") if name.strip()]
    return any(uuid.startswith(name) if name.startswith("GPU-") else name == str(number) for name in named)


def _asked(nvml: Any, function: str, handle: Any) -> Any:
    try:
        return getattr(nvml, function)(handle)
    except nvml.NVMLError as error:
        raise OSError(str(error)) from error
