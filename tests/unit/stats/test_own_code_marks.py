"""What a table says of rows that a user's own code runs: what irbench did not verify, and what it did not time."""

from __future__ import annotations

from dataclasses import replace

import launches
import numpy as np
import pytest
from launches import MS

from irbench.core.record import LaunchRecord, Round
from irbench.notices import Mark
from irbench.notices.marks import NoOutputs
from irbench.spec import Group, Program, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise


def with_program(group: Group, program: Program) -> Group:
    first, *others = group.cells
    return replace(group, cells=(replace(first, program=program), *others))


def marks(program: Program, wall_ms: float = 10.0, **effective: object) -> tuple[Mark, ...]:
    """Return the marks of a row whose rounds hold 9 ms of calls in so much wall time."""
    completion = np.array([3, 6, 9], np.int64) * MS
    rounds = [
        Round(number, completion - 3 * MS, completion, launches.evidence(int(wall_ms * MS))) for number in range(5)
    ]
    said = {"precision": "fp32", "threads": 2, **effective}
    records: list[LaunchRecord] = [
        launches.launch(number, [launches.measured("own", rounds, effective=said), launches.measured("ort", rounds)])
        for number in range(4)
    ]
    table = summarise(
        with_program(launches.group("own", "ort"), program),
        records,
        Timing(),
        Admission(),
        stopped_by="launches",
        seconds=1.0,
    )
    rows = {row.id: row for row in table.cells}
    assert rows["own"].program == program
    assert rows["ort"].program is None
    assert not rows["ort"].marks
    return rows["own"].marks


def test_a_function_that_returns_outputs_has_no_mark() -> None:
    assert marks(Program("callable", "loop:infer"), returns_outputs=True) == ()


def test_a_function_that_returns_none_is_not_verified() -> None:
    assert marks(Program("callable", "loop:infer"), returns_outputs=False) == (NoOutputs(),)


@pytest.mark.parametrize(("wall_ms", "share"), [(10.0, 0.9), (900.0, 0.01)])
def test_a_command_times_itself_and_its_calls_have_a_share_of_its_time(wall_ms: float, share: float) -> None:
    (mark,) = marks(Program("command", "./loop"), wall_ms, returns_outputs=True)
    assert mark.code == "self-timed"
    assert mark.share == pytest.approx(share)
