"""Times and shares of stages, of which the truth is known."""

from __future__ import annotations

from dataclasses import replace

import launches
import numpy as np
import pytest

from irbench.core.record import LaunchRecord, Round
from irbench.core.row import CellResult
from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

MS = 1_000_000
NAMES = ("decode", "model", "best")
CALLS = 10


def staged(block: int, stages_ms: list[list[float]]) -> Round:
    """Return a round of calls whose stages take these times."""
    moments_ns = np.rint(np.cumsum(stages_ms, axis=1) * MS).astype(np.int64)
    return replace(launches.synchronous(block, moments_ns[:, -1].tolist()), part_ns=moments_ns.ravel())


def row(by_launch: list[list[list[float]]], names: tuple[str, ...] = NAMES) -> CellResult:
    """Return the row of launches in which all rounds have the same calls."""
    records: list[LaunchRecord] = [
        launches.launch(number, [launches.measured("mine", [staged(block, calls) for block in range(5)], stages=names)])
        for number, calls in enumerate(by_launch)
    ]
    group = launches.group("mine")
    return summarise(group, records, Timing(), Admission(), stopped_by="target", seconds=1.0).cells[0]


def test_each_stage_has_its_median_and_its_share_in_order() -> None:
    stages = row([[[6.0, 3.0, 1.0]] * CALLS] * 5).stages
    assert [stage.name for stage in stages] == list(NAMES)
    assert [stage.ms.value for stage in stages] == pytest.approx([6, 3, 1])
    assert [stage.share.value for stage in stages] == pytest.approx([0.6, 0.3, 0.1])


def test_a_stage_that_is_slow_in_few_calls_has_a_small_median_and_its_share_of_the_time() -> None:
    usual, missed = [0.1, 1.0, 0.1], [10.1, 1.0, 0.1]
    decode = row([[*[usual] * (CALLS - 1), missed]] * 5).stages[0]
    assert decode.ms.value == pytest.approx(0.1)
    assert decode.share.value == pytest.approx(11 / 22)


def test_intervals_over_launches_hold_the_truth_and_shares_stay_between_0_and_1() -> None:
    factors = [0.98, 0.99, 1.0, 1.01, 1.02]
    slow = row([[[6.0 * factor, 3.0, 0.0]] * CALLS for factor in factors]).stages
    for stage in slow:
        assert stage.share.low is not None
        assert stage.share.high is not None
        assert 0 < stage.share.low <= stage.share.value <= stage.share.high < 1
    decode = slow[0].ms
    assert decode.low is not None
    assert decode.high is not None
    assert decode.low < 6 < decode.high


def test_one_launch_has_no_interval_and_one_stage_all_of_the_time() -> None:
    (only,) = row([[[2.0]] * CALLS], ("all",)).stages
    assert (only.ms.value, only.ms.low) == (pytest.approx(2), None)
    assert only.share.value == pytest.approx(1)


def test_calls_without_stages_have_none_and_stages_are_no_tokens() -> None:
    assert row([[[6.0, 3.0, 1.0]] * CALLS] * 5).generation is None
    plain = [launches.launch(0, [launches.measured("ort", [launches.synchronous(0, [MS, MS])])])]
    table = summarise(launches.group("ort"), plain, Timing(), Admission(), stopped_by="target", seconds=1.0)
    assert table.cells[0].stages == ()


def test_moments_that_do_not_fit_the_names_are_not_shown() -> None:
    assert row([[[6.0, 3.0, 1.0]] * CALLS] * 3, ("decode", "model")).stages == ()
