"""Samples take turns in a launch: each equally often, in the same order for all cells, and verified before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import launches
import numpy as np
import pytest
from scripted_crew import CALLS_PER_SAMPLE, DEADLINE_S, NOTHING, ScriptedCrew, all_of, fed, install, one

from irbench.measure.core_to_core import CoreLink
from irbench.runner import launch
from irbench.runner.launch import Launch
from irbench.runner.launch_state import LaunchInputs, LaunchPlan
from irbench.runner.reference import ReferenceOutputs
from irbench.spec import Feeding, Timing
from irbench.stats.launch_planning import Room
from irbench.worker.cell import PreparedSession


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedCrew]:
    return install(monkeypatch)


def samples(count: int) -> Feeding:
    return Feeding(samples=tuple(Path(f"{number}.npz") for number in range(count)))


def test_a_round_uses_every_sample_equally_often(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    _, tempo = one(tmp_path, "slow", "short", feeding=samples(12), budget=3000.0).measure()
    assert tempo.samples["slow"] % 12 == 0
    assert tempo.samples["short"] * CALLS_PER_SAMPLE["short"] % 12 == 0


def test_all_cells_make_the_same_calls_where_a_round_of_all_samples_takes_too_long(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    _, tempo = one(tmp_path, "slow", "short", feeding=samples(500), budget=900.0).measure()
    assert tempo.samples == {"slow": 3, "short": 1}  # of ten calls each


def test_a_block_begins_with_the_same_sample_in_all_cells(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    one(tmp_path, "slow", "short", feeding=samples(500), budget=900.0).measure()
    rounds = [(args[0], args[3]) for _, method, args in crews[0].asked if method == "take_round"]
    assert len(rounds) > 4
    assert rounds == [(block, 3 * max(0, block - 1)) for block, _ in rounds]  # after one of the burn-in


def test_a_launch_goes_on_with_the_samples_after_those_of_earlier_ones(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    group = fed(launches.group("slow"), samples(500))
    plan = LaunchPlan(group, 0, Timing(), seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    inputs = LaunchInputs(1, group.cells, Room(60.0, 4), samples={"slow": 7}, first=84)
    Launch(plan, inputs, CoreLink((0,)), lambda _: None).measure()
    firsts = [args[3] for _, method, args in crews[0].asked if method == "take_round"]
    assert firsts[:4] == [84, 84, 91, 98]


def test_cells_alone_meet_the_same_samples_whatever_their_speed(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    group = fed(launches.group("slow", "short"), samples(12))
    timing = Timing(sustain=10.0, tail=True, tail_calls=30, budget=1e6)
    plan = LaunchPlan(group, 0, timing, seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    inputs = LaunchInputs(2, group.cells, Room(1e6, 4), samples={"slow": 12, "short": 6})
    Launch(plan, inputs, CoreLink((0,)), lambda _: None).measure()
    alone = {cell: args for cell, method, args in crews[0].asked if method == "alone"}
    assert alone == {"slow": (10.0, 10, 20), "short": (10.0, 1, 20)}  # a sample of the short one has ten calls
    assert {args[2] for _, method, args in crews[0].asked if method == "tail"} == {60}


class Answering(ScriptedCrew):
    """Answers every call with its number, and the call of ``wrong`` with another."""

    wrong = -1

    def ask(self, cell: str, stage: str, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        if method == "prepare":
            return PreparedSession({"precision": "fp32"}, ((np.array([1.0]),),))
        if method == "answer_call":
            return ((np.array([args[0] + (2.0 if args[0] == self.wrong else 1.0)]),),)
        return ((np.array([1.0]),),) if method == "answer_again" else super().ask(cell, stage, method, *args)


@pytest.mark.parametrize(("wrong", "error"), [(-1, 0.0), (2, 1 / 3)])
def test_every_sample_is_verified_before_anything_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int, error: float
) -> None:
    monkeypatch.setattr(launch, "Workers", Answering)
    monkeypatch.setattr(Answering, "wrong", wrong)
    group = fed(launches.group("short"), samples(3))
    reference = tuple((np.array([number + 1.0]),) for number in range(3))
    plan = LaunchPlan(
        group,
        0,
        Timing(deadline=DEADLINE_S),
        seed=0,
        logs=tmp_path,
        expected=(ReferenceOutputs(reference, None),),
        cpus=(0,),
    )
    record, _ = Launch(
        plan, LaunchInputs(0, group.cells, Room(60.0, 4), new=all_of(group)), CoreLink((0,)), lambda _: None
    ).measure()
    assert record.cells[0].output_error is not None
    assert record.cells[0].output_error.max_rel == pytest.approx(error)
