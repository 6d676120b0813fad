"""What is recommended after the confirmation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import launches
import pytest

from irbench.features.tune.decision import (
    Comparison,
    PairEvidence,
    RowTraits,
    TuneDecision,
    comparison_of,
    complexity,
    decide,
    deciding_budget_s,
    pareto_front,
    row_traits,
    search_notes,
    whole_search_s,
    with_one_budget,
)
from irbench.features.tune.report import FewSettingsTried, FrontPoint, ReferenceKind, Reservation, TunedSetting
from irbench.spec import Goal, Objective, Timing
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.intervals import Bound, Interval
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import observe, observe_otherwise
from irbench.stats.winner import LeadEstimate, find_winner

REFERENCES: Mapping[str, ReferenceKind] = {"default": "default", "hint": "hint"}


def behind(low: float, high: float, *, sure: bool = True) -> Interval:
    return Interval((low + high) / 2, low, high, 4, 0.95 if sure else None, Bound(1, 0.0))


def lead(leader: str | None, **rivals: Interval) -> LeadEstimate:
    return LeadEstimate(leader, None, None, rivals)


def apart(near: Interval, far: Interval) -> Interval:
    """Return the lead of a row over another one, of the leader's leads over both."""
    low, high = far.low - near.high, far.high - near.low
    sure = None if near.confidence is None or far.confidence is None else 0.95
    return Interval(far.value - near.value, low, high, 4, sure, Bound(1, 0.0))


TRAITS = {"default": RowTraits((0,)), "hint": RowTraits((1,)), "found": RowTraits((2,)), "other": RowTraits((3,))}


def decided(
    found: LeadEstimate,
    /,
    able: tuple[str, ...] = ("found", "default", "hint"),
    traits: Mapping[str, RowTraits] = TRAITS,
    references: Mapping[str, ReferenceKind] = REFERENCES,
    others: Mapping[str, Mapping[str, Interval]] = MappingProxyType({}),
    **evidence: Any,
) -> TuneDecision:
    """Return what follows from the leader's leads, and from those of ``others``; pairs without one from both leads."""

    def compared(row: str) -> Comparison:
        if row == found.leader or found.leader is None:
            return Comparison(found.rivals, evidence)
        own = found.rivals[row]
        rivals = {other: apart(own, ahead) for other, ahead in found.rivals.items() if other != row}
        turned = {other: -leads[row] for other, leads in others.items() if row in leads}
        return Comparison({**rivals, found.leader: -own, **turned, **others.get(row, {})}, evidence)

    return decide(found.leader, able, references, compared, traits, within=0.02)


def recommended(found: LeadEstimate, **evidence: Any) -> tuple[str, str | None]:
    decision = decided(found, **evidence)
    return decision.conclusion, decision.row


def busy(*other_figures: Interval) -> PairEvidence:
    return PairEvidence("busy", other_figures)


def test_a_setting_is_recommended_that_is_surely_better_than_every_reference():
    assert recommended(lead("found", default=behind(0.2, 0.4), hint=behind(0.01, 0.2))) == ("better", "found")


def at(latency_ms: float, *complexity: int) -> RowTraits:
    """Return a row whose p50 was the same in four launches."""
    return RowTraits(complexity, dict.fromkeys(range(4), latency_ms))


RESNET50 = lead("x4", hint=behind(math.log(0.97), math.log(1.09)), default=behind(math.log(0.98), math.log(1.14)))
"""30.5 FPS against 29.7 and 28.7."""


def test_four_times_the_latency_is_no_price_for_frames_that_may_be_noise():
    traits = {"x4": at(129, 2, 3), "hint": at(132, 1, 2), "default": at(33, 0, 0)}
    decision = decided(RESNET50, ("x4", "hint", "default"), traits)
    assert (decision.row, decision.leader, decision.conclusion) == ("default", "x4", "undecided")
    reasons = [(each.reason, each.row) for each in decision.reservations]
    assert reasons == [("interval-includes-1", "default"), ("may-be-better", "hint")]


def test_of_settings_that_are_as_good_one_with_a_clearly_lower_latency_is_recommended():
    traits = {"x4": at(129, 2, 3), "hint": at(33, 1, 2), "default": at(132, 0, 0)}
    assert decided(RESNET50, ("x4", "hint", "default"), traits).row == "hint"
    traits = {"x4": at(33, 2, 3), "hint": at(132, 1, 2), "default": at(132, 0, 0)}
    leads = decided(RESNET50, ("x4", "hint", "default"), traits)
    assert (leads.row, leads.conclusion, leads.is_confirmed) == ("x4", "undecided", False)


def test_a_latency_that_is_higher_in_some_launches_alone_does_not_count():
    scatters = RowTraits((0,), {0: 33.0, 1: 34.0, 2: 32.0, 3: 35.0})
    traits = {"x4": at(33, 2, 3), "hint": at(40, 1, 2), "default": scatters}
    assert decided(RESNET50, ("x4", "hint", "default"), traits).row == "default"


def test_of_equal_latencies_the_simplest_is_recommended_and_then_the_best():
    traits = {"x4": at(33, 2, 3), "hint": at(33, 1, 2), "default": at(33.2, 0, 0)}
    assert decided(RESNET50, ("x4", "hint", "default"), traits).row == "default"
    two = lead("x4", default=behind(0, 0.1), hint=behind(-0.05, 0.1))
    assert decided(two, ("x4", "hint", "default"), dict.fromkeys(("x4", "hint", "default"), at(33, 0))).row == "x4"


def test_a_setting_that_is_as_good_as_the_best_at_a_lower_latency_is_recommended_in_its_place():
    found = lead("found", other=behind(-0.02, 0.06), default=behind(0.2, 0.4), hint=behind(0.1, 0.2))
    traits = {"found": at(129, 2, 3), "other": at(33, 2, 2), "hint": at(132, 1), "default": at(33, 0)}
    leads = {"found": behind(-0.06, 0.02), "default": behind(0.1, 0.4), "hint": behind(0.05, 0.2)}
    decision = decided(found, (*traits,), traits, others={"other": leads})
    assert (decision.row, decision.leader, decision.conclusion) == ("other", "found", "better")
    assert decision.is_confirmed


def test_against_a_reference_with_a_higher_latency_a_setting_need_not_be_better():
    found = lead("found", other=behind(-0.02, 0.06), default=behind(0.2, 0.4), hint=behind(0.1, 0.2))
    traits = {"found": at(129, 2, 3), "other": at(33, 2, 2), "hint": at(132, 1), "default": at(33, 0)}
    for low, expected in ((-0.01, ("same", ())), (-0.1, ("undecided", (Reservation("interval-includes-1", "hint"),)))):
        leads = {"found": behind(-0.06, 0.02), "default": behind(0.1, 0.4), "hint": behind(low, 0.2)}
        decision = decided(found, (*traits,), traits, others={"other": leads})
        assert (decision.row, decision.conclusion, decision.reservations) == ("other", *expected)


def test_a_setting_that_is_not_known_to_be_better_than_the_default_does_not_take_the_place_of_one_that_is():
    found = lead("found", other=behind(-0.02, 0.06), default=behind(0.05, 0.2))
    traits = {"found": at(129, 2, 3), "other": at(33, 2, 2), "default": at(33, 0)}
    decision = decided(found, (*traits,), traits, others={"other": {"default": behind(-0.01, 0.2)}})
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("found", "better", True)


def test_a_gain_that_another_setting_than_the_best_is_known_to_have_is_not_given_up():
    """The best one scatters, so that it is not known to be better than the default."""
    found = lead("found", other=behind(-0.05, 0.09), default=behind(-0.01, 0.17))
    traits = {"found": at(33, 2, 3), "other": at(33, 2, 2), "default": at(33, 0)}
    decision = decided(found, (*traits,), traits, others={"other": {"default": behind(0.04, 0.08)}})
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("other", "better", True)


def test_a_hint_that_is_not_known_to_be_better_than_the_default_does_not_take_the_place_of_a_setting_that_is():
    found = lead("found", hint=behind(-0.01, 0.09), default=behind(0.03, 0.13))
    decision = decided(found, others={"hint": {"default": behind(-0.03, 0.1)}})
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("found", "undecided", False)
    assert decided(found, others={"hint": {"default": behind(0.03, 0.1)}}).row == "hint"


def test_a_default_is_not_confirmed_while_another_row_may_be_better():
    same = lead("found", default=behind(-0.015, 0.015), other=behind(-0.005, 0.1))
    able, leads = ("found", "other", "default"), {"other": {"default": behind(-0.1, 0.11)}}
    decision = decided(same, able, others=leads)
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("default", "undecided", False)
    assert decision.reservations == (Reservation("may-be-better", "other"),)
    assert decided(same, able, others={"other": {"default": behind(-0.1, 0.01)}}).is_confirmed


def test_a_setting_is_not_confirmed_as_the_same_while_something_speaks_against_it():
    traits = {"found": at(10, 2, 3), "default": at(20, 0)}
    found = lead("default", found=behind(-0.004, 0.015))
    assert decided(found, (*traits,), traits).is_confirmed
    decision = decided(found, (*traits,), traits, default=PairEvidence("busy"))
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("found", "undecided", False)


def test_a_setting_that_is_surely_better_is_worth_its_latency():
    traits = {"found": at(129, 2, 3), "hint": at(132, 1), "default": at(33, 0)}
    decision = decided(lead("found", default=behind(0.2, 0.4), hint=behind(0.05, 0.2)), (*traits,), traits)
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("found", "better", True)


def test_a_sure_lead_that_is_expected_to_be_within_what_counts_is_not_worth_the_latency():
    traits = {"found": at(129, 2, 3), "default": at(33, 0)}
    decision = decided(lead("found", default=behind(0.001, 0.025)), (*traits,), traits)
    assert (decision.row, decision.conclusion) == ("default", "undecided")
    assert decision.reservations == (Reservation("same", "default"),)


def test_the_default_is_recommended_in_place_of_a_hint_that_leads_by_what_may_be_noise():
    hint = lead("hint", default=behind(-0.02, 0.06), found=behind(0.1, 0.3))
    assert recommended(hint) == ("undecided", "default")
    assert recommended(lead("hint", default=behind(0.1, 0.2), found=behind(0.1, 0.3))) == ("reference", "hint")


def test_a_setting_that_counts_as_the_same_at_a_lower_latency_is_confirmed():
    traits = {"found": at(20, 2, 3), "default": at(33, 0)}
    decision = decided(lead("found", default=behind(-0.01, 0.015)), (*traits,), traits)
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("found", "same", True)


def test_a_setting_is_simple_by_how_many_of_its_settings_differ_from_the_default():
    default = TunedSetting("d", "ort", "ort", 1, None, 1, 1, "fp32")
    hint = replace(default, row="h", streams=2, options={"PERFORMANCE_HINT": "THROUGHPUT"})
    ordered: list[tuple[TunedSetting, ReferenceKind | None]] = [
        (default, "default"),
        (hint, "hint"),
        (replace(default, threads=1), None),
        (replace(default, threads=2), None),
        (replace(default, streams=2), None),
        (replace(default, streams=4), None),
        (replace(default, threads=1, instances=2), None),
        (replace(default, threads=1, instances=2, optimize="extended"), None),
        (replace(default, threads=1, instances=2, batch=4, precision="bf16"), None),
    ]
    found = [complexity(setting, kind, default) for setting, kind in ordered]
    assert found == sorted(found)
    assert len(set(found)) == len(found)


def test_latency_counts_where_frames_or_cost_are_asked_for_and_not_where_it_is_the_figure():
    levels = {"tuned": [1.0, 1.1], "default": [2.0, 2.2]}
    expected: dict[Objective, dict[int, float]] = {"fps": {0: 2.0, 1: 2.2}, "cost": {0: 2.0, 1: 2.2}, "latency": {}}
    for objective, latencies in expected.items():
        table = state(levels)
        table = replace(table, group=replace(table.group, goal=Goal(objective)))
        assert row_traits(table, KINDS)["default"].latency_ms == pytest.approx(latencies)


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
    close = lead("found", default=behind(0.2, 0.4, sure=False), hint=behind(-0.1, 0.14, sure=False))
    assert recommended(close) == ("preview", "hint")


def test_without_a_comparison_a_reference_that_runs_is_recommended():
    assert recommended(lead(None)) == ("reference", "default")
    assert decided(lead(None), ()).conclusion == "nothing"


def test_without_any_reference_to_compare_with_nothing_is_called_better():
    found = lead("found", other=behind(0.2, 0.4))
    assert decided(found, ("found", "other"), references={}).conclusion == "unopposed"
    assert decided(lead(None), ("found",), references={}).conclusion == "unopposed"


def test_a_setting_is_confirmed_where_every_interval_excludes_1_and_nothing_speaks_against_it():
    sure = decided(lead("found", default=behind(0.2, 0.4), hint=behind(0.01, 0.2)))
    assert sure.is_confirmed
    assert not sure.reservations


def test_a_busy_machine_does_not_turn_a_clear_gain_into_the_default():
    """The lead over the default is beyond any disturbance seen, whatever the rows beside it do."""
    found = lead("found", other=behind(-0.1, 0.1), default=behind(1.9, 2.4), hint=behind(0.5, 0.9))
    by_all_figures = busy(behind(1.8, 2.5), behind(1.8, 2.5))
    decision = decided(found, default=by_all_figures, hint=busy(behind(0.4, 0.9)))
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("doubtful", "found", False)
    assert [(each.reason, each.row) for each in decision.reservations] == [("busy", "default"), ("busy", "hint")]


@pytest.mark.parametrize(
    "other_figure",
    [behind(-0.1, 0.3), behind(-0.5, -0.3)],
    ids=["another figure includes 1", "another figure is below"],
)
def test_a_doubtful_lead_that_another_figure_does_not_show_is_not_recommended(other_figure: Interval):
    found = lead("found", default=behind(0.04, 0.12), hint=behind(0.2, 0.3))
    doubted = {"default": busy(other_figure), "hint": busy(behind(0.2, 0.3))}
    assert recommended(found, **doubted) == ("doubtful", "default")


def test_a_doubt_about_one_reference_does_not_speak_for_another():
    found = lead("found", default=behind(0.2, 0.4), hint=behind(0.1, 0.2))
    decision = decided(found, hint=PairEvidence("throughput-disagrees", (behind(0.05, 0.2),)))
    assert (decision.row, [each.row for each in decision.reservations]) == ("found", ["hint"])


@pytest.mark.parametrize(("sure", "conclusion"), [(True, "undecided"), (False, "preview")], ids=["sure", "few"])
def test_a_lead_whose_interval_includes_1_decides_only_where_it_is_large(sure: bool, conclusion: str):
    small, large = behind(-0.1, 0.25, sure=sure), behind(-0.1, 0.35, sure=sure)
    hint = behind(0.1, 0.5, sure=sure)
    assert recommended(lead("found", default=small, hint=hint)) == (conclusion, "default")
    assert recommended(lead("found", default=large, hint=hint)) == (conclusion, "found")


def test_a_lead_that_is_smaller_than_what_counts_is_the_same_and_the_reference_stays():
    decision = decided(lead("found", default=behind(0.2, 0.4), hint=behind(-0.005, 0.015)))
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("same", "hint", True)


def test_a_reference_that_leads_is_confirmed_where_no_setting_can_be_better_by_what_counts():
    assert decided(lead("default", found=behind(0.01, 0.2))).is_confirmed
    assert not decided(lead("default", found=behind(-0.1, 0.2))).is_confirmed
    assert not decided(lead("default", found=behind(0.01, 0.2, sure=False))).is_confirmed
    assert not decided(lead("default", hint=behind(-0.1, 0.2))).is_confirmed
    assert decided(lead("default", hint=behind(-0.01, 0.2))).is_confirmed


def test_one_launch_hardly_ahead_does_not_replace_the_default():
    one = Interval(0.001, 0.001, 0.001, 1, None, Bound(1, 0.0))
    assert recommended(lead("found", default=one, hint=one)) == ("preview", "default")


def test_a_default_that_leads_is_open_where_something_speaks_against_it():
    decision = decided(lead("default", found=behind(0.1, 0.2)), ("default",), found=busy())
    assert (decision.row, decision.is_confirmed) == ("default", False)
    assert [(each.reason, each.row) for each in decision.reservations] == [("busy", "found")]
    alone = decided(lead("found", other=behind(0.2, 0.4)), ("found", "other"), references={}, other=busy())
    assert (alone.conclusion, alone.is_confirmed) == ("unopposed", False)


def test_the_same_as_one_reference_is_open_where_another_may_be_better():
    found = lead("found", default=behind(-0.3, 0.5), hint=behind(-0.005, 0.015))
    decision = decided(found, traits={**TRAITS, "default": RowTraits((4,))})
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("undecided", "hint", False)
    assert [each.row for each in decision.reservations] == ["default"]


def test_a_load_beside_one_row_alone_leaves_no_figure_to_go_by():
    uneven = PairEvidence("uneven-load", (behind(1.8, 2.5),))
    found = lead("found", default=behind(1.9, 2.4), hint=behind(2.5, 2.9))
    assert recommended(found, default=uneven, hint=uneven) == ("doubtful", "default")


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


KINDS: Any = {"default": "default", "hint": "hint"}


def state(levels_ms: Mapping[str, Sequence[float]], *, foreign_ns: int = 0, seconds: float = 40.0) -> TableState:
    """Return a table whose rows take these times in each launch, each block disturbed where others computed."""
    group = replace(launches.group(*levels_ms), goal=Goal("fps"))
    records = [
        replace(
            record, blocks=tuple(replace(block, foreign_cpu_ns=foreign_ns) for block in record.blocks), processors=1
        )
        for record in launches.even(levels_ms)
    ]
    observed = observe(group, records, Timing())
    rows: Any = {cell.id: SimpleNamespace(batch=1, fps=None, latency_ms=None) for cell in group.cells}
    eligibility = decide_eligibility(group, records, Admission())
    otherwise = observe_otherwise(group, records, observed, Timing())
    return TableState(group, records, observed, otherwise, eligibility, rows, Timing(), "budget", seconds)


def judged(found: TableState) -> Any:
    leader = find_winner(found.launches, found.eligibility.candidates, found.timing).leader
    assert leader is not None
    compared = partial(comparison_of, found)
    traits = row_traits(found, KINDS)
    decision = decide(leader, found.eligibility.candidates, KINDS, compared, traits, found.timing.within)
    lead = compared(leader)
    return lead.rivals, lead.evidence, decision


NINE_TIMES = {"tuned": [1.0] * 6, "other": [1.01] * 6, "default": [9.0] * 6}


def test_on_a_quiet_machine_nothing_speaks_against_a_lead():
    _, evidence, decision = judged(state(NINE_TIMES))
    assert evidence["default"].doubt is None
    assert decision.conclusion == "better"


def test_a_busy_machine_speaks_against_each_pair_and_every_figure_still_shows_the_lead():
    busy = state(NINE_TIMES, foreign_ns=launches.BLOCK_NS)
    lead, evidence, decision = judged(busy)
    assert evidence["default"].doubt == "busy"
    assert len(evidence["default"].other_figures) == 2
    assert all(figure.low > 2 for figure in evidence["default"].other_figures)
    assert (decision.row, decision.is_confirmed) == ("tuned", False)
    assert deciding_budget_s(busy, lead, decision.reservations, 100.0) is None


def test_a_lead_that_scatters_names_the_budget_that_should_tell():
    wide = state({"tuned": [1.0, 1.1, 0.9, 1.0], "default": [1.15] * 4})
    lead, _, decision = judged(wide)
    assert decision.reservations == (Reservation("interval-includes-1", "default"),)
    budget_s = deciding_budget_s(wide, lead, decision.reservations, 100.0)
    assert budget_s is not None
    assert budget_s > 100 + 40
    assert budget_s % 60 == 0


def test_with_too_few_launches_the_budget_is_that_of_enough():
    few = state({"tuned": [1.0, 1.0], "default": [1.5, 1.5]}, seconds=20.0)
    lead, _, decision = judged(few)
    assert decision.conclusion == "preview"
    budget_s = deciding_budget_s(few, lead, decision.reservations, 100.0)
    assert budget_s is not None
    assert budget_s >= 100 + 4 * 10


def test_a_difference_that_no_launches_would_show_names_no_budget():
    close = state({"tuned": [1.0, 1.6, 0.6, 1.0], "default": [1.001] * 4})
    lead, _, decision = judged(close)
    assert decision.reservations
    assert deciding_budget_s(close, lead, decision.reservations, 100.0) is None


def test_what_is_confirmed_needs_no_budget():
    found = state(NINE_TIMES)
    lead, _, decision = judged(found)
    assert deciding_budget_s(found, lead, decision.reservations, 100.0) is None


def test_a_search_that_ran_out_of_time_with_few_settings_says_what_would_do():
    (note,) = search_notes(5, 180, "budget", search_s=150.0, rest_s=120.0)
    assert note == FewSettingsTried(tried=5, settings=180, enough=40, budget_s=1320.0)


@pytest.mark.parametrize(
    ("tried", "settings", "stopped_by"), [(20, 180, "budget"), (5, 180, "searched"), (6, 6, "budget"), (0, 9, "budget")]
)
def test_a_search_that_tried_enough_says_nothing(tried: int, settings: int, stopped_by: Any):
    assert search_notes(tried, settings, stopped_by, 150.0, 120.0) == ()


def test_more_time_is_the_searchs_first_until_it_has_tried_enough():
    assert whole_search_s(10, 180, "budget", 150.0) == 600.0
    assert whole_search_s(10, 180, "searched", 150.0) == 150.0
    assert whole_search_s(40, 180, "budget", 150.0) == 150.0
    assert whole_search_s(0, 180, "budget", 150.0) == 150.0


def test_one_budget_is_named():
    notes = search_notes(5, 180, "budget", search_s=150.0, rest_s=120.0)
    deciding_s, named = with_one_budget(420.0, notes)
    assert deciding_s == 1320.0
    assert named == notes
    (note,) = with_one_budget(2000.0, notes)[1]
    assert isinstance(note, FewSettingsTried)
    assert note.budget_s == 2000.0
    assert with_one_budget(None, notes) == (None, notes)
    assert with_one_budget(420.0, ()) == (420.0, ())
