"""Whether the remaining time that a run reports is right, on a scripted machine with virtual time."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from pathlib import Path

import documents
import pytest
from scripted_machine import Machine, result_of

from irbench.runner.run_progress import Progress
from irbench.spec import Timing
from irbench.stats.time_left import LaunchTimes, times_of

RUNS, ERROR, ENOUGH = 40, 0.3, 0.7


@dataclass
class RealMachine(Machine):
    """One on which starts take 0.7 to 1.4 times their usual time, and each launch of a cell has a speed of its own.

    Attributes:
        launch_sd: Of the logarithm of a cell's speed over launches.
    """

    launch_sd: float = 0.008
    speeds: dict[str, float] = field(default_factory=dict)

    def start(self, cell: str) -> float:
        self.speeds[cell] = self._random.lognormvariate(0.0, self.launch_sd)
        return self.start_s[cell] * self._random.uniform(0.7, 1.4)

    def call(self, cell: str, count: int) -> list[float]:
        return [self.speeds.get(cell, 1.0) * latency for latency in super().call(cell, count)]


def drawn(seed: int) -> tuple[RealMachine, Timing]:
    """Return a machine with two to five rows, of which one in six is as fast as another one, and a protocol."""
    draw = random.Random(seed)
    names = ["tf", "ort", "openvino", "tf-xla", "other"][: draw.randint(2, 5)]
    start_s = {name: (4.0 if name.startswith("tf") else 1.0) * draw.uniform(0.7, 1.5) for name in names}
    first_s = 10 ** draw.uniform(-4, -1)
    calls_s = {name: first_s * (1.0 if draw.random() < 1 / 6 else math.exp(draw.uniform(0, 1))) for name in names}
    disturbed, launch_sd = draw.choice([0.0, 0.0, 0.1, 0.5]), draw.choice([0.004, 0.008, 0.015])
    machine = RealMachine(start_s, calls_s, disturbed=disturbed, launch_sd=launch_sd)
    machine.seed(seed)
    return machine, Timing(budget=draw.choice([60.0, 90.0, 90.0, 180.0, 300.0]))


def foreseen(
    machine: Machine, timing: Timing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[float, Progress]], float]:
    """Return each moment of a run with its time, and how long the run took, in seconds."""
    moments: list[tuple[float, Progress]] = []
    began_s = machine.now_s

    def listen(progress: Progress) -> None:
        moments.append((machine.now_s - began_s, progress))

    result_of(machine, timing, tmp_path, monkeypatch, listen, expected_s=60.0)
    return moments, machine.now_s - began_s


def foretold_s(moment: tuple[float, Progress]) -> float:
    """Return how long a run takes in all, as it is foretold at a moment."""
    at_s, progress = moment
    assert progress.remaining_s is not None
    return at_s + progress.remaining_s


@pytest.mark.ci
def test_the_whole_time_is_foretold_within_30_per_cent_in_most_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 machines, 30 are right after the first launch and 33 at half.

    How launches scatter, and when other programs run, is not known before.
    """
    right = {"after the first launch": 0, "at half": 0}
    for seed in range(RUNS):
        machine, timing = drawn(seed)
        moments, took_s = foreseen(machine, timing, tmp_path / str(seed), monkeypatch)
        first = next(moment for moment in moments if moment[1].interim is not None)
        half = next(moment for moment in moments if moment[0] >= took_s / 2)
        for when, moment in zip(right, (first, half), strict=True):
            right[when] += abs(foretold_s(moment) / took_s - 1) <= ERROR
    assert min(right.values()) >= ENOUGH * RUNS


def test_where_rows_differ_the_end_is_foreseen_after_the_first_launch_and_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = RealMachine({"tf": 4.0, "ort": 1.0}, {"tf": 0.02, "ort": 0.01})
    moments, took_s = foreseen(machine, Timing(), tmp_path, monkeypatch)
    launched = [moment for moment in moments if moment[1].interim is not None]
    assert all(foretold_s(moment) == pytest.approx(took_s, rel=0.2) for moment in launched)
    assert foretold_s(launched[-1]) - took_s < 1
    assert took_s < 0.7 * Timing().budget


def test_the_starts_of_the_first_launch_tell_already_how_long_the_run_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = RealMachine({"tf": 12.0, "ort": 1.0}, {"tf": 0.02, "ort": 0.01})
    moments, took_s = foreseen(machine, Timing(budget=300.0), tmp_path, monkeypatch)
    block = next(moment for moment in moments if moment[1].activity.code == "block")
    assert foretold_s(block) == pytest.approx(took_s, rel=0.4)
    assert foretold_s(moments[0]) == pytest.approx(60.0, abs=2)


def test_launches_in_which_every_cell_failed_take_what_the_last_one_took() -> None:
    records = [replace(documents.launch(number), cells=()) for number in range(2)]
    assert times_of(records, [3.0, 2.0], Timing(), 0.0) == LaunchTimes(2.0, 2.0)


@pytest.mark.ci
def test_rows_that_take_turns_in_launches_are_foreseen_before_their_first_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = range(12)
    machine = RealMachine({f"row{row}": 1.0 for row in rows}, {f"row{row}": 0.01 * (1 + row / 5) for row in rows})
    moments, took_s = foreseen(machine, Timing(budget=600.0), tmp_path, monkeypatch)
    launched = [moment for moment in moments if moment[1].interim is not None]
    assert foretold_s(launched[0]) == pytest.approx(took_s, rel=0.3)
    assert foretold_s(launched[1]) == pytest.approx(took_s, rel=0.3)
