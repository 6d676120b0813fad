"""Whether the user's code computes on an NVIDIA GPU, and what of it the GPU has still to do when that code returns."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from irbench.measure.clock import Stopwatch

_UNIFIED_MEMORY = Path("/dev/nvidia-uvm")
"""The device that CUDA opens when it starts, and NVML does not."""
_SUCCESS = 0


def uses_cuda(processes: Iterable[Path] = (Path("/proc/self"),)) -> bool:
    """Whether CUDA has started in any of some processes, each given by its folder below ``/proc``."""
    return any(_opened(process / "fd") for process in processes)


def _opened(descriptors: Path) -> bool:
    with suppress(OSError):  # the process may have ended
        for descriptor in descriptors.iterdir():
            with suppress(FileNotFoundError):  # another thread closed it
                if descriptor.readlink() == _UNIFIED_MEMORY:
                    return True
    return False


class CudaContexts:
    """The contexts of this process on the GPUs that it sees: those that the CUDA runtime and frameworks compute in.

    Of the driver's interface (CUDA Driver API: primary contexts, context management).

    Args:
        driver: ``libcuda.so.1``, loaded.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._contexts: Sequence[ctypes.c_void_p] = tuple(self._primary_contexts())

    def unfinished_ns(self) -> int:
        """Wait until the GPUs have done all that this process asked of them, and return how long that took."""
        watch = Stopwatch()
        for context in self._contexts:
            if self._driver.cuCtxPushCurrent_v2(context) == _SUCCESS:
                self._driver.cuCtxSynchronize()
                self._driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        return watch.elapsed_ns

    def _primary_contexts(self) -> Iterable[ctypes.c_void_p]:
        count = ctypes.c_int(0)
        if self._driver.cuDeviceGetCount(ctypes.byref(count)) != _SUCCESS:
            return
        for device in range(count.value):
            flags, active, context = ctypes.c_uint(), ctypes.c_int(0), ctypes.c_void_p()
            self._driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
            if active.value and self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == _SUCCESS:
                yield context


def cuda_contexts() -> CudaContexts | None:
    """Return the contexts of this process; ``None`` where CUDA has not started in it."""
    if not uses_cuda():
        return None
    try:
        return CudaContexts(ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW))
    except OSError:
        return None
