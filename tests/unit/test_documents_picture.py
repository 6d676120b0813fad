"""The chart of the README is drawn from the stored run, and is legible on a telephone."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.picture import chart, power_chart

CHART = Path(__file__).parents[2] / "docs" / "pictures" / "speedups.svg"


def test_the_chart_is_drawn_from_the_stored_run():
    assert CHART.read_text(encoding="utf-8") == chart(), "run make picture"


def test_the_chart_of_power_is_drawn_from_the_table_of_its_page():
    assert CHART.with_name("power.svg").read_text(encoding="utf-8") == power_chart(), "run make picture"


def test_the_chart_fits_a_telephone_at_its_own_size_and_its_letters_are_large_enough():
    drawn = CHART.read_text(encoding="utf-8")
    (width,) = map(int, re.findall(r'<svg[^>]* width="(\d+)"', drawn))
    assert width <= 390
    assert min(map(int, re.findall(r'font-size="(\d+)px"', drawn))) >= 13


def test_the_chart_has_every_runtime_with_its_speedup():
    drawn = CHART.read_text(encoding="utf-8")
    for word in ("OpenVINO", "ONNX Runtime", "TensorFlow", "1.70x", "1.59x", "1 (baseline)"):
        assert word in drawn
