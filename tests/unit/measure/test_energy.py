"""Counters of energy: of processors through powercap, of GPUs through NVML, and what is added up."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from powercap_trees import RANGE_UJ, add_zone, set_energy

from irbench.measure.energy import EnergyMeter, access, find_energy_counters, nvml
from irbench.measure.energy.access import powercap_counters


class NVMLError(Exception): ...


class FakeNvml(SimpleNamespace):
    """Two GPUs, the second of which is too old to count energy."""

    NVMLError = NVMLError

    def __init__(self) -> None:
        self.energy_mj, self.power_mw = 5_000, 70_000

    def nvmlInit(self) -> None: ...  # noqa: N802 - its own names

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:  # noqa: N802
        return number

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-{handle}abc"

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:  # noqa: N802
        if handle == 1:
            raise NVMLError("Not Supported")
        return self.energy_mj

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        return self.power_mw


class Scripted:
    """A counter that counts what it is told, and fails where the script ends."""

    is_sampled = False

    def __init__(self, domain: str, *used_uj: int) -> None:
        self.domain, self._used = domain, [0, *used_uj]

    def advance(self) -> int:
        if not self._used:
            raise OSError("gone")
        return self._used.pop(0)


@pytest.fixture
def without_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(access, "NVIDIA_DRIVER", tmp_path / "nothing")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, without_gpus: None) -> Path:
    folder = tmp_path / "powercap"
    folder.mkdir()
    monkeypatch.setattr(access, "POWERCAP", folder)
    return folder


def test_packages_and_their_memory_are_counted_and_nothing_twice(root: Path) -> None:
    for zone, name in {
        "intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "uncore", "intel-rapl:0:2": "dram",
        "intel-rapl:1": "package-1", "intel-rapl:1:0": "dram", "intel-rapl:2": "psys", "intel-rapl-mmio:0": "package-0",
    }.items():  # fmt: skip
        add_zone(root, zone, name)
    assert [counter.domain for counter in powercap_counters()] == ["package-0", "dram-0", "package-1", "dram-1"]


def test_a_counter_that_wraps_around_goes_on_from_there(root: Path) -> None:
    zone = add_zone(root, "intel-rapl:0", "package-0", RANGE_UJ - 1_000)
    (counter,) = powercap_counters()
    assert counter.advance() == 0
    set_energy(zone, 500)
    assert counter.advance() == 1_500
    set_energy(zone, 700)
    assert counter.advance() == 200


def test_a_machine_without_counters_says_so(root: Path) -> None:
    found = find_energy_counters()
    assert found.counters == ()
    assert found.absent == {"processors": "no-counters", "gpus": "no-driver"}


def test_counters_that_only_root_may_read_are_told_as_such(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_zone(root, "intel-rapl:0", "package-0")

    def denied(path: Path) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    counters = powercap_counters()
    monkeypatch.setattr(access, "powercap_counters", lambda: counters)
    monkeypatch.setattr(access, "read_number", denied)
    assert find_energy_counters().absent["processors"] == "not-permitted"


def test_counters_that_stand_still_are_no_counters(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still, counting = (add_zone(root, f"intel-rapl:{number}", f"package-{number}", 7) for number in (0, 1))
    assert find_energy_counters().absent["processors"] == "not-counting"
    monkeypatch.setattr(access, "sleep", lambda _: set_energy(counting, 90))
    assert [counter.domain for counter in find_energy_counters().counters] == ["package-1"]
    assert still.exists()


def test_a_gpu_without_the_python_package_is_told_apart_from_no_gpu(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_energy_counters().absent["gpus"] == "no-driver"
    (tmp_path / "version").touch()
    monkeypatch.setattr(access, "NVIDIA_DRIVER", tmp_path / "version")
    assert find_energy_counters().absent["gpus"] == "no-package"


def test_gpus_count_their_energy_or_else_their_power_over_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml()
    moments_ns = iter([0, 2_000_000_000])
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr(nvml, "now_ns", lambda: next(moments_ns))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    first, second = find_energy_counters().counters
    assert (first.domain, first.is_sampled, second.domain, second.is_sampled) == ("gpu-0", False, "gpu-1", True)
    fake.energy_mj, fake.power_mw = 5_250, 90_000
    assert first.advance() == 250_000
    assert second.advance() == 160_000_000  # 80 W for 2 s


@pytest.mark.parametrize(
    ("visible", "order", "domains", "absence"),
    [
        ("1", "PCI_BUS_ID", ["gpu-1"], None),
        ("1", None, [], "unknown-order"),
        ("1", "FASTEST_FIRST", [], "unknown-order"),
        ("1,0", None, ["gpu-0", "gpu-1"], None),
        ("0,-1,1", "PCI_BUS_ID", ["gpu-0"], None),
        ("GPU-0a", None, ["gpu-0"], None),
        ("MIG-0a", "PCI_BUS_ID", [], "unknown-order"),
        ("", None, [], "not-visible"),
        ("-1", None, [], "not-visible"),
    ],
)
def test_only_gpus_that_cuda_may_use_are_counted(
    monkeypatch: pytest.MonkeyPatch, visible: str, order: str | None, domains: list[str], absence: str | None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if order is None:
        monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    else:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    counters, missing = nvml.gpu_counters(FakeNvml())
    assert ([counter.domain for counter in counters], missing) == (domains, absence)


def test_the_number_of_the_only_gpu_is_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    fake = FakeNvml()
    monkeypatch.setattr(fake, "nvmlDeviceGetCount", lambda: 1, raising=False)
    counters, missing = nvml.gpu_counters(fake)
    assert ([counter.domain for counter in counters], missing) == (["gpu-0"], None)


@pytest.mark.parametrize(
    ("function", "domains"),
    [("nvmlDeviceGetCount", []), ("nvmlDeviceGetHandleByIndex", ["gpu-1"]), ("nvmlDeviceGetUUID", ["gpu-1"])],
)
def test_what_nvml_cannot_read_is_left_out_and_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, function: str, domains: list[str]
) -> None:
    fake = FakeNvml()
    works = getattr(fake, function)

    def lost(*number: int) -> Any:
        if number in ((), (0,)):
            raise NVMLError("GPU is lost")
        return works(*number)

    monkeypatch.setattr(fake, function, lost, raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = find_energy_counters()
    assert [counter.domain for counter in found.counters] == domains
    assert found.absent["gpus"] == "unreadable"


def test_a_missing_driver_is_not_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml()

    def fail() -> None:
        raise NVMLError("Driver Not Loaded")

    monkeypatch.setattr(fake, "nvmlInit", fail, raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    assert find_energy_counters().absent["gpus"] == "no-driver"


def test_a_reading_is_what_was_used_between_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = EnergyMeter([Scripted("package-0", 300, 40), Scripted("dram-0", 20, 4)])
    result, first = meter.during(lambda: "done")
    assert (result, first.microjoules) == ("done", {"package-0": 300, "dram-0": 20})
    assert first.wall_ns > 0


def test_what_was_used_before_a_reading_is_not_part_of_it() -> None:
    counter = Scripted("package-0")
    counter._used = [0, 10, 999, 25]
    meter = EnergyMeter([counter])
    assert meter.during(lambda: None)[1].microjoules == {"package-0": 10}
    assert meter.during(lambda: None)[1].microjoules == {"package-0": 25}


def test_a_counter_that_cannot_be_read_to_the_end_is_left_out() -> None:
    meter = EnergyMeter([Scripted("package-0", 300), Scripted("gpu-0")])
    assert meter.during(lambda: None)[1].microjoules == {"package-0": 300}


def test_counters_are_read_meanwhile_so_that_none_wraps_around_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.setattr("irbench.measure.energy.meter.EVERY_S", 0.001)
    read_often = threading.Event()

    class Ticking(Scripted):
        reads = 0

        def advance(self) -> int:
            self.reads += 1
            if self.reads >= 5:
                read_often.set()
            return 1

    counter: Any = Ticking("package-0")
    _, reading = EnergyMeter([counter]).during(lambda: read_often.wait(10))
    assert read_often.is_set()
    assert reading.microjoules == {"package-0": counter.reads - 1}
