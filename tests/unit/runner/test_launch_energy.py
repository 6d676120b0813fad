"""A launch reads energy where that was asked for: of the idle machine, and of each cell alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import launches
import pytest
from scripted_crew import ScriptedCrew, install, one

from irbench.measure.energy import EnergyAccess
from irbench.runner import launch
from irbench.spec import Timing


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedCrew]:
    return install(monkeypatch)


class EachReadingMore:
    """A counter that counts 5 J between any two readings."""

    domain, is_sampled = "package-0", False

    def advance(self) -> int:
        return 5_000_000


def test_energy_is_read_while_nothing_runs_and_while_each_cell_runs_alone(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = EnergyAccess((EachReadingMore(),), {})
    monkeypatch.setattr(launch, "find_energy_counters", lambda: found)
    slept: list[float] = []
    monkeypatch.setattr(launch, "sleep", slept.append)
    record, _ = one(tmp_path, "short", sustain=1.0, energy=True).measure()
    assert slept == [1.0]
    assert record.idle_energy is not None
    assert record.idle_energy.microjoules == {"package-0": 5_000_000}
    assert [run.energy.microjoules for run in record.sustained if run.energy] == [{"package-0": 5_000_000}]


@pytest.mark.parametrize(
    ("backend", "device", "counts"),
    [
        ("ort", "cpu", False),
        ("ort", "cuda", True),
        ("ort", "openvino", False),
        ("tf", "gpu", True),
        ("tf-xla", "gpu", True),
        ("openvino", "gpu", False),
        ("a-program", "cpu", False),
    ],
)
def test_the_energy_of_nvidia_gpus_belongs_to_rows_that_run_on_one(
    monkeypatch: pytest.MonkeyPatch, backend: str, device: str, counts: bool
) -> None:
    gpu = EachReadingMore()
    gpu.domain = "gpu-0"
    found = EnergyAccess((EachReadingMore(), gpu), {})
    monkeypatch.setattr(launch, "find_energy_counters", lambda: found)
    cell = replace(launches.group("row").cells[0], backend=backend, device=device)
    on_nvidia = launch._is_on_nvidia_gpu(cell)
    _, reading = launch.LaunchEnergy(Timing(energy=True)).while_alone(lambda: None, on_nvidia=on_nvidia)
    assert reading is not None
    assert set(reading.microjoules) == ({"package-0", "gpu-0"} if counts else {"package-0"})


def test_nobody_reads_energy_unless_it_was_asked_for(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(launch, "find_energy_counters")
    record, _ = one(tmp_path, "short", sustain=1.0).measure()
    assert (record.idle_energy, [run.energy for run in record.sustained]) == (None, [None])


def test_the_time_in_which_nothing_runs_is_taken_from_the_blocks(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "find_energy_counters", lambda: EnergyAccess((), {}))
    monkeypatch.setattr(launch, "sleep", lambda _: None)
    numbers = {"budget": 600.0, "min_launches": 6, "blocks": 8, "min_blocks": 2}
    _, without = one(tmp_path, "slow", **numbers).measure()
    _, with_idle = one(tmp_path, "slow", energy=True, idle=60.0, **numbers).measure()
    assert with_idle.timing.blocks < without.timing.blocks
