"""Which setting is recommended by the rates of requests between which each ceases to keep a service level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from cold_and_soak_runs import serving_example
from launches import group

from irbench.core.serving_row import LevelTest, LoadLimit, ServingRow, ServingTable
from irbench.features.tune.decision import TuneDecision
from irbench.features.tune.launch_costs import LaunchCosts
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import Gain, HeldRate, ReferenceKind, ReservationReason
from irbench.features.tune.service_level import (
    ConfirmationByRequests,
    adjusted_confidence,
    decide_by_rates,
    deciding_budget_s,
    doubts_of,
    gain_over,
    held_rates,
)
from irbench.spec import Goal, Timing
from irbench.spec.serving import ServiceLevel

DEFAULTS: Mapping[str, ReferenceKind] = {"default": "default"}
REFERENCES: Mapping[str, ReferenceKind] = {"openvino": "default"}
RANKS: Mapping[ReferenceKind | None, int] = {"default": 0, "hint": 1}


def by_rates(
    held: Mapping[str, HeldRate], references: Mapping[str, ReferenceKind], doubts: Sequence[ReservationReason] = ()
) -> TuneDecision:
    return decide_by_rates(held, references, {row: (RANKS.get(references.get(row), 2),) for row in held}, doubts)


def held(per_s: float | None, passes: float | None, fails: float | None) -> HeldRate:
    return HeldRate(per_s, passes, fails)


def test_a_setting_that_passes_where_every_reference_fails_is_confirmed() -> None:
    rates = {"found": held(41, 40, 43), "default": held(20, 19, 21), "hint": held(None, None, 5)}
    decision = by_rates(rates, {"default": "default", "hint": "hint"})
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("better", "found", True)


@pytest.mark.parametrize(
    ("default", "recommended", "reason"),
    [
        (held(36, 30, 42), "found", "rates-overlap"),
        (held(40, 39, 42), "default", "rates-close"),
        (held(None, None, None), "found", "rates-overlap"),
    ],
    ids=["seems far behind", "is about the same", "was served too little"],
)
def test_where_rates_overlap_the_setting_is_recommended_if_it_seems_to_be_ahead(
    default: HeldRate, recommended: str, reason: str
) -> None:
    decision = by_rates({"found": held(41, 40, 43), "default": default}, DEFAULTS)
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("undecided", recommended, False)
    assert [(each.reason, each.row) for each in decision.reservations] == [(reason, "default")]


@pytest.mark.parametrize(
    ("doubt", "conclusion"), [("few-launches", "preview"), ("busy", "doubtful")], ids=["few launches", "a busy machine"]
)
@pytest.mark.parametrize("references", [{"default": "default"}, {"found": "default"}, {}], ids=["", "leads", "none"])
def test_what_speaks_against_every_difference_leaves_the_best_unconfirmed(
    doubt: ReservationReason, conclusion: str, references: Mapping[str, ReferenceKind]
) -> None:
    rates = {"found": held(41, 40, 43), "default": held(20, 19, 21)}
    assert by_rates(rates, references).is_confirmed
    decision = by_rates(rates, references, (doubt,))
    assert (decision.row, decision.is_confirmed) == ("found", False)
    assert [(each.reason, each.row) for each in decision.reservations] == [(doubt, "default")]
    if references == DEFAULTS:
        assert decision.conclusion == conclusion


def test_too_few_rounds_and_other_programs_speak_against_a_table() -> None:
    quiet = replace(table(), rounds=6, foreign_share=0.01)
    assert doubts_of(quiet) == ()
    assert doubts_of(replace(quiet, rounds=5)) == ("few-launches",)
    assert doubts_of(replace(quiet, foreign_share=0.2)) == ("busy",)
    assert doubts_of(replace(quiet, rounds=1, foreign_share=0.2)) == ("few-launches", "busy")


def test_the_chance_of_a_wrong_claim_is_divided_by_all_rates_of_all_rows() -> None:
    assert adjusted_confidence(0.95, 5) == pytest.approx(1 - 0.05 / 60)
    plan = confirmation(600)
    assert plan.timing_of(5).confidence == adjusted_confidence(plan.timing.confidence, 5)


def test_a_reference_that_holds_the_highest_rate_is_recommended() -> None:
    rates = {"found": held(30, 29, 31), "default": held(41, 40, 43)}
    decision = by_rates(rates, DEFAULTS)
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("reference", "default", True)
    near = by_rates({**rates, "found": held(40, 38, 42)}, DEFAULTS)
    assert (near.conclusion, near.row, near.is_confirmed) == ("reference", "default", False)


def test_the_simpler_of_two_settings_that_hold_the_same_rate_is_confirmed_by_its_own_rate() -> None:
    rates = {"fast": held(42, 41, 43), "simple": held(41, 40, 43), "default": held(20, 19, 21)}
    simple = {"fast": (2, 3), "simple": (2, 2), "default": (0,)}
    decision = decide_by_rates(rates, DEFAULTS, simple)
    assert (decision.row, decision.leader, decision.conclusion, decision.is_confirmed) == (
        "simple",
        "fast",
        "better",
        True,
    )


def test_a_setting_that_is_not_better_than_the_default_does_not_take_the_place_of_one_that_is() -> None:
    rates = {"fast": held(42, 41, 43), "simple": held(41, 40, 43), "default": held(40, 39, 40.5)}
    decision = decide_by_rates(rates, DEFAULTS, {"fast": (2, 3), "simple": (2, 2), "default": (0,)})
    assert (decision.row, decision.is_confirmed) == ("fast", True)


def test_a_default_is_not_recommended_that_another_row_than_the_best_is_known_to_be_above() -> None:
    rates = {"fast": held(42, 38, 43), "simple": held(41, 41, 43), "default": held(40.5, 39, 40.9)}
    decision = decide_by_rates(rates, DEFAULTS, {"fast": (2, 3), "simple": (2, 2), "default": (0,)})
    assert (decision.row, decision.conclusion, decision.is_confirmed) == ("simple", "better", True)


def test_of_rates_that_a_search_does_not_tell_apart_the_simplest_setting_is_recommended() -> None:
    rates = {"found": held(42, 41, 43), "hint": held(41, 40, 43), "default": held(40, 39, 42)}
    kinds: Mapping[str, ReferenceKind] = {"hint": "hint", "default": "default"}
    decision = by_rates(rates, kinds)
    assert (decision.row, decision.leader, decision.conclusion) == ("default", "found", "undecided")
    assert by_rates({**rates, "found": held(20, 19, 21)}, kinds).row == "default"
    assert by_rates({**rates, "default": held(20, 19, 21)}, kinds).row == "hint"


def test_of_equal_rates_the_reference_is_recommended() -> None:
    same = held(41, 40, 43)
    assert by_rates({"found": same, "default": same}, DEFAULTS).row == "default"


def test_without_a_reference_the_best_is_unopposed_and_without_a_rate_there_is_nothing() -> None:
    decision = by_rates({"found": held(41, 40, 43), "other": held(20, 19, 22)}, {})
    assert (decision.conclusion, decision.row, decision.is_confirmed) == ("unopposed", "found", True)
    assert by_rates({"found": held(None, None, 3)}, {"found": "default"}).conclusion == "nothing"
    assert by_rates({}, {}).row is None


def test_a_gain_reaches_from_the_rate_that_passes_over_the_one_that_fails() -> None:
    gain = gain_over(held(41, 40, 44), held(20, 10, 25))
    assert gain is not None
    assert (gain.value, gain.low, gain.high) == pytest.approx((2.05, 1.6, 4.4))
    assert gain_over(held(41, 40, None), held(20, 10, 25)) == Gain(2.05, is_preview=False)
    assert gain_over(held(41, 40, 44), held(None, None, 25)) is None


def table() -> ServingTable:
    (shown,) = serving_example().serving
    return shown


def test_a_rate_seems_to_be_held_below_the_lowest_that_is_not_whether_decided_or_not() -> None:
    rates = held_rates(table())
    assert rates == {"ort": held(40, 40, None), "openvino": held(None, None, 10)}  # tf served nothing


def test_a_rate_that_passes_is_held_also_where_a_lower_one_looks_broken_by_chance() -> None:
    (first, *_) = (row for row in table().rows if row.load is not None)
    assert first.load is not None
    tests = {100.0: LevelTest(1000, 11, "undecided"), 120.0: LevelTest(1000, 1, "pass")}
    rows = tuple(replace(first, load=replace(first.load, rate_per_s=rate, level=own)) for rate, own in tests.items())
    shown = replace(table(), rows=rows, limits=(LoadLimit(first.id, 120.0, 150.0),))
    assert held_rates(shown) == {first.id: held(120, 120, 150)}


def budget_of(shown: ServingTable, found: HeldRate, default: HeldRate, *doubts: ReservationReason) -> float | None:
    return deciding_budget_s(shown, by_rates({"ort": found, "openvino": default}, REFERENCES, doubts), 60.0)


def test_more_time_is_named_where_it_may_tell_rates_apart() -> None:
    shown = replace(table(), rows=tuple(_tested(row, 1000) for row in table().rows), rounds=6)
    found, apart, near, kept = held(41, 40, 43), held(36, 30, 42), held(40, 39, 42), held(20, 19, 21)
    budgets = [budget_of(shown, found, other) for other in (apart, near, kept)]
    assert budgets == [420.0, None, None]  # twice the two minutes of the table, which are 60 % of a budget
    few = replace(shown, rows=tuple(_tested(row, 10) for row in shown.rows))
    assert budget_of(few, found, apart) is None
    assert budget_of(shown, found, apart, "busy") is None


def test_more_time_is_named_for_the_row_with_the_fewest_requests() -> None:
    shown = replace(table(), rows=tuple(_tested(row, 1000 if row.id == "ort" else 100) for row in table().rows))
    budget_s = budget_of(shown, held(41, 40, 43), held(36, 30, 42))
    assert budget_s is not None
    assert budget_s > 420.0


def test_enough_rounds_are_named_where_rates_differ_after_too_few() -> None:
    shown = replace(table(), rounds=2)
    budget_s = budget_of(shown, held(41, 40, 43), held(20, 19, 21), "few-launches")
    assert budget_s == 720.0  # 1.2 times three times the two minutes, which are 60 % of a budget


def _tested(row: ServingRow, requests: int) -> ServingRow:
    if row.load is None:
        return row
    return replace(row, load=replace(row.load, level=LevelTest(requests, 0, "undecided")))


def test_calls_are_limited_by_a_level_of_the_slowest_requests_alone_and_their_limit_says_so() -> None:
    level = ServiceLevel(99, 50)
    assert TuneOptions("m", slo=level).goal == Goal("fps", 50, level)
    assert TuneOptions("m", slo=ServiceLevel(50, 50)).goal == Goal("fps")
    assert TuneOptions("m", max_latency=0.1).goal == Goal("fps", 100)


CELLS = {cell.id: cell for cell in group("a", "b", "c", "default").cells}
COSTS = LaunchCosts(CELLS, ())
P99 = ServiceLevel(99, 500)


def confirmation(seconds: float, level: ServiceLevel = P99) -> ConfirmationByRequests:
    return ConfirmationByRequests(CELLS, lambda _batch: ["default"], Timing(), level, 0.0, seconds)


def test_more_time_serves_more_settings_and_longer_loads() -> None:
    best = ["a", "b", "c"]
    few, many = (len(confirmation(600).affordable(best, COSTS, left_s)) for left_s in (30, 600))
    assert (few, many) == (1, 3)
    short, long = (confirmation(600).serving(best, COSTS, left_s).seconds for left_s in (100, 3000))
    assert short < long == 5.0
    assert confirmation(600).serving(best, COSTS, 0.0).seconds == 0.5


def test_a_level_of_fewer_slow_requests_is_served_longer() -> None:
    strict = confirmation(600, ServiceLevel(99.9, 500)).serving(["a"], COSTS, 1e6)
    assert strict.seconds > 3 * confirmation(600).serving(["a"], COSTS, 1e6).seconds
