"""What launches of settings are expected to take, and what a confirmation leaves to the search."""

from __future__ import annotations

from dataclasses import replace

import launches
import pytest

from irbench.features.tune.search_schedule import (
    SEARCH,
    ConfirmationPlan,
    LaunchCosts,
    RowCost,
    confirmation_s,
    confirmation_timing,
    launch_s,
)
from irbench.spec import Cell, Load, Timing

BATCH_1, BATCH_16 = RowCost(1.5, 0.035), RowCost(1.5, 0.56)


def test_a_probe_of_a_batch_takes_its_calls_and_not_as_many_of_them():
    """16 times the call, and about 4 times the time of the probe: its calls are fewer."""
    probes_s = [launch_s([row], SEARCH, verifies=True) for row in (BATCH_1, BATCH_16)]
    assert probes_s[1] < 3 * probes_s[0]
    usual_s = launch_s([BATCH_16], Timing(), verifies=True)
    assert probes_s[1] < 0.5 * usual_s


def test_a_confirmation_with_a_batch_of_16_takes_a_third_of_five_minutes():
    rows = [BATCH_1, RowCost(2.0, 0.033), BATCH_16, RowCost(2.0, 0.5, in_flight=2)]
    assert confirmation_s(rows, confirmation_timing(Timing()), 4) < 100


def test_launches_after_the_first_start_side_by_side():
    rows = [BATCH_1] * 4
    assert launch_s(rows, SEARCH, verifies=False) < launch_s(rows, SEARCH, verifies=True) - 1


def test_a_warm_up_of_given_calls_takes_these_calls_in_each_launch():
    plain = Timing(look_calls=0)
    longer_s = [
        launch_s([BATCH_1] * 2, replace(plain, warm_up=0.0, warm_up_calls=200), verifies=verifies)
        - launch_s([BATCH_1] * 2, plain, verifies=verifies)
        for verifies in (True, False)
    ]
    assert longer_s == [pytest.approx(2 * (200 * 0.035 - 0.3))] * 2


def cell(name: str, backend: str, batch: int = 1, **load: int) -> Cell:
    return Cell(name, None, backend, "cpu", Load(batch=batch, **load))  # type: ignore[arg-type]


CELLS = {
    each.id: each
    for each in (cell("a", "ort"), cell("a16", "ort", 16), cell("b", "openvino"), cell("b2", "openvino", 2, streams=2))
}


def known() -> LaunchCosts:
    records = launches.even({"a": [10.0], "b": [4.0]}, calls_per_sample=1)
    return LaunchCosts(CELLS, records)


def test_a_row_that_was_not_launched_is_taken_to_be_like_those_of_its_backend():
    a16, b2 = known().of(["a16", "b2"])
    assert (a16.completion_s, a16.in_flight) == (pytest.approx(0.16), 1)
    assert (b2.completion_s, b2.in_flight) == (pytest.approx(0.008), 2)


def test_before_anything_was_launched_starts_are_guessed():
    (row,) = LaunchCosts(CELLS, ()).of(["a16"])
    assert row.start_s > 0
    assert launch_s([row], SEARCH, verifies=True) > 0


def plan(timing: Timing) -> ConfirmationPlan:
    return ConfirmationPlan(CELLS, lambda batch: ("b",) if batch == 1 else ("b", "b2"), timing)


def test_as_many_settings_are_confirmed_as_there_is_time_for():
    confirmation, costs = plan(Timing()), known()
    needed_s = confirmation.needed_s(["a", "a16"], costs)
    assert confirmation.affordable(["a", "a16"], costs, needed_s + 1) == ("a", "a16")
    assert confirmation.affordable(["a", "a16"], costs, needed_s - 1) == ("a",)
    assert confirmation.affordable(["a", "a16"], costs, 0.0) == ("a",)
    assert confirmation.affordable([], costs, 100.0) == ()


def test_no_more_settings_are_confirmed_than_one_launch_takes_with_the_references():
    assert plan(Timing(most_cells=2)).affordable(["a", "a16"], known(), 1e6) == ("a",)


def test_the_references_of_a_confirmation_are_those_of_the_batch_of_the_best_setting():
    confirmation, costs = plan(Timing()), known()
    assert confirmation.needed_s(["a16"], costs) > confirmation.needed_s(["a"], costs) + 4
