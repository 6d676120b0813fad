"""Which launches a search makes, and when it leaves the time to its confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import launches
import pytest

from irbench.core.record import LaunchRecord
from irbench.features.tune.costs import ConfirmationPlan
from irbench.features.tune.schedule import SEARCH, SearchSchedule, confirmation_timing, with_asked
from irbench.features.tune.space import SearchSpace
from irbench.spec import Cell, Goal, Group, Load, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.stopping_rule import Next, Pace

SETTINGS = tuple(
    Cell(f"{backend}{batch}x{streams}", None, backend, "cpu", Load(batch, 2, streams))
    for backend in ("ort", "openvino")
    for batch in (1, 2, 4, 8)
    for streams in (1, 2, 3)
)
DEFAULTS = tuple(Cell(f"{backend}-default", None, backend, "cpu", Load(1, None)) for backend in ("ort", "openvino"))
CELLS = {each.id: each for each in (*DEFAULTS, *SETTINGS)}


def schedule(seconds: float) -> SearchSchedule:
    plan = ConfirmationPlan(CELLS, lambda _batch: tuple(cell.id for cell in DEFAULTS), confirmation_timing(Timing()))
    return SearchSchedule(SearchSpace(SETTINGS, 2), plan, seconds, 0, [cell.id for cell in DEFAULTS])


def group() -> Group:
    return replace(launches.group(*CELLS), cells=tuple(CELLS.values()), baseline="ort-default", goal=Goal("fps"))


def following(search: SearchSchedule, records: Sequence[LaunchRecord] = (), elapsed_s: float = 0.0) -> Next:
    return search.following(group(), records, SEARCH, Admission(), Pace(elapsed_s, [10.0] * len(records)))


def probed(number: int, cells: Sequence[str]) -> LaunchRecord:
    """Return a launch whose calls take 10 ms for each sample."""
    own = [
        launches.measured(cell, [launches.synchronous(block, [1e7 * CELLS[cell].load.batch]) for block in range(2)])
        for cell in cells
    ]
    return launches.launch(number, own)


def test_the_first_launch_has_every_default_and_settings_with_the_smallest_batch():
    first = following(schedule(300)).cells
    assert first[:2] == ("ort-default", "openvino-default")
    assert len(first) == SEARCH.most_cells
    assert {CELLS[cell].load.batch for cell in first} == {1}


def test_later_launches_have_the_baseline_and_settings():
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    later = following(search, records).cells
    assert later[0] == "ort-default"
    assert "openvino-default" not in later


@pytest.mark.parametrize(("elapsed_s", "goes_on"), [(60, True), (299, False)])
def test_a_search_ends_where_the_confirmation_would_not_fit_any_more(elapsed_s: float, goes_on: bool):
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    found = following(search, records, elapsed_s)
    assert (found.stopped_by is None) is goes_on
    assert found.stopped_by in (None, "budget")


def test_the_last_launch_has_as_many_settings_as_there_is_time_for():
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    counts = [len(following(search, records, elapsed_s).cells) for elapsed_s in range(150, 300)]
    assert set(counts) & {2, 3, 4, 5}
    assert counts == sorted(counts, reverse=True)


def test_as_many_of_the_best_are_confirmed_as_the_rest_of_the_time_allows():
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    following(search, records)
    assert len(search.affordable(3, 1000.0)) == 3
    assert len(search.affordable(3, 1.0)) == 1


def test_launches_of_a_search_warm_up_for_as_long_as_was_asked_and_otherwise_briefly():
    assert with_asked(SEARCH, Timing(within=0.05, deadline=7)) == replace(SEARCH, within=0.05, deadline=7)
    asked = with_asked(SEARCH, Timing(warm_up=0.0, warm_up_calls=900, look_calls=0))
    assert (asked.warm_up, asked.warm_up_calls, asked.look_calls) == (0.0, 900, 0)
