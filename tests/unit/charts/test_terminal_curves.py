"""Curves drawn as text: each value of a setting a line, below what else its rows have in common."""

from __future__ import annotations

from dataclasses import replace

from documents import cell, group

from irbench.charts.records import chart_rows
from irbench.charts.terminal_curves import curve_plots
from irbench.core.row import Spans
from irbench.render.interval_plot import UNICODE


def drawn(*cells: object, width: int = 80) -> list[str]:
    rows = chart_rows(group(*cells), 0)  # type: ignore[arg-type]
    return [line.plain for line in curve_plots(rows, "FPS", width)]


def known(fps: float, **changes: object) -> object:
    spans = Spans(fps, low=fps * 0.9, high=fps * 1.1, all_blocks_value=fps)
    return replace(cell("ort", fps=fps, **changes), fps_over_launches=spans)  # type: ignore[arg-type]


def test_a_curve_has_a_line_for_each_batch_with_its_interval_on_one_scale():
    _, title, series, *lines = drawn(known(400.0, batch=8), known(100.0, batch=1))
    assert title == "FPS against batch size, with intervals over launches"
    assert series == " ort fp32, threads 2"
    assert [line.split()[0] for line in lines] == ["1", "8"]
    assert lines[0].index(UNICODE.value) < lines[1].index(UNICODE.value)
    assert lines[0].endswith("100 [90.0, 110]")
    assert all(len(line) <= 80 for line in lines)


def test_rows_that_differ_in_nothing_that_can_be_counted_have_no_curve():
    assert drawn(known(400.0), cell("openvino")) == []


def test_text_of_any_width_has_no_endless_lines():
    assert max(map(len, drawn(known(400.0, batch=8), known(100.0, batch=1), width=10_000))) <= 110
