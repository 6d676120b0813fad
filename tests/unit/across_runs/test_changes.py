"""Conditions on changes: how they are written, and when they are met."""

from __future__ import annotations

import pytest
from compared_runs import EVEN, times

from irbench.across_runs.changes import FigureChange, change_of_values, outcome_of
from irbench.across_runs.measured_cells import FIGURES
from irbench.options.conditions import Condition, read_condition, slower_than


def change(figure: str, base: tuple[float, ...], new: tuple[float, ...]) -> FigureChange:
    return change_of_values(FIGURES[figure], base, new, "launches", 0.95)


@pytest.mark.parametrize(
    ("text", "figure", "increase", "limit", "relative"),
    [
        ("p50>5%", "p50", True, 0.05, True),
        ("fps<-3%", "fps", False, -0.03, True),
        ("fps < -10", "fps", False, -10, False),
        ("peak_memory>50MB", "peak_memory", True, 50e6, False),
        ("size>1KiB", "size", True, 1024, False),
        ("p99.9>200us", "p99.9", True, 0.2, False),
        (" ready > 1.5 s ", "ready", True, 1500, False),
        ("max_err>0.001", "max_err", True, 0.001, False),
    ],
)
def test_a_condition_has_a_figure_a_direction_and_a_limit(
    text: str, figure: str, increase: bool, limit: float, relative: bool
):
    read = read_condition(text)
    assert (read.figure, read.increase, read.relative) == (figure, increase, relative)
    assert read.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p50", "not a condition"),
        ("p50>", "not a condition"),
        ("p50>=5%", "not a condition"),
        ("p51>5%", "Did you mean p50"),
        ("latency>5%", "Figures: time, p50"),
        ("p50>5MB", "no unit of p50: %, ns, us, ms, s"),
        ("peak_memory>5", "no unit of peak_memory"),
        ("fps>3ms", "% or none"),
        ("p50<5%", "holds where nothing changed"),
        ("fps>-3%", "holds where nothing changed"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_is_known(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        read_condition(text)


@pytest.mark.parametrize(
    ("text", "factor", "outcome"),
    [
        ("p50>5%", 1.10, "met"),
        ("p50>5%", 1.03, "not-met"),
        ("p50>5%", 0.90, "not-met"),
        ("p50>0.5ms", 1.10, "met"),
        ("p50>2ms", 1.10, "not-met"),
        ("fps<-5%", 0.90, "met"),
        ("fps<-5%", 1.10, "not-met"),
    ],
)
def test_a_condition_is_met_beyond_its_limit_and_in_its_direction_only(text: str, factor: float, outcome: str):
    condition = read_condition(text)
    assert outcome_of(condition, change(condition.figure, EVEN, times(factor))) == outcome


def test_a_change_that_may_be_none_decides_nothing():
    noisy = change("p50", (10, 12, 9, 11), (11, 13, 8, 14))
    assert outcome_of(read_condition("p50>1%"), noisy) == "undecided"


def test_a_single_measured_value_decides_nothing_and_a_counted_one_does():
    assert outcome_of(read_condition("compile>5%"), change("compile", (100.0,), (200.0,))) == "undecided"
    assert outcome_of(read_condition("size>5%"), change("size", (100.0,), (200.0,))) == "met"


def test_a_figure_that_a_side_lacks_is_not_measured():
    assert outcome_of(read_condition("p99>5%"), None) == "not-measured"
    zero = change("max_err", (0.0,) * 4, (1.0,) * 4)
    assert outcome_of(read_condition("max_err>5%"), zero) == "not-measured"
    assert outcome_of(read_condition("max_err>0.5"), zero) == "met"


def test_the_usual_condition_is_a_longer_time():
    assert slower_than(0.02) == Condition("time>2%", "time", increase=True, limit=0.02, relative=True)
