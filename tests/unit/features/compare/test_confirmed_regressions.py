"""A regression that is measured again: in pairs where both sides took turns in the same launches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import EVEN, store, times

from irbench.across_runs.checked_runs import CheckedRun, read_run
from irbench.across_runs.measured_cells import MeasuredCell, measured_cells
from irbench.across_runs.side_comparison import ComparedRow, Side, compare_sides
from irbench.features.compare.confirmed_regressions import RepeatedRow, confirmed_rows, judge
from irbench.options.conditions import read_condition

LIMIT = read_condition("time>5%")
DRIFTING = (10.0, 14.0, 9.0, 16.0, 12.0, 20.0)
"""Launches whose levels differ more than any change that is looked for."""


def run(root: Path, **levels_ms: tuple[float, ...]) -> CheckedRun:
    found, _ = read_run(store(root, levels_ms).folder)
    assert found is not None
    return found


def cell(of: CheckedRun, backend: str) -> MeasuredCell:
    """Return the row of a backend."""
    return next(found for key, found in measured_cells(of).items() if key.backend == backend)


def regression(root: Path, condition: str = LIMIT.text) -> ComparedRow:
    sides = [Side(name, (run(root, ort=levels),), ()) for name, levels in (("before", EVEN), ("after", times(2)))]
    (row,) = compare_sides(sides[0], sides[1], [read_condition(condition)], 0.02).rows
    return row


@pytest.mark.parametrize("condition", ["time>5%", "p50>5%", "fps<-5%"])
def test_rows_of_one_table_are_compared_in_pairs(tmp_path: Path, condition: str):
    together = run(tmp_path, old=DRIFTING, new=tuple(1.1 * value for value in DRIFTING))
    limit = read_condition(condition)
    row = regression(tmp_path, condition)
    (again,) = confirmed_rows([RepeatedRow(row, (cell(together, "old"),), cell(together, "new"))], [limit], 0.02, 0.95)
    assert (again.time.counted, again.time.base_count) == ("pairs", 6)
    assert again.time.relative is not None
    assert again.time.relative.value == pytest.approx(0.1)
    assert again.time.difference.value == pytest.approx(0.1 * again.time.base)
    assert judge([again]) == "confirmed"


def test_rows_of_two_runs_are_not(tmp_path: Path):
    apart = [run(tmp_path, ort=levels) for levels in (DRIFTING, tuple(1.1 * value for value in DRIFTING))]
    repeated = RepeatedRow(regression(tmp_path), (cell(apart[0], "ort"),), cell(apart[1], "ort"))
    (again,) = confirmed_rows([repeated], [LIMIT], 0.02, 0.95)
    assert again.time.counted == "launches"
    assert judge([again]) == "undecided"


def test_only_conditions_that_were_met_are_checked_again(tmp_path: Path):
    other = read_condition("fps<-90%")
    apart = [run(tmp_path, ort=EVEN) for _ in range(2)]
    repeated = RepeatedRow(regression(tmp_path), (cell(apart[0], "ort"),), cell(apart[1], "ort"))
    (again,) = confirmed_rows([repeated], [LIMIT, other], 0.02, 0.95)
    assert [checked.condition for checked in again.conditions] == ["time>5%"]
    assert judge([again]) == "not-confirmed"


SCATTERED = tuple(1.055 * ms * share for ms, share in zip(EVEN, (1.0, 0.98, 1.03, 0.97, 1.02, 1.01), strict=True))
"""Slower than EVEN by 6.5 %, and by an interval of six launches that is above 0 at 95 % and not far beyond."""


@pytest.mark.parametrize(("was_met", "outcome"), [(True, "met"), (False, "undecided")])
def test_conditions_that_were_never_met_share_the_error_probability(tmp_path: Path, was_met: bool, outcome: str):
    together = run(tmp_path, old=EVEN, **{f"new{place}": SCATTERED if place == 0 else EVEN for place in range(8)})
    row = regression(tmp_path)
    if not was_met:
        row = replace(row, conditions=tuple(replace(item, unjudged="new-load") for item in row.conditions))
    news = [cell(together, f"new{place}") for place in range(8)]
    repeated = [RepeatedRow(replace(row, key=new.key), (cell(together, "old"),), new) for new in news]
    first, *others = confirmed_rows(repeated, [LIMIT], 0.02, 0.95)
    assert first.conditions[0].outcome == outcome
    assert {other.conditions[0].outcome for other in others} == {"not-met"}


def test_nothing_measured_decides_nothing():
    assert judge([]) == "undecided"
