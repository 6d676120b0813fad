"""What is recommended after the confirmation."""

from __future__ import annotations

import pytest

from irbench.stats.intervals import Bound, Interval
from irbench.stats.winner import LeadEstimate
from irbench.tuning.decision import decide, pareto_front
from irbench.tuning.report import FrontPoint, TunedSetting

REFERENCES = {"default": "default", "hint": "hint"}


def behind(low: float, high: float, *, sure: bool = True) -> Interval:
    return Interval((low + high) / 2, low, high, 4, 0.95 if sure else None, Bound(1, 0.0))


def lead(leader: str | None, **rivals: Interval) -> LeadEstimate:
    return LeadEstimate(leader, None, None, rivals)


def recommended(found: LeadEstimate) -> tuple[str, str | None]:
    decision = decide(found, ("found", "default", "hint"), REFERENCES)  # type: ignore[arg-type]
    return decision.conclusion, decision.row


def test_a_setting_is_recommended_that_is_surely_better_than_every_reference():
    assert recommended(lead("found", default=behind(0.2, 0.4), hint=behind(0.01, 0.2))) == ("better", "found")


def test_other_settings_of_the_search_may_be_as_good():
    found = lead("found", other=behind(-0.1, 0.1), default=behind(0.2, 0.4), hint=behind(0.1, 0.2))
    assert recommended(found) == ("better", "found")


def test_where_one_reference_may_be_as_good_it_is_recommended():
    assert recommended(lead("found", default=behind(0.2, 0.4), hint=behind(-0.01, 0.1))) == ("undecided", "hint")


def test_where_a_reference_leads_it_is_recommended():
    assert recommended(lead("hint", default=behind(0.2, 0.4), found=behind(-0.1, 0.1))) == ("reference", "hint")


def test_with_too_few_launches_a_setting_that_was_always_better_is_a_preview():
    few = lead("found", default=behind(0.2, 0.4, sure=False), hint=behind(0.1, 0.2, sure=False))
    assert recommended(few) == ("preview", "found")
    close = lead("found", default=behind(0.2, 0.4, sure=False), hint=behind(-0.1, 0.2, sure=False))
    assert recommended(close) == ("undecided", "hint")


def test_without_a_comparison_a_reference_that_runs_is_recommended():
    assert recommended(lead(None)) == ("reference", "default")
    assert decide(lead(None), (), {}) == decide(lead(None), (), REFERENCES)  # type: ignore[arg-type]


def test_without_any_reference_to_compare_with_nothing_is_called_better():
    found = lead("found", other=behind(0.2, 0.4))
    assert decide(found, ("found", "other"), {}).conclusion == "unopposed"
    assert decide(lead(None), ("found",), {}).conclusion == "unopposed"


def test_a_lead_that_something_else_speaks_against_is_not_recommended():
    found = lead("found", default=behind(0.2, 0.4), hint=behind(0.1, 0.2))
    decision = decide(found, ("found", "default", "hint"), REFERENCES, is_doubtful=True)  # type: ignore[arg-type]
    assert (decision.conclusion, decision.row, decision.leader) == ("doubtful", "hint", "found")


def point(latency_ms: float, fps: float) -> FrontPoint:
    setting = TunedSetting(f"{latency_ms}/{fps}", "ort", "ort", 1, 1, 1, 1, "fp32")
    return FrontPoint(setting, latency_ms, fps, is_confirmed=False)


def test_the_front_holds_what_nothing_is_better_than_in_both():
    points = [point(5, 100), point(10, 150), point(7, 90), point(10, 140), point(4, 50), point(20, 150)]
    assert [(each.latency_ms, each.fps) for each in pareto_front(points, within=0.02)] == [(4, 50), (5, 100), (10, 150)]


@pytest.mark.parametrize("count", [0, 1])
def test_a_front_of_few_points_holds_them(count: int):
    assert len(pareto_front([point(1, 1)] * count, within=0.02)) == count


def test_frames_per_second_that_count_as_the_same_make_no_further_point():
    points = [point(5, 100), point(6, 101), point(7, 103)]
    assert [each.fps for each in pareto_front(points, within=0.02)] == [100, 103]
