"""What drawn charts say: the labels of marks, with or without the keys of their rows, and names as harmless text."""

from __future__ import annotations

import json
import re

import pytest
from documents import cell, group, speedup

from irbench.charts.drawing import SEPARATOR, can_draw, drawn, page_svg
from irbench.charts.records import chart_rows, speedups

if not can_draw():
    pytest.skip("needs the extra report", allow_module_level=True)

import altair as alt

from irbench.charts.figure import INK, Figure, configured, data_of
from irbench.charts.specs import speedup_figure

HOSTILE = "ort\x07\u202e\x1f\n<b>&\"'\ud800"


def figure_of(*labels: str) -> Figure:
    cells = (cell(label, id=f"c{place}", speedup=speedup(1.3, 1.2, 1.4)) for place, label in enumerate(labels))
    return speedup_figure(speedups(chart_rows(group(*cells), 0)), labels[0])


@pytest.mark.ci
@pytest.mark.parametrize("form", ["svg", "vega"])
def test_names_of_others_are_drawn_as_plain_text(form: str):
    spec = configured(figure_of("tf", HOSTILE).chart, 200)
    for text in (drawn(spec, form).decode(), page_svg(spec, "own")):  # type: ignore[arg-type]
        assert not {character for character in text if not character.isprintable()} - {"\n"}
        assert "<b>" not in text or form == "vega"
    assert "\\u202e" not in drawn(spec, "vega").decode()


def test_each_mark_of_a_page_has_the_key_of_its_row_and_says_what_it_shows():
    svg = page_svg(configured(figure_of("tf", "ort").chart, 200), "own", "result0-")
    marks = dict(re.findall(r'data-row="([^"]*)" aria-label="([^"]*)"', svg))
    assert set(marks) == {"result0-t0r0", "result0-t0r1"}
    assert [text.partition(":")[0] for text in marks.values()] == ["tf", "ort"]
    assert SEPARATOR not in svg


def test_two_charts_of_a_page_share_no_identifier():
    spec = configured(alt.Chart(data_of([{"x": 1}])).mark_point(clip=True).encode(x="x:Q"), 200)
    one, other = (page_svg(spec, prefix) for prefix in ("one", "other"))
    identifiers = [set(re.findall(r'\bid="([^"]*)"', svg)) for svg in (one, other)]
    assert identifiers[0]
    assert not identifiers[0] & identifiers[1]
    for svg, own in zip((one, other), identifiers, strict=True):
        assert set(re.findall(r"url\(#([^)]*)\)", svg)) <= own


def test_a_chart_outside_of_a_page_has_colours_of_its_own_and_no_keys_in_what_it_says():
    spec = configured(figure_of("tf", "ort").chart, 200)
    assert INK in json.dumps(spec)
    text = drawn(spec, "vega").decode()
    assert INK not in text
    assert "transparent" not in text
    (records,) = (rows for rows in json.loads(text)["datasets"].values() if "text" in rows[0])
    assert [record["text"].partition(":")[0] for record in records] == ["tf", "ort"]
