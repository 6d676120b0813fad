"""Whether a process computes with CUDA, and what of that is left when its code returns, as a scripted driver tells."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from irbench.worker import cuda_contexts
from irbench.worker.cuda_contexts import CudaContexts, active_devices, has_started_cuda, uses_cuda


def process(folder: Path, *devices: str) -> Path:
    (folder / "fd").mkdir(parents=True)
    for number, device in enumerate(devices):
        (folder / "fd" / str(number)).symlink_to(device)
    return folder


def test_cuda_has_started_in_a_process_that_has_opened_unified_memory(tmp_path: Path) -> None:
    nvml = process(tmp_path / "nvml", "/dev/nvidiactl", "/dev/nvidia0")
    torch = process(tmp_path / "torch", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0")
    assert not has_started_cuda([nvml, tmp_path / "ended"])
    assert has_started_cuda([nvml, torch])


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


class NotStarted(Driver):
    """A driver that is loaded, and that nothing has started."""

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        return 3


def test_a_context_that_the_code_made_counts_and_a_driver_that_is_only_loaded_does_not() -> None:
    assert list(active_devices(Driver())) == [1]
    assert list(active_devices(NotStarted())) == []


def test_what_is_left_is_what_takes_longer_than_waiting_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    contexts = CudaContexts(driver, [1])
    assert contexts.unfinished_ns() >= 0
    assert driver.called == ["retain 1", *["push 101", "synchronize", "pop"] * 2]
    taken = iter([7_020_000, 20_000])
    monkeypatch.setattr(contexts, "_wait_ns", lambda: next(taken))
    assert contexts.unfinished_ns() == 7_000_000


def test_code_without_cuda_uses_no_gpu_and_loads_no_driver() -> None:
    assert cuda_contexts.cuda_contexts() is None
    assert not uses_cuda()


def test_asking_whether_code_uses_cuda_holds_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    monkeypatch.setattr(cuda_contexts, "_loaded_driver", lambda: driver)
    assert uses_cuda()
    assert driver.called == []
