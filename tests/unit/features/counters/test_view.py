"""Tables of counters, as they were looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from counter_runs import counted, counter_row, phase, timeline
from golden_files import check_golden

from irbench.core.counter_row import TimelineStop
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.features.counters.view import counter_views, figure_value, sparkline
from irbench.perf_events.event_names import GROUPS
from irbench.perf_events.obstacles import NoPmu, NotSupported, Said, ToplevFailed, not_counted
from irbench.runs.document_text import render_document


def shown(found: RunDocument, width: int) -> str:
    (table,) = found.counters
    views = counter_views(table, found)
    return "\n".join(line.plain.rstrip() for view in views for line in (*view.as_lines(width),)) + "\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_counters_look_as_they_were_looked_at(width: int):
    check_golden(f"counters-{width}", shown(counted(), width))


def test_a_timeline_looks_as_it_was_looked_at():
    row = replace(counter_row("ort", 0.5), timeline=timeline())
    check_golden("counters-timeline", shown(counted(row, timeline_ms=100), 120))


def test_scaled_counts_are_marked_and_explained():
    text = shown(counted(counter_row("ort", 0.5, running=0.63)), 160)
    assert "~2.40" in text
    assert "63 % of the time" in text
    assert "~" not in shown(counted(), 160)


def test_too_few_launches_have_a_range():
    text = shown(counted(counter_row("ort", 0.5, launches=3)), 160)
    assert "per inference [range]" in text
    assert "preview: intervals need 6 launches" in text
    assert "preview" not in shown(counted(), 160)
    assert "[95 %]" not in text


def test_too_few_launches_of_one_row_are_a_range_of_that_row_alone():
    text = shown(counted(counter_row("ort", 0.5), counter_row("openvino", 0.4, launches=3)), 160)
    assert "per inference [95 %]" in text
    assert "preview of openvino: intervals need 6 launches" in text
    _, first, second = [line for line in text.splitlines() if line.endswith(("]", "range"))][:3]
    assert "ort" in first
    assert first.endswith("]")
    assert "openvino" in second
    assert second.endswith("] range")


def test_a_figure_that_was_counted_in_few_launches_is_a_range_among_intervals():
    row = counter_row("ort", 0.5)
    first, second, *others = row.launches
    bare = [replace(launch, phases={"inference": phase(0.4, inferences=25, without="cycles")}) for launch in others]
    text = shown(counted(replace(row, launches=(first, second, *bare))), 160)
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith(" ")}
    assert lines["cycles"].endswith("range")
    assert lines["task-clock"].endswith("]")
    assert "preview" not in text


def test_slots_that_went_to_the_other_thread_of_the_core_are_a_loss():
    row = counter_row("ort", 0.5)
    shares = {"retiring": 0.2, "backend_bound": 0.3, "smt_contention": 0.5}
    launches = tuple(
        replace(launch, phases={"inference": replace(launch.phases["inference"], shares=shares)})
        for launch in row.launches
    )
    text = shown(counted(replace(row, launches=launches)), 160)
    assert "Largest loss of pipeline slots: ort 50.0 % to the other thread of the core." in text


def test_shares_of_kinds_of_cores_are_lines_and_losses_of_their_own():
    row = counter_row("ort", 0.5)
    shares = {"cpu_core/backend_bound/": 0.3, "cpu_core/frontend_bound/": 0.1, "cpu_atom/frontend_bound/": 0.5}
    launches = tuple(
        replace(launch, phases={"inference": replace(launch.phases["inference"], shares=shares)})
        for launch in row.launches
    )
    text = shown(counted(replace(row, launches=launches)), 160)
    assert "slots: backend bound (cpu_core)" in text
    assert "ort 50.0 % at the front end of cpu_atom and 30.0 % at the back end of cpu_core." in text


def test_whose_formulas_the_shares_are_is_told():
    document = counted()
    table = replace(document.counters[0], topdown="intel-slots")
    assert "formulas of Yasin" in shown(replace(document, counters=(table,)), 160)
    assert "metrics of perf" in shown(document, 160)


def test_what_has_no_count_is_a_dash_and_never_zero():
    row = counter_row("ort", 0.5)
    launches = tuple(
        replace(launch, phases={"inference": replace(launch.phases["inference"], events={})}) for launch in row.launches
    )
    text = shown(counted(replace(row, launches=launches)), 160)
    (line,) = [line for line in text.splitlines() if line.strip().startswith("cycles ")]
    assert line.split()[-1] == "-"


def test_a_toplev_that_failed_in_some_launches_is_told_with_its_reason():
    row = counter_row("ort", 0.5)
    failed = ToplevFailed(Said("no ocperf"))
    first, *others = row.launches
    found = counted(replace(row, launches=(replace(first, nodes_missing=failed), *others)))
    found = replace(found, counters=(replace(found.counters[0], level=2),))
    assert "topdown-l2" in shown(found, 160)
    assert "in 1 of 6 launches toplev failed: no ocperf" in shown(found, 160)


def test_markdown_has_both_tables_and_speeds_come_first():
    text = render_document(counted(), "md")
    assert text.index("p50") < text.index("task-clock ms")


def test_a_group_that_is_missing_is_told_once_and_not_for_each_of_its_events():
    missing = dict.fromkeys(("cache", *GROUPS["cache"]), NoPmu())
    assert list(not_counted(("cache",), missing)) == [("cache", NoPmu())]
    some = {"cache-misses": NotSupported()}
    assert list(not_counted(("cache",), some)) == [("cache-misses", NotSupported())]


def test_groups_with_the_same_reason_are_told_together():
    missing = dict.fromkeys(("cache", "branch", "ipc"), NoPmu())
    assert list(not_counted(("cache", "branch", "ipc"), missing)) == [("cache, branch and ipc", NoPmu())]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "", "-"),
        (0.0, "", "0"),
        (0.0021, "", "0.00210"),
        (480.2, "", "480"),
        (61_000_000.0, "", "61.0 M"),
        (1.234e9, "", "1.23 G"),
        (23.14, "ms", "23.1"),
        (12_345.6, "ms", "12346"),
        (0.4321, "share", "43.2 %"),
    ],
)
def test_figures_have_three_digits_and_a_prefix(value: float | None, unit: str, text: str):
    assert figure_value(value, unit) == text


def test_a_line_of_marks_goes_from_nothing_to_the_largest():
    assert sparkline([0, 1, 2]) == "▁▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([1, None, 1]) == "█ █"
    assert sparkline([]) == ""


def test_a_long_line_joins_neighbours():
    assert len(sparkline(list(range(1000)), width=40)) == 40
    assert sparkline([0, 0, 4, 4], width=2) == "▁█"


def test_the_first_sentence_says_where_each_row_loses_most_slots():
    assert "Largest loss of pipeline slots: ort 44.0 % at the back end, openvino 44.0 % at the back end." in shown(
        counted(), 160
    )
    document = counted()
    rows = tuple(replace(row, figures=()) for row in document.counters[0].rows)
    without = replace(document, counters=(replace(document.counters[0], rows=rows),))
    assert "Largest loss" not in shown(without, 160)


def test_a_timeline_names_a_row_and_a_phase_once():
    row = replace(counter_row("ort", 0.5), timeline=timeline())
    lines = shown(counted(row, timeline_ms=100), 120).partition("timeline")[2].splitlines()
    assert sum(" ort " in line for line in lines) == 1
    assert sum(" inference " in line for line in lines) == 1


def test_a_timeline_that_failed_is_a_line_with_its_reason():
    row = replace(counter_row("ort", 0.5), timeline_failure=Failure("compile", "perf cannot count it: it ended"))
    text = shown(counted(row, timeline_ms=100), 120)
    assert "failed at compile: perf cannot count it: it ended" in text.partition("timeline")[2]


@pytest.mark.parametrize(
    ("stop", "why"), [("budget", "the budget has no time for another launch"), ("interrupt", "interrupted")]
)
def test_rows_without_a_timeline_are_named_with_why_no_more_were_taken(stop: TimelineStop, why: str):
    rows = (replace(counter_row("ort", 0.5), timeline=timeline()), counter_row("openvino", 0.4))
    found = counted(*rows, timeline_ms=100)
    stopped = replace(found, counters=(replace(found.counters[0], timelines_stopped_by=stop),))
    assert f"no timeline of openvino: {why}" in shown(stopped, 120)
    assert "no timeline of" not in shown(found, 120)
