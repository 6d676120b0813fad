"""What the specifications of charts say of rows: colours and dashes that tell them apart, and where axes end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from documents import cell, failed, group, speedup
from golden_files import check_golden

from irbench.charts.drawing import can_draw
from irbench.charts.records import Record, chart_rows, speed_bars
from irbench.core.row import CellResult

if not can_draw():
    pytest.skip("needs the extra report", allow_module_level=True)

from irbench.charts.figure import PALETTE, Figure, row_colour, row_dash
from irbench.charts.specs import (
    heat_figure,
    load_figure,
    sensitivity_figure,
    speedup_figure,
    token_figure,
    tradeoff_figure,
)


def _encodings(part: Any, channel: str) -> list[dict[str, Any]]:
    """Return what the layers of a chart encode in a channel."""
    if "layer" in part:
        return [found for layer in part["layer"] for found in _encodings(layer, channel)]
    return [part["encoding"][channel]] if channel in part["encoding"] else []


def _domain(part: Any, channel: str) -> list[float]:
    (scale,) = (found["scale"] for found in _encodings(part, channel) if "domain" in found.get("scale", {}))
    assert scale["clamp"], "what lies beyond the axis is cut, and not drawn over what stands beside it"
    domain: list[float] = scale["domain"]
    return domain


def test_no_two_rows_have_the_same_colour_and_dashes():
    records: list[Record] = [{"key": f"r{place}", "row": f"row {place}"} for place in range(len(PALETTE) + 4)]
    colours, dashes = row_colour(records).to_dict()["scale"], row_dash(records).to_dict()["scale"]
    assert colours["domain"] == dashes["domain"] == [record["key"] for record in records]
    looks = list(zip(colours["range"], map(tuple, dashes["range"]), strict=True))
    assert len(set(looks)) == len(records)


def _points(*series: str) -> list[Record]:
    return [
        {
            "key": f"r{place}", "row": f"row {place}", "series": name, "p50_ms": 1.0, "rate": 5.0, "memory_mb": 8.0,
            "is_best": True, "length": 32, "value": 1.0,
        }
        for place, name in enumerate(series)
    ]  # fmt: skip


def test_a_row_has_the_same_colour_as_a_point_and_as_a_line_but_points_of_one_series_share_theirs():
    rows = _points("tf", "ort")
    (point,) = _encodings(tradeoff_figure(rows).chart.to_dict(), "color")
    assert [point] == _encodings(token_figure(rows).chart.to_dict(), "color")
    (shared,) = _encodings(tradeoff_figure(_points("tf", "ort", "ort")).chart.to_dict(), "color")
    assert shared["field"] == "series"


@pytest.mark.parametrize(
    ("high", "is_cut"), [(110.0, False), (150.0, False), (100_000.0, True)], ids=["narrow", "wide", "very wide"]
)
def test_a_chart_of_rates_ends_above_all_values_and_cuts_very_wide_intervals(high: float, is_cut: bool):
    records: list[Record] = [
        {
            "key": f"r{streams}", "row": "ort", "series": "ort", "setting": streams, "value": value, "low": value / 2,
            "high": end, "is_interval": True,
        }
        for streams, value, end in ((1, 50.0, 51.0), (4, 100.0, high))
    ]  # fmt: skip
    low, top = _domain(load_figure(records, "streams").chart.to_dict(), "y")
    assert low == 0
    assert top > 100
    assert (top < high) == is_cut
    assert top < 1000


def _bars(*cells: CellResult) -> Figure:
    table = group(*cells)
    return speedup_figure(speed_bars(chart_rows(table, 0), table.baseline), "tf")


def _data(figure: Figure) -> list[Record]:
    """Return the rows that a chart shows, in the order of its axis."""
    spec = figure.chart.to_dict()
    rows: list[Record] = next(rows for rows in spec["datasets"].values() if "row" in rows[0])
    by_key = {row["key"]: row for row in rows}
    order = {tuple(axis["sort"]) for axis in _encodings(spec, "y")}
    (keys,) = order
    return [by_key[key] for key in keys]


ROWS = (
    cell("openvino", speedup=speedup(1.31, 1.29, 1.33)),
    cell("tf-xla", speedup=speedup(0.89, 0.88, 0.90, "slower")),
    cell("ort", speedup=replace(speedup(1.15, 1.1, 1.2, "preview"), range_low=None, range_high=None)),
    cell("tf"),
)


def test_each_row_has_a_bar_from_0_and_a_line_for_its_interval_the_fastest_row_first():
    figure = _bars(*ROWS)
    assert [row["row"] for row in _data(figure)] == ["openvino", "ort", "tf", "tf-xla"]
    assert [row["value"] for row in _data(figure)] == [1.31, 1.15, 1.0, 0.89]
    assert [(row["low"], row["high"]) for row in _data(figure)] == [
        (1.29, 1.33),
        (1.15, 1.15),
        (1.0, 1.0),
        (0.88, 0.90),
    ]
    spec = figure.chart.to_dict()
    (bar,) = (layer for layer in spec["layer"] if layer["mark"]["type"] == "bar")
    assert bar["encoding"]["x"]["field"] == "value"
    assert bar["encoding"]["x2"]["datum"] == 0
    (line,) = (layer for layer in spec["layer"] if "x2" in layer["encoding"] and layer is not bar)
    assert (line["encoding"]["x"]["field"], line["encoding"]["x2"]["field"]) == ("low", "high")


def test_rows_without_an_interval_and_the_baseline_have_a_bar_without_a_line():
    without = {row["row"] for row in _data(_bars(*ROWS)) if row["low"] == row["high"]}
    assert without == {"ort", "tf"}
    assert "tf: 1.00x (baseline)" in _bars(*ROWS).summary


def test_rows_without_valid_figures_have_no_bar():
    figure = _bars(*ROWS, failed("keras"), cell("last"))
    assert "keras" not in {row["row"] for row in _data(figure)}


def test_the_bars_of_a_table_are_those_of_its_golden_text():
    figure = _bars(*ROWS)
    rows = (
        f"{row['row']:<8} {row['low']:.2f} {row['value']:.2f} {row['high']:.2f} {row['verdict']}"
        for row in _data(figure)
    )
    low, high = _domain(figure.chart.to_dict(), "x")
    check_golden(
        "bars", "\n".join((figure.title, figure.caption, f"from {low} to {high:.3g}", *rows, figure.summary)) + "\n"
    )


def test_a_chart_of_speedups_begins_at_0_holds_all_values_and_cuts_very_wide_intervals():
    figure = _bars(
        cell("ort", speedup=speedup(1.5, 0.001, 1000.0, "undecided")),
        cell("openvino", speedup=speedup(3.0, 2.9, 3.1)),
        cell("tf"),
    )
    low, high = _domain(figure.chart.to_dict(), "x")
    assert low == 0
    assert 3.1 <= high < 1000
    assert "1000" in figure.summary.replace(",", ""), "in words it is whole"


def test_a_chart_of_slowdowns_holds_one_and_all_values_and_says_each():
    records: list[Record] = [
        {
            "key": f"r{share}", "row": "ort", "series": "l3", "intensity": share, "value": value, "low": value / 1.1,
            "high": high, "is_interval": True,
        }
        for share, value, high in ((50, 1.5, 1.6), (100, 3.0, 1000.0))
    ]  # fmt: skip
    figure = sensitivity_figure(records)
    low, high = _domain(figure.chart.to_dict(), "y")
    assert low <= 1
    assert 3.0 <= high < 1000
    assert all(f"l3 {share}%" in figure.summary for share in (50, 100))


def test_a_heat_map_names_each_value_and_is_darkest_where_it_is_largest():
    fields: list[Record] = [
        {"key": "r", "row": "ort", "series": "ort fp32", "setting": batch, "shape": shape, "value": value}
        for batch, shape, value in ((1, "16", 20.0), (1, "64", 5.0), (4, "16", 60.0), (4, "64", 15.0))
    ]
    figure = heat_figure(fields)
    specification = figure.chart.to_dict()
    (colour,) = (found for found in _encodings(specification, "color") if "scale" in found)
    assert colour["scale"]["domain"] == [0, 60.0]
    assert all(found["sort"] == ["ort fp32 · 16", "ort fp32 · 64"] for found in _encodings(specification, "y"))
    assert all(f"ort fp32, {field['shape']}: {field['value']:g}" in figure.summary for field in fields)
