"""Whether a speedup is of answers that something was held against."""

from dataclasses import replace

import pytest
from launches import even, group

from irbench.core.record import LaunchRecord, OutputError
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

EXACT = OutputError(0, 0, 1, None)
LEVELS_MS = {"slow": [2] * 6, "quick": [1] * 6}


def table(records: list[LaunchRecord]) -> GroupResult:
    return summarise(group(*LEVELS_MS), records, Timing(), Admission(), stopped_by="target", seconds=60.0)


def quick(result: GroupResult) -> CellResult:
    return next(row for row in result.cells if row.id == "quick")


@pytest.mark.parametrize(("errors", "verified"), [({}, False), ({"output_error": EXACT}, True)])
def test_a_speedup_says_whether_anything_was_held_against_the_answers(errors, verified):
    result = table(even(LEVELS_MS, **errors))
    assert quick(result).speedup.verified is verified
    assert result.unverified is not verified


def test_a_speedup_over_a_baseline_that_was_not_verified_is_not_verified():
    records = [
        replace(item, cells=(item.cells[0], replace(item.cells[1], output_error=EXACT))) for item in even(LEVELS_MS)
    ]
    assert quick(table(records)).speedup.verified is False
