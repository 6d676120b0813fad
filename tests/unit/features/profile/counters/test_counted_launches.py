"""Counted launches of the parts of a profile: in rounds, within the time, with what was counted kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import profile_counters
import pytest

from irbench.features.counters.run import CountedPhases
from irbench.features.profile.counters import counted_launches as counted_parts
from irbench.features.profile.counters.counted_launches import CountingTask, PartModel, count_parts
from irbench.features.profile.profile_document import CountedPart, ProfileCounters
from irbench.measure import clock
from irbench.perf_events.counter_plan import CounterPlan, Counting
from irbench.runner.plan import PlannedGroup
from irbench.runner.workers import CellFailed
from irbench.spec import Bundle, Cell, Group, Load, Timing, Workload

LAUNCH_S = 10.0


class Launches:
    """Takes the place of launches: each takes ten seconds of a clock of its own."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.now_s = 0.0
        self.failing: set[str] = set()
        self.interrupted_at: int | None = None

    def count_cell(self, cell: Cell, *_: Any) -> CountedPhases:
        if len(self.cells) == self.interrupted_at:
            raise KeyboardInterrupt
        self.cells.append(cell.id)
        self.now_s += LAUNCH_S
        if cell.id in self.failing:
            raise CellFailed(profile_counters.LOST)
        return CountedPhases(dict(profile_counters.launch(0).phases))

    def now_ns(self) -> int:
        return round(self.now_s * 1e9)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    made = Launches()
    monkeypatch.setattr(counted_parts, "count_cell", made.count_cell)
    monkeypatch.setattr(clock, "now_ns", made.now_ns)
    return made


def task(folder: Path, *names: str, budget_s: float = 1000.0, rounds: int = 6) -> CountingTask:
    artifact = models.mlp(folder)
    workload = Workload(Bundle("mlp", (), (artifact,)), {"batch": 1})

    def model(name: str) -> PartModel:
        cell = Cell(name, artifact, "fake-a", "cpu", Load())
        return PartModel(CountedPart(name, "fake-a", "model"), PlannedGroup(Group((workload,), (cell,), name)))

    counting = Counting(CounterPlan(("software",), launches=rounds), "perf", "6.8", ("task-clock",))
    parts = tuple(map(model, names))
    return CountingTask("mlp", parts, counting, Timing(), budget_s, 0, folder / "scratch", folder)


def counted(task: CountingTask, kept: list[ProfileCounters] | None = None) -> ProfileCounters:
    begun = profile_counters.counters()
    return count_parts(task, begun, lambda _: None, (kept if kept is not None else []).append)


def test_every_part_is_launched_once_in_each_round_and_first_in_the_given_order(
    tmp_path: Path, launches: Launches
) -> None:
    found = counted(task(tmp_path, "a", "b", "c"))
    assert found.stopped_by == "launches"
    assert [[launch.round for launch in part.launches] for part in found.parts] == [list(range(6))] * 3
    assert launches.cells[:3] == ["a", "b", "c"]
    rounds = {tuple(launches.cells[first : first + 3]) for first in range(0, 18, 3)}
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert len(rounds) > 1


def test_no_launch_begins_that_would_end_behind_the_budget_but_the_first(tmp_path: Path, launches: Launches) -> None:
    found = counted(task(tmp_path, "a", "b", "c", budget_s=25.0))
    assert found.stopped_by == "budget"
    assert launches.cells == ["a", "b"]
    assert [len(part.launches) for part in found.parts] == [1, 1, 0]
    assert counted(task(tmp_path, "a", "b", budget_s=0.0)).parts[0].launches


def test_a_part_that_fails_has_its_reason_and_is_launched_no_more(tmp_path: Path, launches: Launches) -> None:
    launches.failing = {"a"}
    found = counted(task(tmp_path, "a", "b", rounds=2))
    assert launches.cells == ["a", "b", "b"]
    assert [part.failure for part in found.parts] == [profile_counters.LOST, None]
    assert found.stopped_by == "launches"


def test_without_a_part_that_can_be_counted_it_ends(tmp_path: Path, launches: Launches) -> None:
    launches.failing = {"a"}
    assert counted(task(tmp_path, "a")).stopped_by == "failures"


def test_an_interrupt_keeps_every_finished_launch(tmp_path: Path, launches: Launches) -> None:
    launches.interrupted_at = 3
    kept: list[ProfileCounters] = []
    found = counted(task(tmp_path, "a", "b"), kept)
    assert found.stopped_by == "interrupt"
    assert sum(len(part.launches) for part in found.parts) == 3
    assert kept[-1] == found


def test_counters_are_kept_after_each_round(tmp_path: Path, launches: Launches) -> None:
    kept: list[ProfileCounters] = []
    counted(task(tmp_path, "a", rounds=3), kept)
    assert [len(each.parts[0].launches) for each in kept] == [1, 2, 3, 3]
    assert [each.stopped_by for each in kept] == ["unfinished"] * 3 + ["launches"]
