"""Counters of energy: of processors through powercap, of GPUs through NVML, and what is added up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from powercap_trees import RANGE_UJ, add_zone, set_energy
from scripted_nvml import NVMLError, ScriptedNvml, put_in_place

from irbench.measure import nvml
from irbench.measure.energy import EnergyMeter, access, find_energy_counters
from irbench.measure.energy import nvml as energy_nvml
from irbench.measure.energy.access import powercap_counters


def two_gpus() -> ScriptedNvml:
    """Two GPUs, the second of which is too old to count energy."""
    return ScriptedNvml({}, {"nvmlDeviceGetTotalEnergyConsumption": NVMLError("Not Supported")})


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
    monkeypatch.setattr(nvml, "NVIDIA_DRIVER", tmp_path / "nothing")


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
    monkeypatch.setattr(nvml, "NVIDIA_DRIVER", tmp_path / "version")
    assert find_energy_counters().absent["gpus"] == "no-package"


def test_gpus_count_their_energy_or_else_their_power_over_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = two_gpus()
    moments_ns = iter([0, 2_000_000_000])
    put_in_place(monkeypatch, fake)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setattr(energy_nvml, "now_ns", lambda: next(moments_ns))
    first, second = find_energy_counters().counters
    assert (first.domain, first.is_sampled, second.domain, second.is_sampled) == ("gpu-0", False, "gpu-1", True)
    fake.gpus[0]["nvmlDeviceGetTotalEnergyConsumption"] = 5_250
    fake.gpus[1]["nvmlDeviceGetPowerUsage"] = 90_000
    assert first.advance() == 250_000
    assert second.advance() == 160_000_000  # 80 W for 2 s


def test_a_gpu_that_counts_nothing_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(
        monkeypatch,
        ScriptedNvml(
            {
                name: NVMLError("Not Supported")
                for name in ("nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage")
            }
        ),
    )
    assert find_energy_counters().absent["gpus"] == "no-counters"


def test_a_missing_driver_is_not_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = two_gpus()

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
