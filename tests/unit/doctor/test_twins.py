"""A backend against itself: passed, failed or undecided, and the smallest difference that can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import cell, document, failed, group, speedup

from irbench.doctor import Twins, judge_twins
from irbench.result import Verdict


def twins(value: float, low: float, high: float, verdict: Verdict, launches: int = 7) -> Twins:
    again = cell("ort", speedup=speedup(value, low, high, verdict))
    return judge_twins(document(group(again, cell("ort"), launches=launches)), Path("runs/x"), within=0.02)


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict", "code", "said"),
    [
        (1.0, 0.99, 1.01, "same", 0, "Passed: ort against itself is 1.00x [0.99, 1.01], within ±2 %."),
        (1.003, 1.001, 1.006, "same", 0, "Passed"),
        (1.0, 0.96, 1.03, "undecided", 4, "Undecided"),
        (1.05, 1.03, 1.08, "faster", 1, "tells a backend from itself"),
        (0.95, 0.93, 0.97, "slower", 1, "tells a backend from itself"),
        (1.0, 0.99, 1.01, "preview", 4, "3 of at least 6 launches fitted in. Give it more time with --budget."),
    ],
)
def test_not_different_passes_and_different_fails(
    value: float, low: float, high: float, verdict: Verdict, code: int, said: str
) -> None:
    found = twins(value, low, high, verdict, launches=3 if verdict == "preview" else 7)
    assert found.exit_code == code
    assert said in found.message


def test_the_smallest_difference_is_the_half_width_that_was_reached() -> None:
    found = twins(1.0, 1 / 1.01, 1.01, "same")
    assert found.smallest_difference == pytest.approx(0.01)
    assert "about 1 %: the half-width of that interval over 7 launches." in found.message


def test_a_preview_has_no_smallest_difference() -> None:
    assert twins(1.0, 0.99, 1.01, "preview").smallest_difference is None


def test_an_interrupt_decides_nothing() -> None:
    again = cell("ort", speedup=speedup(1.0, 0.99, 1.01, "preview"))
    found = judge_twins(document(group(again, cell("ort"), launches=1, stopped_by="interrupt")), Path("x"), within=0.02)
    assert found.exit_code == 130
    assert found.message == "Interrupted after 1 launch: nothing is decided."


def test_a_twin_with_wrong_answers_is_different() -> None:
    found = judge_twins(document(group(cell("ort", state="mismatch"), cell("ort"))), Path("x"), within=0.02)
    assert found.exit_code == 1


def test_a_twin_that_fails_is_a_failed_cell() -> None:
    found = judge_twins(document(group(failed("ort"), cell("ort"))), Path("runs/x"), within=0.02)
    assert found.exit_code == 3
    assert found.smallest_difference is None
    assert "its row says why" in found.message
