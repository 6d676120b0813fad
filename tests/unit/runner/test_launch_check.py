"""Answers that are left out are no right answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import launches
import numpy as np
import pytest

from irbench.core.record import Failure
from irbench.runner.launch import LaunchCheck
from irbench.runner.launch_state import CellProgress, LaunchPlan
from irbench.runner.reference import Expected
from irbench.runner.workers import Workers
from irbench.spec import Cell, Feeding, Program, Timing

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
    plan = LaunchPlan(group, 0, Timing(), 0, Path(), (Expected((ANSWER,) * samples, None),), (0,))
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
        "its answers to the same inputs change between calls: gave 0 answers in place of 1"
    ]


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
