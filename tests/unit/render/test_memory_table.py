"""The table of memory: the peak, and what runtime, model and calls added."""

from __future__ import annotations

from dataclasses import replace

from documents import ENVIRONMENT, cell, group

from irbench.core.record import Failure
from irbench.core.row import CellResult
from irbench.runs.run_view import memory_view
from irbench.spec import GraphFiles

MB = 1_000_000


def text(*rows: CellResult) -> str:
    view = memory_view(replace(group(*rows)), ENVIRONMENT, {})
    return "\n".join(line.plain for line in view.as_lines(120))


def row_of(shown: str, name: str) -> list[str]:
    return next(line.split() for line in shown.splitlines() if line.split()[:1] == [name])


def test_what_the_model_and_the_calls_added_is_told_apart() -> None:
    private = {"import": 50 * MB, "load": 60 * MB, "compile": 180 * MB, "warm_up": 190 * MB, "run": 200 * MB}
    known = cell("ort", private_memory_bytes=private, graph_files=GraphFiles("0", 100 * MB))
    shown = row_of(text(replace(known, peak_memory_bytes={"process": 330 * MB})), "ort")
    assert shown == ["ort", "fp32", "330.0", "200.0", "50.0", "130.0", "20.0", "100.0"]


def test_what_is_unknown_is_no_zero() -> None:
    assert row_of(text(cell("ort")), "ort")[3:] == ["-"] * 5


def test_a_row_that_failed_says_why() -> None:
    failed = cell("tf", state="failed", latency_ms=None, failure=Failure("compile", "it crashed"))
    assert "failed at compile: it crashed" in text(cell("ort"), failed)
