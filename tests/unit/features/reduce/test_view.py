"""The table of ``irbench reduce`` keeps what it is about, the interval, at every usual width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import speedup
from rich.console import Console

from irbench.features.reduce.report import BackendFacts, Evidence, ExpectedDifference, ReductionReport
from irbench.features.reduce.view import reduction_view

SLOW = BackendFacts("openvino", "openvino", "2025.3.0", "fp32", "ok", 0.1234)
FAST = BackendFacts("ort", "onnxruntime", "1.24.1", "fp32", "ok", 0.2571)
REPORT = ReductionReport(
    model="own.onnx",
    expected=ExpectedDifference("slower", "openvino", "ort", 1.3),
    conclusion="absent",
    nodes=9,
    full=Evidence((SLOW, FAST), speedup(0.48, 0.47, 0.49)),
)


def shown(report: ReductionReport, width: int) -> str:
    console = Console(width=width, no_color=True, color_system=None)
    with console.capture() as capture:
        console.print(reduction_view(report), highlight=False)
    return capture.get()


@pytest.mark.parametrize(("width", "hidden"), [(80, ""), (72, "max err"), (64, "prec, max err")])
def test_a_narrow_terminal_hides_other_columns_than_the_interval_and_says_which(width: int, hidden: str) -> None:
    text = shown(REPORT, width)
    assert "speedup [95 %]" in text
    assert "0.48 [0.47, 0.49]" in text
    said = f"hidden, the terminal is too narrow: {hidden}; see --format md"
    assert (said in " ".join(text.split())) == bool(hidden)


def test_a_wide_terminal_hides_nothing() -> None:
    text = shown(REPORT, 140)
    assert "onnxruntime 1.24.1" in text
    assert "hidden" not in text


def test_a_long_name_is_broken_before_a_line_is_cut() -> None:
    named = replace(SLOW, label="openvino:" + 40 * "x")
    text = shown(replace(REPORT, full=Evidence((named, FAST), speedup(0.48, 0.47, 0.49))), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert "0.48 [0.47, 0.49]" in text
