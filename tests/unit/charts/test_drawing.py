"""What drawn charts say: the labels of marks, with or without the keys of their rows, and names as harmless text."""

from __future__ import annotations

import pytest
from documents import cell, group, speedup

from irbench.charts.drawing import can_draw, drawn, page_svg
from irbench.charts.records import chart_rows, speedups

if not can_draw():
    pytest.skip("pip install 'irbench[report]'", allow_module_level=True)

from irbench.charts.figure import Figure, configured
from irbench.charts.specs import speedup_figure

HOSTILE = "ort\x07\u202e\x1f\n<b>&\"'\ud800"


def figure_of(*labels: str) -> Figure:
    rows = chart_rows(
        group(*(cell(label, id=f"c{place}", speedup=speedup(1.3, 1.2, 1.4)) for place, label in enumerate(labels))), 0
    )
    return speedup_figure(speedups(rows), labels[0])


@pytest.mark.parametrize("form", ["svg", "vega"])
def test_names_of_others_are_drawn_as_plain_text(form: str) -> None:
    spec = configured(figure_of("tf", HOSTILE).chart, 200)
    for text in (drawn(spec, form).decode(), page_svg(spec, "own")):  # type: ignore[arg-type]
        assert not {character for character in text if not character.isprintable()} - {"\n"}
        assert "<b>" not in text or form == "vega"
    assert "\\u202e" not in drawn(spec, "vega").decode()
