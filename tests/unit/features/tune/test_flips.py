"""How the conditions of a flip map share their time, and what is kept of them however they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from documents import cell, document, group, speedup

from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.tune import flips
from irbench.features.tune.flip_map import ConditionRows, FlipMapMeans, Pair, Surroundings, with_flips
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import Alternative, Condition, Flip, Gain, TunedSetting, TuningReport
from irbench.options.run import RunOptions
from irbench.runner.neighbours import NeighbourEnded
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun

SETTING = TunedSetting("ort/fp32", "ort", "ort", 8, 2, 1, 1, "fp32")
RIVAL = TunedSetting("openvino/fp32", "openvino", "openvino", 8, 2, 1, 1, "fp32")
REPORT = TuningReport(
    "m", "fps", None, "better", SETTING, SETTING,
    (Alternative(RIVAL, None, Gain(1.1, low=1.05, high=1.2, is_preview=False)),), confirmation_run="CONFIRMED",
)  # fmt: skip
CONFIRMATION = group(cell("ort", launches_measured=10), cell("openvino", launches_measured=10), seconds=20.0)
"""A launch of a row takes a second, so that four launches of two rows take eight."""
AXES = ["neighbour", "batch", "batch", "threads", "streams"]

Measure = Callable[[RunRequest], GroupResult]


def table(**changes: Any) -> GroupResult:
    won = cell("ort", speedup=speedup(1.1, 1.05, 1.2), launches_measured=4)
    return group(won, cell("openvino", launches_measured=4), **{"seconds": 8.0, **changes})


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan nothing: what is measured is made up."""

    def rows(_condition: Condition, pair: Pair, *_: object, **__: object) -> ConditionRows:
        return ConditionRows(RunRequest((), ()), cast("Any", None), pair)

    monkeypatch.setattr(flips, "condition_rows", rows)
    monkeypatch.setattr(flips, "surroundings", lambda *_, has_batches: Surroundings(2, has_batches))


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
        return table()

    mapped(measure, **options)
    return requests


def test_every_condition_is_measured_and_none_but_the_first_beside_a_neighbour():
    found = mapped(lambda _: table()).flips
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
    assert second.name == "mine batch 4"
    assert second.note == "before the patch; flip map of CONFIRMED: batch 4"
    assert not asked_of()[0].name


def test_an_interrupt_ends_the_map_and_keeps_what_was_measured():
    tables = iter([table(), group(cell("ort"), cell("openvino"), stopped_by="interrupt")])
    found = mapped(lambda _: next(tables))
    assert found.is_flip_map_interrupted
    assert found.setting == SETTING
    assert missing(found.flips) == [None, *["interrupted"] * 4]


def test_an_interrupt_while_a_condition_is_planned_keeps_them_too(monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object) -> ConditionRows:
        raise KeyboardInterrupt

    monkeypatch.setattr(flips, "condition_rows", interrupt)
    found = mapped(lambda _: table())
    assert found.is_flip_map_interrupted
    assert missing(found.flips) == ["interrupted"] * 5


def test_a_condition_that_cannot_be_planned_is_told_and_the_others_are_measured(monkeypatch: pytest.MonkeyPatch):
    usual = flips.condition_rows

    def refuse_streams(condition: Condition, *arguments: Any, **options: Any) -> ConditionRows:
        if condition.axis == "streams":
            raise IrbenchError("no streams here", hint="")
        return usual(condition, *arguments, **options)

    monkeypatch.setattr(flips, "condition_rows", refuse_streams)
    *others, last = mapped(lambda _: table()).flips
    assert (last.missing, last.message) == ("impossible", "no streams here")
    assert missing(tuple(others)) == [None] * 4


def test_a_table_whose_neighbour_ended_is_not_used():
    def measure(request: RunRequest) -> GroupResult:
        if request.timing.busy_processors:
            raise NeighbourEnded("it ended early", hint="")
        return table()

    first, *others = mapped(measure).flips
    assert (first.outcome, first.missing) == ("not-measured", "neighbour-ended")
    assert missing(tuple(others)) == [None] * 4


def test_without_another_setting_nothing_is_measured():
    assert mapped(lambda _: table(), report=TuningReport("m", "fps", None, "better", SETTING, SETTING)).flips == ()
    assert mapped(lambda _: table(), report=TuningReport("m", "fps", None, "nothing")).flips == ()
