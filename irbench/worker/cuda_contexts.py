"""Whether the user's code computes on an NVIDIA GPU, and what of it the GPU has still to do when that code returns."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from irbench.measure.clock import Stopwatch
from irbench.measure.kernel_evidence import descendant_folders

OPENED_BY_CUDA = (Path("/dev/nvidia-uvm"), Path("/dev/dxg"))
"""What CUDA opens when it starts, and cannot start without: on Linux, where NVML does not, and on WSL."""
_SUCCESS = 0


def uses_cuda() -> bool:
    """Whether this process has a context on a GPU, or a process that it started has started CUDA."""
    driver = _loaded_driver()
    return (driver is not None and any(True for _ in active_devices(driver))) or has_started_cuda(descendant_folders())


def has_started_cuda(processes: Iterable[Path]) -> bool:
    """Whether CUDA has started in any of some processes, each given by its folder below ``/proc``."""
    return any(_opened(process / "fd") for process in processes)


def _opened(descriptors: Path) -> bool:
    with suppress(OSError):  # the process may have ended
        for descriptor in descriptors.iterdir():
            with suppress(FileNotFoundError):  # another thread closed it
                if descriptor.readlink() in OPENED_BY_CUDA:
                    return True
    return False


class CudaContexts:
    """The contexts of this process on the GPUs that it sees: those that the CUDA runtime and frameworks compute in.

    Of the driver's interface (CUDA Driver API: primary contexts, context management).

    Args:
        driver: ``libcuda.so.1``, loaded.
        devices: The GPUs on which a context is active, as CUDA counts them.
    """

    def __init__(self, driver: Any, devices: Iterable[int]) -> None:
        self._driver = driver
        self._contexts = tuple(self._context(device) for device in devices)

    def unfinished_ns(self) -> int:
        """Wait until the GPUs have done all that this process asked of them, and return for how long they went on."""
        return max(0, self._wait_ns() - self._wait_ns())  # the second time there is nothing left but the calls

    def _wait_ns(self) -> int:
        watch = Stopwatch()
        for context in self._contexts:
            if self._driver.cuCtxPushCurrent_v2(context) == _SUCCESS:
                self._driver.cuCtxSynchronize()
                self._driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        return watch.elapsed_ns

    def _context(self, device: int) -> ctypes.c_void_p:
        context = ctypes.c_void_p()
        self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        return context


def cuda_contexts() -> CudaContexts | None:
    """Return the contexts of this process; ``None`` where no code of it has made one."""
    driver = _loaded_driver()
    devices = () if driver is None else tuple(active_devices(driver))
    return CudaContexts(driver, devices) if devices else None


def _loaded_driver() -> Any:
    """Return the driver's library; ``None`` where no code of this process has loaded it."""
    try:
        return ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def active_devices(driver: Any) -> Iterator[int]:
    """Yield the GPUs on which this process has a primary context."""
    count = ctypes.c_int(0)
    if driver.cuDeviceGetCount(ctypes.byref(count)) == _SUCCESS:
        for device in range(count.value):
            flags, active = ctypes.c_uint(), ctypes.c_int(0)
            driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
            if active.value:
                yield device
