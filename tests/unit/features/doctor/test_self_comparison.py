"""A backend against itself: the outcome, its message, and the smallest difference that such a run finds."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from documents import cell, document, failed, group, speedup

from irbench.core.row import Verdict
from irbench.features.doctor.self_comparison import (
    FOUND,
    SelfComparison,
    chance_of_faster,
    judge_self_comparison,
    smallest_difference,
)
from irbench.features.doctor.view import self_comparison_message
from irbench.spec import Timing
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.speedups import verdict
from irbench.stats.stopping_rule import unit_half_width


def self_comparison(value: float, low: float, high: float, verdict: Verdict, launches: int = 7) -> SelfComparison:
    again = cell("ort", speedup=speedup(value, low, high, verdict))
    return judge_self_comparison(document(group(again, cell("ort"), launches=launches)), Path("runs/x"), Timing())


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict", "outcome", "said"),
    [
        (1.0, 0.99, 1.01, "same", "passed", "Passed: ort against itself is 1.00x [0.99, 1.01], within ±2 %."),
        (
            1.01,
            1.006,
            1.014,
            "same",
            "passed",
            "[1.006, 1.014]: it differs from itself by 1.0 %, inside the ±2 % that counts as the same.",
        ),
        (1.0, 0.96, 1.03, "undecided", "undecided", "Undecided"),
        (1.05, 1.03, 1.08, "faster", "failed", "a difference was found where there is none"),
        (0.95, 0.93, 0.97, "slower", "failed", "a difference was found where there is none"),
        (
            1.0,
            0.99,
            1.01,
            "preview",
            "undecided",
            "only 3 of the 4 required launches fit into the budget. Allow more time",
        ),
    ],
)
def test_not_different_passes_and_different_fails(
    value: float, low: float, high: float, verdict: Verdict, outcome: str, said: str
) -> None:
    found = self_comparison(value, low, high, verdict, launches=3 if verdict == "preview" else 7)
    assert found.outcome == outcome
    assert said in self_comparison_message(found)


def test_a_passed_run_says_how_small_a_difference_its_length_finds() -> None:
    found = self_comparison(1.0, 1 / 1.002, 1.002, "same")
    assert found.smallest_difference == pytest.approx(0.019, abs=0.001)
    assert "In a run of this length (7 launches) a true difference of about 1.9 % is detected in 80 % of the runs" in (
        self_comparison_message(found)
    )


def test_an_interval_that_holds_one_is_not_said_to_differ_from_itself() -> None:
    assert "differs from itself" not in self_comparison_message(self_comparison(1.003, 0.999, 1.006, "same"))


@pytest.mark.parametrize("verdict", ["preview", "faster", "slower"])
def test_what_has_no_interval_or_tells_itself_apart_finds_no_smallest_difference(verdict: Verdict) -> None:
    found = self_comparison(1.05, 1.03, 1.08, verdict)
    assert found.smallest_difference is None
    assert "In a run of this length" not in self_comparison_message(found)


def test_an_interrupt_decides_nothing() -> None:
    again = cell("ort", speedup=speedup(1.0, 0.99, 1.01, "preview"))
    found = judge_self_comparison(
        document(group(again, cell("ort"), launches=1, stopped_by="interrupt")), Path("x"), Timing()
    )
    assert found.outcome == "interrupted"
    assert self_comparison_message(found) == "Interrupted after 1 launch: there is no result."


def test_a_twin_with_wrong_answers_is_different() -> None:
    found = judge_self_comparison(document(group(cell("ort", state="mismatch"), cell("ort"))), Path("x"), Timing())
    assert found.outcome == "mismatch"


def test_a_twin_that_fails_is_a_failed_cell() -> None:
    found = judge_self_comparison(document(group(failed("ort"), cell("ort"))), Path("runs/x"), Timing())
    assert found.outcome == "broken"
    assert found.smallest_difference is None
    assert "its row says why" in self_comparison_message(found)


TIMING = Timing()


def half_width(scatter: float, launches: int) -> float:
    return scatter * unit_half_width(launches, TIMING, TIMING.confidence)


def smallest_found(scatter: float, launches: int) -> float:
    """The smallest difference where the self_comparison' interval is as wide as that scatter makes it on average."""
    high = math.exp(half_width(scatter, launches))
    return smallest_difference(speedup(1.0, 1 / high, high, "same"), launches, TIMING)


def share_called_faster(difference: float, scatter: float, launches: int, runs: int = 4000) -> float:
    generator = random.Random(1000 + launches)
    drawn = ([generator.gauss(difference, scatter) for _ in range(launches)] for _ in range(runs))
    return (
        sum(verdict(interval_at(values, looks_of(TIMING), TIMING.confidence), TIMING) == "faster" for values in drawn)
        / runs
    )


@pytest.mark.parametrize("launches", [6, 9, 12])
@pytest.mark.parametrize("scatter", [0.001, 0.008, 0.02])
def test_four_of_five_simulated_runs_find_the_smallest_difference(scatter: float, launches: int) -> None:
    difference = math.log1p(smallest_found(scatter, launches))
    assert share_called_faster(difference, scatter, launches) == pytest.approx(FOUND, abs=0.03)


def test_a_difference_of_the_half_width_is_found_far_less_often() -> None:
    launches, scatter = 7, 0.02
    assert share_called_faster(half_width(scatter, launches), scatter, launches) < 0.6


@pytest.mark.parametrize("launches", [6, 12])
def test_launches_that_agree_perfectly_find_what_lies_outside_the_band_and_nothing_inside(launches: int) -> None:
    assert smallest_found(0.0, launches) == pytest.approx(TIMING.within)
    assert chance_of_faster(math.log(1.004), 0.0001, launches, TIMING) < 0.001


def test_the_more_launches_scatter_the_larger_a_difference_must_be() -> None:
    assert smallest_found(0.05, 6) > smallest_found(0.03, 6) > 0.03
