"""Which conditions are near a setting, who is compared under each, and who wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from documents import cell, document, failed, group, speedup

from irbench.core.result import GroupResult, Lead
from irbench.core.row import CellResult
from irbench.errors import IrbenchError
from irbench.features.tune import flip_map
from irbench.features.tune.flip_map import (
    ConditionRows,
    FlipMapMeans,
    Pair,
    Surroundings,
    conditions,
    flip_of,
    pair_under,
    ranked,
    share_s,
    with_flips,
)
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import (
    Alternative,
    ChangedCondition,
    Flip,
    Gain,
    TunedSetting,
    TuningReport,
    nearest_flip,
)
from irbench.notices.marks import AboveMaxLatency
from irbench.options.run import RunOptions
from irbench.runner.neighbours import NeighbourEnded
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun

HALF_BATCH = ChangedCondition("batch", 4, 8, 1.0)
SETTING = TunedSetting("ort/fp32", "ort", "ort", 8, 2, 1, 1, "fp32")
RIVAL = TunedSetting("openvino/fp32", "openvino", "openvino", 16, 1, 2, 1, "fp32")


def setting(**changes: Any) -> TunedSetting:
    return replace(SETTING, **changes)


def values(axis: str, tuned: TunedSetting, around: Surroundings) -> list[int | str]:
    return [condition.value for condition in conditions(tuned, around) if condition.axis == axis]


def around(processors: int = 4, *, has_batches: bool = True, **changes: Any) -> Surroundings:
    return Surroundings(processors, has_batches, **changes)


def test_counts_are_halved_and_doubled():
    assert values("batch", SETTING, around()) == [4, 16]
    assert values("streams", setting(streams=4), around()) == [2, 8]
    assert values("threads", SETTING, around()) == [1, 4]


def test_no_count_is_less_than_one():
    assert values("batch", setting(batch=1), around()) == [2]
    assert values("threads", setting(threads=1), around(1)) == []


def test_threads_stay_within_the_processors_and_native_ones_use_all():
    assert values("threads", setting(threads=3), around(4)) == [4, 1]
    assert values("threads", setting(threads=None), around(4)) == [2]


def test_several_processes_are_tried_on_fewer_processors_in_place_of_fewer_threads():
    found = setting(instances=2, threads=2)
    assert values("threads", found, around(4)) == []
    assert values("processors", found, around(4)) == [2]


def test_a_model_with_one_batch_has_no_conditions_of_batches():
    assert values("batch", SETTING, around(has_batches=False)) == []


def test_other_precisions_are_conditions():
    assert values("precision", SETTING, around(precisions=("fp32", "bf16"))) == ["bf16"]


@pytest.mark.parametrize(("processors", "first"), [(1, "neighbour"), (2, "neighbour"), (16, "neighbour")])
def test_the_nearest_condition_comes_first(processors: int, first: str):
    found = conditions(SETTING, around(processors))
    assert found[0].axis == first
    assert [condition.distance for condition in found] == sorted(condition.distance for condition in found)


def test_a_neighbour_is_nearer_the_smaller_its_share_of_the_processors_is():
    alone, one_of_two, one_of_many = (conditions(SETTING, around(count))[0].distance for count in (1, 2, 64))
    assert (alone, one_of_two) == (1, 1)
    assert 0 < one_of_many < 0.05


def test_a_condition_is_the_same_for_both_settings():
    pair = pair_under(HALF_BATCH, SETTING, [Alternative(RIVAL, None)], 4)
    assert pair == Pair(setting(batch=4), replace(RIVAL, batch=4))


def test_beside_a_neighbour_both_settings_are_as_they_were():
    condition = ChangedCondition("neighbour", 1, 0, 1.0)
    assert pair_under(condition, SETTING, [Alternative(RIVAL, None)], 4) == Pair(SETTING, RIVAL)


@pytest.mark.parametrize(("threads", "instances"), [(1, 4), (2, 2), (4, 1)])
def test_more_threads_leave_room_for_fewer_processes(threads: int, instances: int):
    condition = ChangedCondition("threads", threads, 8, 1.0)
    pair = pair_under(condition, SETTING, [Alternative(replace(RIVAL, instances=4), None)], 4)
    assert pair is not None
    assert (pair.rival.threads, pair.rival.instances) == (threads, instances)


@pytest.mark.parametrize(
    ("processors", "asked", "expected"), [(2, (4, 2), (2, 1)), (2, (2, 4), (2, 1)), (4, (2, 4), (2, 2))]
)
def test_on_fewer_processors_there_are_fewer_processes_and_threads(
    processors: int, asked: tuple[int, int], expected: tuple[int, int]
):
    condition = ChangedCondition("processors", processors, 8, 1.0)
    found = setting(instances=asked[0], threads=asked[1])
    pair = pair_under(condition, found, [Alternative(RIVAL, None)], 8)
    assert pair is not None
    assert (pair.setting.instances, pair.setting.threads) == expected


def test_the_rival_is_the_best_row_of_another_backend():
    near, far = setting(row="near", streams=2), RIVAL
    pair = pair_under(HALF_BATCH, SETTING, [Alternative(near, None), Alternative(far, None)], 4)
    assert pair is not None
    assert pair.rival.backend == "openvino"


def test_without_another_backend_it_is_the_best_row_that_still_differs_under_the_condition():
    same_but_for_batch, other = setting(row="a", label="a", batch=16), setting(row="b", streams=2)
    pair = pair_under(HALF_BATCH, SETTING, [Alternative(same_but_for_batch, None), Alternative(other, None)], 4)
    assert pair is not None
    assert pair.rival.row == "b"
    assert pair_under(HALF_BATCH, SETTING, [Alternative(same_but_for_batch, None)], 4) is None


def report(recommended: TunedSetting, leader: TunedSetting, **gains: float | None) -> TuningReport:
    found = tuple(
        Alternative(
            setting(row=row), None, None if value is None else Gain(value, low=value, high=value, is_preview=False)
        )
        for row, value in gains.items()
    )
    return TuningReport("m", "fps", None, "better", recommended, leader, found)


def test_rivals_are_ranked_by_how_far_they_are_behind_and_what_has_no_figures_is_none():
    found = ranked(report(SETTING, SETTING, slow=2.0, near=1.1, broken=None))
    assert [other.setting.row for other in found] == ["near", "slow"]


def test_where_the_leader_is_not_recommended_it_is_the_first_rival():
    found = ranked(report(SETTING, setting(row="leader"), **{SETTING.row: 1.01, "slow": 2.0}))
    assert [other.setting.row for other in found] == ["leader", "slow"]


def table(setting_row: CellResult, rival: CellResult, **changes: Any) -> GroupResult:
    return group(setting_row, rival, baseline=rival.id, **changes)


def flip(found: GroupResult) -> Flip:
    return flip_of(HALF_BATCH, Pair(SETTING, RIVAL), found, "run")


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ("faster", "kept"),
        ("slower", "flipped"),
        ("same", "same"),
        ("undecided", "undecided"),
        ("preview", "undecided"),
    ],
)
def test_the_interval_of_the_ratio_decides_who_wins(verdict: Any, outcome: str):
    found = flip(table(cell("ort", speedup=speedup(1.1, 1.05, 1.2, verdict)), cell("openvino")))
    assert (found.outcome, found.run, found.missing) == (outcome, "run", None)
    ranged = Gain(1.1, low=None, high=None, is_preview=True, range_low=1.05, range_high=1.2)
    assert found.gain == (ranged if verdict == "preview" else Gain(1.1, low=1.05, high=1.2, is_preview=False))


def test_where_the_setting_cannot_run_its_rival_wins_and_the_other_way_round():
    lost = flip(table(failed("ort"), cell("openvino")))
    assert (lost.outcome, [unable.side for unable in lost.unable]) == ("flipped", ["setting"])
    won = flip(table(cell("ort"), failed("openvino")))
    assert (won.outcome, [unable.side for unable in won.unable]) == ("kept", ["rival"])


def test_a_setting_above_the_latency_limit_loses_however_fast_it_is():
    slow = cell("ort", speedup=speedup(2.0, 1.9, 2.1), marks=(AboveMaxLatency(p90_ms=61.2),))
    found = flip(table(slow, cell("openvino")))
    assert (found.outcome, found.unable[0].reason) == ("flipped", "too-slow")


def test_where_neither_can_be_used_nobody_wins():
    found = flip(table(failed("ort"), failed("openvino")))
    assert (found.outcome, found.missing) == ("not-measured", "failed")


def test_a_table_that_was_interrupted_before_its_first_launch_says_so():
    found = flip(table(cell("ort"), cell("openvino"), stopped_by="interrupt"))
    assert (found.outcome, found.missing) == ("not-measured", "interrupted")


@pytest.mark.parametrize("reason", ["busy", "all-blocks-disagree", "throughput-disagrees"])
def test_a_flip_that_something_else_speaks_against_is_doubtful(reason: Any):
    lead = Lead("ort/fp32", "openvino/fp32", 1.1, low=1.05, high=1.2, launches=4, reason=reason)
    rows = cell("ort", speedup=speedup(1.1, 1.05, 1.2)), cell("openvino")
    assert flip(table(*rows, lead=lead)).is_doubtful
    assert not flip(table(*rows, lead=replace(lead, reason=None))).is_doubtful


def test_the_nearest_flip_is_that_of_the_nearest_condition():
    found = [
        Flip(ChangedCondition("batch", 4, 8, distance), SETTING, RIVAL, outcome)
        for distance, outcome in ((0.1, "kept"), (2.0, "flipped"), (1.0, "flipped"))
    ]
    nearest = nearest_flip(found)
    assert nearest is not None
    assert nearest.condition.distance == 1.0
    assert nearest_flip(found[:1]) is None


@pytest.mark.parametrize(
    ("left_s", "conditions_left", "share"), [(100, 5, 20), (100, 20, 10), (10, 20, 10), (9.9, 1, None)]
)
def test_near_conditions_get_what_an_interval_needs_and_the_last_none(
    left_s: float, conditions_left: int, share: float | None
):
    assert share_s(left_s, conditions_left, needed_s=10) == share


RECOMMENDED = TunedSetting("ort/fp32", "ort", "ort", 8, 2, 1, 1, "fp32")
SECOND = TunedSetting("openvino/fp32", "openvino", "openvino", 8, 2, 1, 1, "fp32")
REPORT = TuningReport(
    "m", "fps", None, "better", RECOMMENDED, RECOMMENDED,
    (Alternative(SECOND, None, Gain(1.1, low=1.05, high=1.2, is_preview=False)),), confirmation_run="CONFIRMED",
)  # fmt: skip
CONFIRMATION = group(cell("ort", launches_measured=10), cell("openvino", launches_measured=10), seconds=20.0)
"""A launch of a row takes a second, so that four launches of two rows take eight."""
AXES = ["neighbour", "batch", "batch", "threads", "streams"]

Measure = Callable[[RunRequest], GroupResult]


def two_rows(**changes: Any) -> GroupResult:
    won = cell("ort", speedup=speedup(1.1, 1.05, 1.2), launches_measured=4)
    return group(won, cell("openvino", launches_measured=4), **{"seconds": 8.0, **changes})


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan nothing: what is measured is made up."""

    def rows(_condition: ChangedCondition, pair: Pair, *_: object, **__: object) -> ConditionRows:
        return ConditionRows(RunRequest((), ()), cast("Any", None), pair)

    monkeypatch.setattr(flip_map, "condition_rows", rows)
    monkeypatch.setattr(flip_map, "surroundings", lambda *_, has_batches: Surroundings(2, has_batches))


def mapped(measure: Measure, budget_s: float = 200.0, report: TuningReport = REPORT, **run: Any) -> TuningReport:
    """Return the report with the flips of a search with this budget."""
    rows: Any = SimpleNamespace(request=RunRequest((), ()), has_batches=True)
    means = FlipMapMeans(
        Path(), lambda request, _: StoredRun(document(measure(request)), Path()), say=lambda _line: None
    )
    return with_flips(report, CONFIRMATION, TuneOptions("m", budget=budget_s, run=RunOptions(**run)), rows, means)


def missing(found: tuple[Flip, ...]) -> list[str | None]:
    return [flip.missing for flip in found]


def asked_of(**options: Any) -> list[RunRequest]:
    requests: list[RunRequest] = []

    def measure(request: RunRequest) -> GroupResult:
        requests.append(request)
        return two_rows()

    mapped(measure, **options)
    return requests


def test_every_condition_is_measured_and_none_but_the_first_beside_a_neighbour():
    found = mapped(lambda _: two_rows()).flips
    assert [flip.condition.axis for flip in found] == AXES
    assert {flip.outcome for flip in found} == {"kept"}
    assert [bool(request.timing.busy_processors) for request in asked_of()] == [True, False, False, False, False]


def test_conditions_share_half_of_the_budget():
    first, *_ = asked_of(budget_s=200.0)
    assert first.budget_s == pytest.approx(100 / 5)


def test_a_condition_gets_what_an_interval_needs_where_its_share_is_less():
    first, *_ = asked_of(budget_s=30.0)
    assert first.budget_s == pytest.approx(8)


def test_the_first_condition_is_measured_however_short_time_is():
    assert len(asked_of(budget_s=1.0)) >= 1


def test_runs_are_named_after_their_conditions():
    _, second, *_ = asked_of(name="mine", note="before the patch")
    assert second.asked.name == "mine batch 4"
    assert second.asked.note == "before the patch; flip map of CONFIRMED: batch 4"
    assert not asked_of()[0].asked.name


def test_an_interrupt_ends_the_map_and_keeps_what_was_measured():
    tables = iter([two_rows(), group(cell("ort"), cell("openvino"), stopped_by="interrupt")])
    found = mapped(lambda _: next(tables))
    assert found.is_flip_map_interrupted
    assert found.setting == RECOMMENDED
    assert missing(found.flips) == [None, *["interrupted"] * 4]


def test_an_interrupt_while_a_condition_is_planned_keeps_them_too(monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object) -> ConditionRows:
        raise KeyboardInterrupt

    monkeypatch.setattr(flip_map, "condition_rows", interrupt)
    found = mapped(lambda _: two_rows())
    assert found.is_flip_map_interrupted
    assert missing(found.flips) == ["interrupted"] * 5


def test_a_condition_that_cannot_be_planned_is_told_and_the_others_are_measured(monkeypatch: pytest.MonkeyPatch):
    usual = flip_map.condition_rows

    def refuse_streams(condition: ChangedCondition, *arguments: Any, **options: Any) -> ConditionRows:
        if condition.axis == "streams":
            raise IrbenchError("no streams here", hint="")
        return usual(condition, *arguments, **options)

    monkeypatch.setattr(flip_map, "condition_rows", refuse_streams)
    *others, last = mapped(lambda _: two_rows()).flips
    assert (last.missing, last.message) == ("impossible", "no streams here")
    assert missing(tuple(others)) == [None] * 4


def test_a_table_whose_neighbour_ended_is_not_used():
    def measure(request: RunRequest) -> GroupResult:
        if request.timing.busy_processors:
            raise NeighbourEnded("it ended early", hint="")
        return two_rows()

    first, *others = mapped(measure).flips
    assert (first.outcome, first.missing) == ("not-measured", "neighbour-ended")
    assert missing(tuple(others)) == [None] * 4


def test_without_another_setting_nothing_is_measured():
    assert (
        mapped(lambda _: two_rows(), report=TuningReport("m", "fps", None, "better", RECOMMENDED, RECOMMENDED)).flips
        == ()
    )
    assert mapped(lambda _: two_rows(), report=TuningReport("m", "fps", None, "nothing")).flips == ()
