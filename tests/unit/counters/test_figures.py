"""From the counts of a phase to figures."""

from __future__ import annotations

import pytest

from irbench.counters.perf_output import EventCount, figures_of, unit_of

COUNTS = {"cycles": EventCount(1000.0), "instructions": EventCount(2500.0), "branches": EventCount(None)}


def test_counts_are_for_one_inference_where_some_were_made():
    assert figures_of(COUNTS, {}, 10, ["cycles"]) == {"cycles": 100}
    assert figures_of(COUNTS, {}, 0, ["cycles"]) == {"cycles": 1000}


def test_ratios_do_not_depend_on_the_number_of_inferences():
    assert figures_of(COUNTS, {}, 10, ["cycles", "instructions"])["ipc"] == pytest.approx(2.5)


def test_what_was_not_counted_has_no_figure_and_no_ratio():
    counts = {**COUNTS, "branch-misses": EventCount(5.0)}
    assert figures_of(counts, {}, 10, ["branches", "branch-misses"]) == {"branch-misses": 0.5}


def test_nothing_is_divided_by_nothing():
    idle = {"cycles": EventCount(0.0), "instructions": EventCount(0.0)}
    assert "ipc" not in figures_of(idle, {}, 1, ["cycles", "instructions"])


def test_events_of_a_formula_alone_are_no_figures():
    assert figures_of({"slots": EventCount(9.0)}, {"retiring": 0.3}, 1, []) == {"retiring": 0.3}


def test_units_are_of_clocks_and_shares():
    assert (unit_of("task-clock"), unit_of("cycles"), unit_of("ipc")) == ("ms", "", "")
    assert (unit_of("branch_miss_share"), unit_of("retiring", is_share=True)) == ("share", "share")
