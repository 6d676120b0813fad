"""Energy counters of NVIDIA GPUs, through NVML and its Python binding ``nvidia-ml-py``, where that is installed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from irbench.measure.clock import now_ns

NVIDIA_GPU = "gpu-"
"""How the domains of these GPUs begin."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_ORDER, _ORDER_OF_NVML = "CUDA_DEVICE_ORDER", "PCI_BUS_ID"
_UJ_PER_MJ = 1_000


GpuAbsence: TypeAlias = Literal["no-counters", "not-visible", "unknown-order", "unreadable"]
"""``not-visible``: ``CUDA_VISIBLE_DEVICES`` hides all; ``unknown-order``: it names some by numbers, which CUDA counts
from the fastest GPU and NVML by their place on the bus, or it names parts of a GPU; ``unreadable``: NVML failed."""


class NvmlUnavailable(Exception):
    """NVML cannot be asked: the binding is missing, or the driver."""


@dataclass
class GpuEnergyCounter:
    """A GPU that counts its energy, from the generation of Volta on.

    Attributes:
        domain: ``gpu-0`` for the first one.
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


GpuCounter: TypeAlias = GpuEnergyCounter | GpuPowerCounter


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


def gpu_counters(nvml: Any) -> tuple[tuple[GpuCounter, ...], GpuAbsence | None]:
    """Return a counter for each GPU that programs may use and that can be read, and why any is missing."""
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError:
        return (), "unreadable"
    handles = {number: handle for number in range(count) if (handle := _handle(nvml, number)) is not None}
    uuids = {number: uuid for number, (_, uuid) in handles.items()}
    visible = _visible(uuids, count)
    if visible is None:
        return (), "unknown-order"
    if not visible and len(handles) == count:
        return (), "not-visible" if count else "no-counters"
    candidates = [
        _counter_of(nvml, f"{NVIDIA_GPU}{number}", handles[number][0]) for number in visible if number in handles
    ]
    counters = tuple(counter for counter in candidates if counter is not None)
    if len(candidates) < len(visible) or not visible:
        return counters, "unreadable"
    return counters, None if len(counters) == len(visible) else "no-counters"


def _handle(nvml: Any, number: int) -> tuple[Any, str] | None:
    """Return NVML's name of a GPU and its UUID; ``None`` where it cannot be asked."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(number)
        return handle, str(nvml.nvmlDeviceGetUUID(handle))
    except nvml.NVMLError:
        return None


def _counter_of(nvml: Any, domain: str, handle: Any) -> GpuCounter | None:
    for kind in (GpuEnergyCounter, GpuPowerCounter):
        counter = kind(domain, nvml, handle)
        try:
            counter.advance()
        except OSError:
            continue
        return counter
    return None


def _visible(uuids: Mapping[int, str], count: int) -> Sequence[int] | None:
    """Return NVML's numbers of the GPUs that CUDA may use; ``None`` where its variable does not tell which these are.

    The variable names GPUs by CUDA's number or by the beginning of their UUID, and ends at the first that is none.
    """
    named = os.environ.get(_VISIBLE)
    if named is None:
        return range(count)
    numbers: list[int] = []
    by_number = False
    for name in (part.strip() for part in named.split(",")):
        if name.startswith("MIG-"):
            return None
        if name.isdecimal() and int(name) < count:
            by_number = True
            numbers.append(int(name))
        elif name.startswith("GPU-") and (number := _number_of(name, uuids)) is not None:
            numbers.append(number)
        else:
            break
    is_same_order = os.environ.get(_ORDER) == _ORDER_OF_NVML or len(set(numbers)) == count
    return sorted(set(numbers)) if is_same_order or not by_number else None


def _number_of(name: str, uuids: Mapping[int, str]) -> int | None:
    return next((number for number, uuid in uuids.items() if uuid.startswith(name)), None)


def _asked(nvml: Any, function: str, handle: Any) -> Any:
    try:
        return getattr(nvml, function)(handle)
    except nvml.NVMLError as error:
        raise OSError(str(error)) from error
