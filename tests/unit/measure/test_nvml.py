"""Which GPUs rows may use, as a scripted NVML and the variables of the environment tell."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_nvml import NVMLError, ScriptedNvml, put_in_place

from irbench.core.record import GpuReading
from irbench.measure import nvml
from irbench.measure.gpu_evidence import read_gpus
from irbench.measure.nvml import free_memory_bytes, gpus_of_rows, one_gpu, used_memory_bytes
from irbench.worker import call_in_worker


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> ScriptedNvml:
    scripted = ScriptedNvml({}, {"nvmlDeviceGetName": b"NVIDIA T4"})
    put_in_place(monkeypatch, scripted)
    return scripted


@pytest.mark.parametrize(
    ("visible", "order", "numbers", "absence"),
    [
        (None, None, [0], None),
        ("1", "PCI_BUS_ID", [1], None),
        ("1", None, [], "unknown-order"),
        ("1", "FASTEST_FIRST", [], "unknown-order"),
        ("1,0", None, [0, 1], None),
        ("0,-1,1", "PCI_BUS_ID", [0], None),
        ("GPU-0a", None, [0], None),
        ("MIG-0a", "PCI_BUS_ID", [], "unknown-order"),
        ("", None, [], "not-visible"),
        ("-1", None, [], "not-visible"),
    ],
)
def test_rows_use_one_gpu_unless_the_user_names_others(
    two: ScriptedNvml,
    monkeypatch: pytest.MonkeyPatch,
    visible: str | None,
    order: str | None,
    numbers: list[int],
    absence: str | None,
) -> None:
    for name, value in {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order}.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    gpus, missing = gpus_of_rows()
    assert ([gpu.number for gpu in gpus], missing) == (numbers, absence)


@pytest.mark.parametrize(
    ("gpus", "fastest"),
    [
        ([{"nvmlDeviceGetNumGpuCores": 2_560}, {"nvmlDeviceGetNumGpuCores": 16_896}], 1),
        ([{"nvmlDeviceGetMaxClockInfo": 1_590}, {}], 1),
        ([{"nvmlDeviceGetMaxClockInfo": 3_105, "nvmlDeviceGetCudaComputeCapability": [8, 9]}, {}], 1),
        ([{}, {}], 0),
        ([{"nvmlDeviceGetNumGpuCores": NVMLError("Not Supported")}] * 2, 0),
    ],
)
def test_rows_use_the_newest_gpu_whose_cores_compute_most_and_of_equal_ones_the_first(
    monkeypatch: pytest.MonkeyPatch, gpus: list[dict[str, Any]], fastest: int
) -> None:
    put_in_place(monkeypatch, ScriptedNvml(*gpus))
    assert [gpu.number for gpu in gpus_of_rows()[0]] == [fastest]
    assert one_gpu() == {"CUDA_VISIBLE_DEVICES": f"GPU-{fastest}abc"}


def test_numbers_of_equal_gpus_are_those_of_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, ScriptedNvml({}, {}, {}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [gpu.number for gpu in gpus_of_rows()[0]] == [1]


def test_nvml_is_started_for_the_first_worker_alone(two: ScriptedNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    assert one_gpu() == {"CUDA_VISIBLE_DEVICES": "GPU-0abc"}
    monkeypatch.delattr(nvml, "load_nvml")
    assert one_gpu() == {"CUDA_VISIBLE_DEVICES": "GPU-0abc"}


def test_the_number_of_the_only_gpu_is_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, ScriptedNvml())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert [gpu.number for gpu in gpus_of_rows()[0]] == [0]


@pytest.mark.parametrize(
    ("function", "numbers"),
    [("nvmlDeviceGetCount", []), ("nvmlDeviceGetHandleByIndex", [1]), ("nvmlDeviceGetUUID", [1])],
)
def test_a_gpu_that_nvml_cannot_read_is_left_out_and_told(
    two: ScriptedNvml, monkeypatch: pytest.MonkeyPatch, function: str, numbers: list[int]
) -> None:
    works = getattr(two, function)

    def lost(*number: int) -> Any:
        if number in ((), (0,)):
            raise NVMLError("GPU is lost")
        return works(*number)

    monkeypatch.setattr(two, function, lost, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    gpus, missing = gpus_of_rows()
    assert ([gpu.number for gpu in gpus], missing) == (numbers, "unreadable")


def test_a_worker_sees_the_first_gpu_by_its_uuid(two: ScriptedNvml) -> None:
    assert one_gpu() == {"CUDA_VISIBLE_DEVICES": "GPU-0abc"}
    assert call_in_worker("os:getenv", "CUDA_VISIBLE_DEVICES", deadline_s=60.0) == "GPU-0abc"


def test_a_worker_sees_what_the_user_lets_it_see(two: ScriptedNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert one_gpu() == {}
    assert call_in_worker("os:getenv", "CUDA_VISIBLE_DEVICES", deadline_s=60.0) == "0,1"


@pytest.mark.parametrize("visible", [None, "0"])
def test_a_divided_gpu_is_left_to_cuda_and_not_read_as_a_whole_one(
    monkeypatch: pytest.MonkeyPatch, visible: str | None
) -> None:
    put_in_place(monkeypatch, ScriptedNvml({"nvmlDeviceGetMigMode": [1, 1]}))
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert one_gpu() == {}
    assert gpus_of_rows() == ((), "divided")


def test_a_gpu_that_cuda_does_not_know_by_its_uuid_is_left_to_cuda(
    two: ScriptedNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two, "nvmlDeviceGetUUID", lambda handle: f"vGPU-{handle}", raising=False)
    assert one_gpu() == {}


def test_without_the_binding_a_worker_sees_the_first_gpu_of_cuda(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(nvml, "NVIDIA_DRIVER", tmp_path / "version")
    monkeypatch.setattr(nvml, "_one_gpu", nvml._one_gpu.__wrapped__)
    assert one_gpu() == {}
    (tmp_path / "version").touch()
    assert one_gpu() == {"CUDA_VISIBLE_DEVICES": "0"}


UNKNOWN = NVMLError("Not Supported")


def process(number: int) -> Any:
    return SimpleNamespace(pid=number, usedGpuMemory=1)


def test_a_reading_tells_the_clock_what_limits_it_and_who_else_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    computing = [process(10), process(11), process(77)]
    script = {
        "nvmlDeviceGetClockInfo": 1_755,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x24,
        "nvmlDeviceGetComputeRunningProcesses": computing,
    }
    put_in_place(monkeypatch, ScriptedNvml(script))
    gpus, _ = gpus_of_rows()
    assert read_gpus(gpus, {10, 11, 12}) == GpuReading(1_755, 70_000, ("power-cap", "software-thermal"), 1)


def test_in_a_container_that_sees_other_process_ids_nobody_is_called_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, ScriptedNvml({"nvmlDeviceGetComputeRunningProcesses": [process(4_000_010)]}))
    assert read_gpus(gpus_of_rows()[0], {10}).others is None


def test_of_several_gpus_the_slowest_clock_counts_and_what_all_use_together(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, ScriptedNvml({}, {"nvmlDeviceGetClockInfo": 1_200}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    gpus, _ = gpus_of_rows()
    assert read_gpus(gpus, ()) == GpuReading(1_200, 140_000, (), 0)
    assert used_memory_bytes(gpus) == 2_000_000_000
    assert free_memory_bytes(gpus) == 79_000_000_000


def test_an_old_driver_tells_limits_by_another_name_and_not_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {
        "nvmlDeviceGetClockInfo": UNKNOWN,
        "nvmlDeviceGetPowerUsage": UNKNOWN,
        "nvmlDeviceGetMemoryInfo": UNKNOWN,
        "nvmlDeviceGetCurrentClocksEventReasons": UNKNOWN,
        "nvmlDeviceGetCurrentClocksThrottleReasons": 0x40,
    }
    put_in_place(monkeypatch, ScriptedNvml(old))
    gpus, _ = gpus_of_rows()
    assert read_gpus(gpus, ()) == GpuReading(None, None, ("hardware-thermal",), 0)
    assert (used_memory_bytes(gpus), free_memory_bytes(gpus)) == (None, None)
