"""A history as a person reads it."""

from __future__ import annotations

import pytest
from across_runs_history import history_example
from golden_files import check_golden

from irbench.api.display import as_text
from irbench.features.history.view import history_view, sparkline


def test_a_history_looks_as_it_did():
    check_golden("history", as_text(history_view(history_example())) + "\n")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_width_cuts_what_changed(width: int):
    lines = [line.plain for line in history_view(history_example()).as_lines(width)]
    assert max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    assert "confirmed" in said
    assert "01KAJ3WQ4R8Z6M1X0V9T7S5008" in said


def test_a_sparkline_rises_and_falls_with_its_values():
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([8, 1]) == "█▁"


def test_noise_does_not_fill_a_sparkline():
    assert len(set(sparkline([100.0, 100.5, 99.8, 100.2]))) <= 2
    assert len(set(sparkline([0.0, 0.0]))) == 1


def test_only_the_newest_values_are_drawn():
    assert len(sparkline(list(range(1, 200)))) == 40
