"""What ``perf stat -j`` writes, by version."""

from __future__ import annotations

from pathlib import Path

import fake_perf
import pytest

from irbench.perf_events.perf_output import (
    EventCount,
    figures_of,
    is_user_only,
    matching_names,
    read_intervals,
    read_perf,
    read_toplev,
    unit_of,
)

OUTPUTS = Path(__file__).parents[2] / "perf_outputs"
PERF_6_1 = (OUTPUTS / "perf-6.1.json").read_text()
PERF_6_1_INTERVALS = (OUTPUTS / "perf-6.1-intervals.json").read_text()
PERF_6_5_DEFAULT = (OUTPUTS / "perf-6.5-topdown.json").read_text()
PERF_6_5_HYBRID = (OUTPUTS / "perf-6.5-hybrid.json").read_text()
PERF_6_8_USER = (OUTPUTS / "perf-6.8-user-space.json").read_text()
PERF_6_13_THRESHOLDS = (OUTPUTS / "perf-6.13-thresholds.json").read_text()
HYBRID_EVENTS = """
{"counter-value" : "9.0", "unit" : "", "event" : "cpu_core/TOPDOWN.SLOTS/", "pcnt-running" : 100.00, "metric-value" : "30.0", "metric-unit" : "%  tma_retiring"}
{"counter-value" : "9.0", "unit" : "", "event" : "cpu_atom/TOPDOWN_RETIRING.ALL/", "pcnt-running" : 100.00, "metric-value" : "20.0", "metric-unit" : "%  tma_retiring"}
{"counter-value" : "9.0", "unit" : "", "event" : "duration_time", "pcnt-running" : 100.00, "metric-value" : "1.0", "metric-unit" : "%  tma_bad_speculation"}
"""  # noqa: E501 - as perf writes it
BARE = (
    '{"counter-value" : 48.0, "unit" : "", "event" : "page-faults", "event-runtime" : 862262, "pcnt-running" : 71.43}'
)


def test_quoted_and_bare_numbers_are_read():
    counts = read_perf(PERF_6_1 + BARE).events
    assert counts["task-clock"].value == pytest.approx(19.095094)
    assert counts["page-faults"].value == 48


def test_an_event_that_is_not_supported_has_no_value_and_above_all_not_zero():
    count = read_perf(PERF_6_1).events["cycles"]
    assert (count.value, count.is_supported) == (None, False)


def test_an_event_that_was_not_counted_has_no_value_although_it_is_supported():
    count = read_perf(PERF_6_8_USER).events["cycles:u"]
    assert (count.value, count.is_supported) == (None, True)


def test_an_event_that_shared_its_counter_says_for_how_much_of_the_time_it_had_it():
    assert read_perf(BARE).events["page-faults"].running_share == pytest.approx(0.7143)


def test_the_modifier_of_a_name_tells_that_the_kernel_is_left_out():
    assert [name for name in read_perf(PERF_6_8_USER).events if is_user_only(name)] == ["task-clock:u", "cycles:u"]
    assert is_user_only("cpu/event=0xc0/u")
    assert not is_user_only("cpu/event=0xc0/uk")
    assert not is_user_only("cycles:k")


def test_kinds_of_cores_are_added_up_and_one_that_never_ran_is_no_reason_for_no_count():
    reading = read_perf(PERF_6_5_HYBRID)
    cycles = reading.count(matching_names("cycles", reading.events))
    misses = reading.count(matching_names("branch-misses", reading.events))
    assert (cycles.value, cycles.running_share) == (20_000_000, 0.54)
    assert (misses.value, misses.running_share) == (6326, 1.0)
    assert reading.count(()).value is None


def test_lines_with_a_metric_alone_are_read_with_their_unit():
    assert read_perf(PERF_6_5_DEFAULT).metrics["tma_retiring"] == (15.3, "%")


def test_metrics_of_kinds_of_cores_are_kept_apart():
    metrics = read_perf(PERF_6_5_HYBRID).metrics
    assert metrics["cpu_atom/tma_backend_bound/"] == (39.3, "%")
    assert metrics["cpu_core/tma_backend_bound/"] == (None, "%")
    assert metrics["cpu_core/tma_retiring/"] == (None, "%")
    assert "tma_backend_bound" not in metrics


def test_metrics_behind_events_are_of_the_kind_of_their_event():
    metrics = read_perf(HYBRID_EVENTS).metrics
    assert metrics == {"cpu_core/tma_retiring/": (30.0, "%"), "cpu_atom/tma_retiring/": (20.0, "%")}


def test_with_one_kind_of_core_metrics_have_perfs_name():
    one = HYBRID_EVENTS.replace("cpu_atom", "cpu_core")
    assert read_perf(one).metrics["tma_retiring"] == (30.0, "%")


def test_a_comma_before_the_closing_brace_is_no_obstacle():
    reading = read_perf(PERF_6_13_THRESHOLDS)
    assert reading.metrics["tma_backend_bound"] == (43.2, "%")
    assert reading.events["topdown-retiring"].value == 3817732, "an event that several metrics name is counted once"


def test_intervals_are_readings_with_an_end():
    (first_s, first), (second_s, second) = read_intervals(PERF_6_1_INTERVALS)
    assert (first_s, second_s) == (0.107738125, 0.207977871)
    assert first.events["context-switches"].value == 1
    assert second.events["context-switches"].value is None


def test_what_is_no_object_is_left_out():
    assert read_perf('# started on a day\n\n{"metric-unit" : }\n' + BARE).events.keys() == {"page-faults"}


@pytest.mark.parametrize(
    ("event", "told", "names"),
    [
        ("cycles", ("cycles",), ("cycles",)),
        ("cycles", ("cycles:u",), ("cycles:u",)),
        ("cycles", ("cycles", "cycles:u", "cycles:k"), ("cycles",)),
        ("cycles:k", ("cycles:u", "cycles:k"), ("cycles:k",)),
        ("cycles", ("cycles:k",), ()),
        ("cycles", ("cycles", "cpu/cycles/"), ("cycles",)),
        ("cycles", ("cpu_core/cycles/", "cpu_atom/cycles/"), ("cpu_core/cycles/", "cpu_atom/cycles/")),
        ("cycles", ("cpu_core/cycles/u", "cpu_atom/cycles/u"), ("cpu_core/cycles/u", "cpu_atom/cycles/u")),
        ("cycles:u", ("cpu_core/cycles/", "cpu_core/cycles/u"), ("cpu_core/cycles/u",)),
        ("cpu_core/cycles/", ("cpu_core/cycles/", "cpu_atom/cycles/"), ("cpu_core/cycles/",)),
        ("cpu/event=0xc0/", ("cpu/event=0xc0/u",), ("cpu/event=0xc0/u",)),
        ("kmem:kfree", ("kmem:kmalloc", "kmem:kfree"), ("kmem:kfree",)),
        ("msr/tsc/", ("msr/tsc/",), ("msr/tsc/",)),
        ("cpu/event=0x3c,name=foo/", ("foo",), ()),
    ],
)
def test_an_event_has_its_own_name_for_each_kind_of_core_and_a_u_that_perf_added(
    event: str, told: tuple[str, ...], names: tuple[str, ...]
):
    assert matching_names(event, told) == names


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


def test_nodes_are_shares_of_slots_and_metrics_are_left_out():
    assert read_toplev(fake_perf.TOPLEV) == pytest.approx(
        {"Frontend_Bound": 0.292, "Frontend_Bound.Fetch_Latency": 0.125, "Backend_Bound.Memory_Bound": 0.31}
    )


def test_a_file_for_one_thread_has_no_column_of_processors():
    text = "Area,Value,Unit,Description\nRetiring,40.5,% Slots <,\n"
    assert read_toplev(text) == pytest.approx({"Retiring": 0.405})


def test_processors_that_are_told_apart_are_averaged():
    text = "CPUs,Area,Value,Unit\nC0,Retiring,40,% Slots\nC1,Retiring,20,% Slots\n"
    assert read_toplev(text) == pytest.approx({"Retiring": 0.3})


@pytest.mark.parametrize("text", ["", "# toplev\n", "Area,Value,Unit\nRetiring,,% Slots\n", "Retiring,1,% Slots\n"])
def test_what_holds_no_numbers_gives_none(text: str):
    assert read_toplev(text) == {}
