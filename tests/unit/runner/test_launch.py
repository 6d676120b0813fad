"""One launch with workers that only keep books: what is asked of them, how long they may take, what is recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import launches
import numpy as np
import pytest
from scripted_crew import CALL_NS, DEADLINE_S, NOTHING, ScriptedCrew, install, one
from training_steps import TRAINING

from irbench.core.output_check import fingerprint
from irbench.core.record import Failure
from irbench.measure.core_to_core import CoreLink
from irbench.runner.launch import Launch, LaunchCheck
from irbench.runner.launch_state import CellProgress, LaunchInputs, LaunchPlan
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.workers import Workers
from irbench.spec import Cell, Feeding, Program, Timing
from irbench.stats.launch_planning import Room
from irbench.worker.cell import Response


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedCrew]:
    return install(monkeypatch)


def test_a_tail_of_slow_calls_is_given_the_time_that_it_takes(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow", tail=True, tail_calls=1000, budget=1e6).measure()
    assert record.cells[0].tail_ns.size == 1000
    assert crews[0].allowed_s["slow", "tail"] >= DEADLINE_S + 2 * 1000 * CALL_NS["slow"] / 1e9


def test_a_warm_up_of_given_calls_is_given_the_time_that_they_take(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    one(tmp_path, "slow", warm_up=0.0, warm_up_calls=500, look_calls=0, budget=1e6).measure()
    assert crews[0].allowed_s["slow", "warm_up"] >= DEADLINE_S + 2 * 500 * CALL_NS["slow"] / 1e9


@pytest.mark.parametrize(("launches_before", "allowed_s"), [(0, 30.0), (1, DEADLINE_S)])
def test_a_row_that_has_finished_a_launch_is_not_bounded_by_what_is_left_of_the_budget(
    launches_before: int, allowed_s: float, tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    group = launches.group("short")
    timing = Timing(deadline=DEADLINE_S, budget=59.0, deadline_by="budget")
    plan = LaunchPlan(group, 0, timing, seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    new = frozenset() if launches_before else frozenset({"short"})
    Launch(
        plan, LaunchInputs(launches_before, group.cells, Room(59.0, 4), new=new), CoreLink((0,)), lambda _: None
    ).measure()
    assert crews[0].allowed_s["short", "prepare"] == pytest.approx(allowed_s, abs=1.0)


def test_a_launch_without_a_tail_asks_for_none(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.cells[0].tail_ns.size == 0
    assert ("slow", "tail") not in crews[0].allowed_s


def test_the_time_of_tails_is_taken_from_the_blocks(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    numbers = {"budget": 600.0, "min_launches": 6, "blocks": 8, "min_blocks": 2, "tail_calls": 30}
    _, without = one(tmp_path, "slow", **numbers).measure()
    _, with_tail = one(tmp_path, "slow", tail=True, **numbers).measure()
    assert without.timing.blocks == 8
    assert with_tail.timing.blocks == 3


@pytest.mark.parametrize(("budget_s", "divided"), [(400.0, True), (140.0, False)])
def test_parts_of_steps_are_timed_where_the_launches_that_an_interval_needs_surely_fit_with_them(
    budget_s: float, divided: bool, tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    _, tempo = steps(tmp_path, budget=budget_s, min_launches=1, look_calls=0, sustain=0.0).measure()
    assert tempo.timing.beginnings is divided
    assert (("slow", "beginnings", ()) in crews[0].asked) is divided


def steps(folder: Path, **numbers: Any) -> Launch:
    """Return the first launch of a row of training steps of 2 s."""
    group = launches.group("slow")
    (cell,) = (replace(each, artifact=TRAINING) for each in group.cells)
    timing = Timing(deadline=DEADLINE_S, **numbers)
    plan = LaunchPlan(
        replace(group, cells=(cell,)), 0, timing, seed=0, logs=folder, expected=(NOTHING,), cpus=(0,)
    )  # fmt: skip
    room = Room(timing.budget, timing.min_launches, needed=timing.min_launches)
    inputs = LaunchInputs(0, (cell,), room, new=frozenset({"slow"}))
    return Launch(plan, inputs, CoreLink((0,)), lambda _: None)


def test_a_block_of_short_calls_counts_all_calls_of_its_samples(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    numbers = {"min_launches": 1, "blocks": 8, "min_blocks": 2, "settle": 0.0, "round_seconds": 1.0}
    _, tempo = one(tmp_path, "short", budget=6.5, **numbers).measure()
    assert tempo.timing.blocks == 5


def test_a_cell_that_fails_alone_is_told_with_its_reason(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow", "short", sustain=1.0).measure()
    assert [run.cell for run in record.sustained] == ["short"]
    assert record.failures == {"slow": Failure("sustained run", "lost")}


def test_each_cell_runs_at_the_pace_for_a_second_where_one_was_asked_for(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    record, _ = one(tmp_path, "slow", "short", pace=0.02, budget=1e6).measure()
    runs = {cell.cell: cell.paced for cell in record.cells}
    assert {cell: run.issue_ns.size for cell, run in runs.items() if run is not None} == {"slow": 15, "short": 50}
    assert crews[0].allowed_s["slow", "paced"] >= DEADLINE_S + 15 * CALL_NS["slow"] / 1e9
    assert {args[0] for _, method, args in crews[0].asked if method == "paced"} == {20_000_000}


def test_the_time_of_paced_runs_is_taken_from_the_blocks(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    numbers = {"budget": 900.0, "min_launches": 6, "blocks": 8, "min_blocks": 2}
    _, without = one(tmp_path, "slow", **numbers).measure()
    _, with_pace = one(tmp_path, "slow", pace=5.0, **numbers).measure()
    assert with_pace.timing.blocks < without.timing.blocks == 8


def test_nobody_runs_at_a_pace_unless_it_was_asked_for(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "short").measure()
    assert record.cells[0].paced is None
    assert ("short", "paced") not in crews[0].allowed_s


def test_nobody_runs_alone_unless_it_was_asked_for(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "short").measure()
    assert record.sustained == ()
    assert ("short", "alone") not in crews[0].allowed_s


def test_a_cell_that_fails_in_a_later_launch_leaves_the_others_their_samples(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    group = launches.group("short")
    plan = LaunchPlan(group, 0, Timing(deadline=DEADLINE_S), seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    inputs = LaunchInputs(1, group.cells, Room(60.0, 4), samples={"short": 7, "failed before its warm-up": 9})
    _, tempo = Launch(plan, inputs, CoreLink((0,)), lambda _: None).measure()
    assert tempo.samples == {"short": 7}


def test_the_burn_in_comes_before_the_blocks_that_count(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, tempo = one(tmp_path, "short", burn_in_blocks=2).measure()
    assert tempo.timing.blocks + 2 <= len(record.blocks) <= tempo.timing.max_blocks + 2


def test_a_row_that_the_first_block_shows_far_behind_is_timed_in_no_further_block(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    with one(tmp_path, "slow", "short", behind=1.1, burn_in_blocks=0) as launch:
        record, _ = launch.measure()
    rounds = {cell.cell: len(cell.rounds) for cell in record.cells}
    assert rounds["slow"] == 1
    assert rounds["short"] == len(record.blocks) > 1


def test_a_record_says_how_many_processors_were_in_use(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.processors == 1  # of the two threads' wish only one processor was allowed


def test_the_peak_of_the_process_covers_the_rounds_too(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.cells[0].peak_memory_bytes == {"load": 7, "warm_up": 5, "run": 11, "process": 11}


def test_private_memory_is_that_at_the_end_of_each_phase(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.cells[0].private_memory_bytes == {"import": 3, "run": 9}


ANSWER = (np.ones(4, np.float32),)


class Answering:
    """Workers of one cell that answer each question with the next of these."""

    def __init__(self, cell: Cell, *answers: Any) -> None:
        self.cells: tuple[Cell, ...] = (cell,)
        self.failures: list[Failure] = []
        self._answers = list(answers)

    def ask(self, _cell: str, _stage: str, _method: str, *_: int) -> Any:
        return self._answers.pop(0)

    def dismiss(self, _cell: str, failure: Failure) -> None:
        self.cells = ()
        self.failures.append(failure)


def checking(*answers: Any, samples: int = 1, streams: int = 1, program: Program | None = None) -> Any:
    """Return a check of one cell, its workers and its progress."""
    group = launches.group("a")
    feeding = Feeding(samples=tuple(Path(f"{number}.npz") for number in range(samples)))
    cell = replace(group.cells[0], program=program, load=replace(group.cells[0].load, streams=streams))
    group = replace(group, cells=(cell,), workloads=(replace(group.workloads[0], feeding=feeding),))
    plan = LaunchPlan(group, 0, Timing(), 0, Path(), (ReferenceOutputs((ANSWER,) * samples, None),), (0,))
    workers, progress = Answering(cell, *answers), CellProgress()
    check = LaunchCheck(plan, frozenset({cell.id}), cast("Workers", workers), {cell.id: progress})
    return check, workers, progress


@pytest.mark.parametrize("answers", [(), (ANSWER,), (ANSWER,) * 3])
def test_a_cell_that_answers_for_fewer_or_more_streams_than_it_has_leaves(answers: tuple[Any, ...]) -> None:
    check, workers, progress = checking(streams=2)
    check.first(check._workers.cells[0], answers)
    assert workers.failures == [Failure("verify", f"gave {len(answers)} answers in place of 2")]
    assert progress.output_error is None


def test_a_cell_that_answers_to_its_first_sample_alone_leaves() -> None:
    check, workers, _ = checking((ANSWER,), (), samples=2)
    check.first(workers.cells[0], (ANSWER,))
    assert [failure.message for failure in workers.failures] == ["gave 0 answers in place of 1"]


def test_a_cell_that_does_not_answer_again_leaves() -> None:
    check, workers, _ = checking(())
    check.again(workers.cells[0])
    assert [failure.message for failure in workers.failures] == [
        (
            "its answers to the same inputs change between calls: gave 0 answers in place of 1"
            " (first seen after the last block of launch 1)"
        )
    ]


def test_outputs_that_go_bad_while_a_cell_is_timed_make_it_leave_and_stay_in_the_record() -> None:
    check, workers, progress = checking((Response((2 * ANSWER[0],)),))
    cell = workers.cells[0]
    check.first(cell, (ANSWER,))
    check.timed(cell, 2, "in block 3")
    (failure,) = workers.failures
    assert failure.stage == "verify"
    assert failure.message.startswith("its answers to the same inputs change between calls: wrong outputs")
    assert failure.message.endswith("(first seen in block 3 of launch 1)")
    assert progress.repeat_error.max_rel == pytest.approx(1)
    assert check.gone_bad == {cell.id}


def test_outputs_that_are_not_finite_any_more_make_a_cell_leave() -> None:
    check, workers, _ = checking((Response((np.full(4, np.nan, np.float32),)),))
    cell = workers.cells[0]
    check.first(cell, (ANSWER,))
    check.timed(cell, 0, "in block 1")
    assert "holds NaN at 4 of 4 places (first seen in block 1 of launch 1)" in workers.failures[0].message
    assert not check.gone_bad


def test_outputs_that_were_found_right_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check, workers, _ = checking((Response(ANSWER),), ())
    cell = workers.cells[0]
    asked: list[frozenset[str]] = []
    ask = workers.ask
    monkeypatch.setattr(workers, "ask", lambda *words: asked.append(words[-1]) or ask(*words))
    for _ in range(2):
        check.timed(cell, 0, "in block 1")
    assert asked == [frozenset(), {fingerprint(ANSWER)}]
    assert not workers.failures


def test_what_was_wrong_from_the_first_call_on_did_not_change() -> None:
    check, workers, progress = checking()
    cell = workers.cells[0]
    check.first(cell, ((2 * ANSWER[0],),))
    check.timed(cell, 0, "in block 1")
    assert not workers.failures
    assert progress.output_error.max_rel == pytest.approx(1)


def test_each_response_is_compared_with_the_answer_to_its_own_sample() -> None:
    check, workers, _ = checking((Response((3 * ANSWER[0],), 1),), (Response(ANSWER, 1),), samples=2)
    cell = workers.cells[0]
    (expected,) = check._plan.expected
    object.__setattr__(expected, "outputs", (ANSWER, (3 * ANSWER[0],)))
    check.timed(cell, 0, "in block 1")
    assert not workers.failures
    check.timed(cell, 0, "in block 2")
    assert "first seen in block 2" in workers.failures[0].message


def test_all_answers_are_compared() -> None:
    check, workers, progress = checking((ANSWER,) * 2, streams=2)
    check.first(workers.cells[0], (ANSWER,) * 2)
    check.again(workers.cells[0])
    assert not workers.failures
    assert (progress.output_error.max_rel, progress.repeat_error.max_rel) == (0, 0)


def test_code_of_the_users_may_give_no_answer() -> None:
    check, workers, progress = checking((), program=Program("callable", "nets:build"))
    check.first(workers.cells[0], ())
    check.again(workers.cells[0])
    assert not workers.failures
    assert progress.output_error is None
