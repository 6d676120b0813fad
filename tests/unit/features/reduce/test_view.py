"""The table of ``irbench reduce`` keeps what it is about, the interval, at every usual width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import speedup
from golden_files import check_golden
from rich.console import Console

from irbench.core.graph_record import Uncuttable
from irbench.core.record import Failure
from irbench.features.reduce.report import (
    BackendFacts,
    ExpectedDifference,
    GraphEvidence,
    KeptNode,
    ReducedGraph,
    ReductionReport,
    TensorFacts,
    TriedPart,
)
from irbench.features.reduce.search_facts import (
    BudgetTooShort,
    Confirming,
    SearchBegun,
    SearchContinued,
    WholeExtended,
    WholeTried,
)
from irbench.features.reduce.view import bug_report, conclusion_text, doubts_text, progress_text, reduction_view

SLOW = BackendFacts("openvino", "openvino", "2025.3.0", "fp32", "ok", 0.1234)
FAST = BackendFacts("ort", "onnxruntime", "1.24.1", "fp32", "ok", 0.2571)
REPORT = ReductionReport(
    model="own.onnx",
    expected=ExpectedDifference("slower", "openvino", "ort", 1.3),
    conclusion="absent",
    nodes=9,
    full=GraphEvidence((SLOW, FAST), speedup(0.48, 0.47, 0.49)),
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
    text = shown(replace(REPORT, full=GraphEvidence((named, FAST), speedup(0.48, 0.47, 0.49))), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert "0.48 [0.47, 0.49]" in text


SHOWN = GraphEvidence((SLOW, FAST), speedup(2.0, 1.9, 2.1), run_id="01W")
REDUCED = ReducedGraph(
    nodes=(KeptNode("n2", "Relu", ""), KeptNode("n6", "Tanh", "")),
    inputs=(TensorFacts("v2", "float32", (1, 8)),),
    outputs=(TensorFacts("v7", "float32", ()),),
    size_bytes=1234,
    evidence=replace(SHOWN, run_id="01R"),
    confirmation="shows",
    without_one_node={"absent": 2},
    has_expected=True,
)
FULL = replace(
    REPORT,
    conclusion="reduced",
    full=SHOWN,
    reduced=REDUCED,
    candidates=(TriedPart(4, "shows"), TriedPart(2, "undecided")),
    environment={"cpu": {"Model name": "A CPU", "Flags": "avx2"}, "distributions": {"onnxruntime": "1.31.1"}},
    command=("irbench", "reduce", "own.onnx"),
    repeat=("irbench", "run", "reduced.onnx", "--set", "ort.hint=a b;c"),
    code={"ort": "import onnxruntime"},
    folder="own-reduced",
    results="my results",
)
PREVIEW = speedup(2.1, 2.0, 2.2, "preview", launches=3)
FAILS = BackendFacts("ort", "onnxruntime", "1.24.1", None, "failed", failure=Failure("run", "It crashed."))
CONCLUSIONS = {
    "reduced": FULL,
    "reduced, with undecided parts": replace(
        FULL, reduced=replace(REDUCED, without_one_node={"undecided": 2, "other": 1})
    ),
    "reduced, undecided when measured again": replace(FULL, reduced=replace(REDUCED, confirmation="undecided")),
    "reduced, after another part": replace(FULL, not_confirmed=1),
    "unconfirmed": replace(FULL, conclusion="unconfirmed", reduced=replace(REDUCED, confirmation="absent")),
    "whole": replace(FULL, conclusion="whole", reduced=None),
    "stopped": replace(FULL, conclusion="stopped"),
    "stopped, without a smaller part": replace(FULL, conclusion="stopped", reduced=None),
    "absent": REPORT,
    "undecided": replace(REPORT, conclusion="undecided"),
    "undecided, without an interval": replace(REPORT, conclusion="undecided", full=replace(SHOWN, speedup=PREVIEW)),
    "interrupted": replace(FULL, conclusion="interrupted"),
    "interrupted, without a smaller part": replace(FULL, conclusion="interrupted", reduced=None),
    "short calls": replace(FULL, reduced=replace(REDUCED, evidence=GraphEvidence((replace(SLOW, p50_ms=0.01), FAST)))),
    "wrong": replace(REPORT, expected=ExpectedDifference("wrong", "ort")),
    "failing": replace(REPORT, expected=ExpectedDifference("failing", "ort"), full=GraphEvidence((FAILS,))),
}
PROGRESS = (
    WholeTried(SHOWN, "shows"),
    SearchBegun(8, 1),
    SearchContinued(2),
    BudgetTooShort(10.0, 17.0, 67.0),
    WholeExtended(30.0, 60.0),
    TriedPart(4, "other", uncuttable=Uncuttable("no-tensor", "v4")),
    TriedPart(4, "other", failure=Failure("run", "It crashed.")),
    TriedPart(2, "shows", SHOWN),
    Confirming(2),
)


def test_reports_read_as_in_the_golden_file() -> None:
    texts = [shown(FULL, 120), bug_report(FULL)]
    for title, report in CONCLUSIONS.items():
        texts += [f"== {title}", conclusion_text(report), *doubts_text(report)]
        texts.append(bug_report(report).splitlines()[0])
    texts += [
        "== progress",
        *map(progress_text, PROGRESS),
    ]
    check_golden("reduce", "\n".join(texts) + "\n")
