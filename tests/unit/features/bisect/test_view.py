"""What ``irbench bisect`` prints."""

from __future__ import annotations

from dataclasses import replace

from documents import speedup
from golden_files import check_golden

from irbench.core.record import Failure, OutputError
from irbench.features.bisect.report import Bisection, BisectReport, Step, VersionComparison

FASTER = VersionComparison("1", "4", speedup(1.2, 1.19, 1.21), "ok", run_id="01A")
SAME = VersionComparison("1", "2", speedup(1.01, 1.0, 1.02, "same"), "ok", run_id="01B")
MISSING = VersionComparison("1", "3", failure=Failure("plan", "3 cannot be installed."))
SPEED = BisectReport(
    "folder/model.onnx", "runtime", "ort", "speed", 0.03, ("1", "2", "3", "4"),
    (Step(FASTER, "new"), Step(SAME, "old", attempts=2), Step(MISSING, "skipped")), "found", "2", "4", ("3",),
    evidence=VersionComparison("2", "4", speedup(1.19, 1.18, 1.2)), results="my results",
)  # fmt: skip
FAILED = VersionComparison("1", "3", state="failed", failure=Failure("run", "It crashed."))
ANSWER = BisectReport(
    "model.onnx", "runtime", "ort", "answer", None, ("1", "2", "3"),
    (
        Step(FAILED, "new"),
        Step(VersionComparison("1", "2", state="ok", output_error=OutputError(1e-6, 1e-5, 1.0, None)), "old"),
    ),
    "found", "2", "3", evidence=replace(FAILED, baseline="2"),
)  # fmt: skip
REPORTS = {
    "found, one of two versions": SPEED,
    "found, in small steps": replace(SPEED, evidence=replace(SAME, baseline="3", version="4")),
    "found by answer": ANSWER,
    "found by answer, where the first version fails": replace(ANSWER, evidence=VersionComparison("2", "3", state="ok")),
    "same": replace(SPEED, conclusion="same", steps=(Step(SAME, "old"),), evidence=None, untested=()),
    "undecided": replace(
        SPEED, conclusion="undecided", steps=(Step(SAME, "undecided", 3),), evidence=None, untested=()
    ),
    "interrupted": replace(SPEED, conclusion="interrupted", evidence=None, untested=()),
}


def test_reports_read_as_in_the_golden_file() -> None:
    texts = [f"== {title}\n{Bisection(report).to_text()}" for title, report in REPORTS.items()]
    check_golden("bisect", "\n".join((*texts, Bisection(SPEED).to_text("md").rstrip())) + "\n")
