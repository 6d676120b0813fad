"""What a table of irbench's row and a peer says about the two, and the loop of a peer."""

from __future__ import annotations

import math

import pytest
from documents import cell, group, speedup

from benchmarks import ort_loop
from benchmarks.peers import parity
from benchmarks.workbench import CommandFailed
from irbench.core.record import Failure
from irbench.core.result import GroupResult
from irbench.core.row import CellResult


def table(own: CellResult, peer: CellResult) -> GroupResult:
    return group(cells=(own, peer), baseline=peer.id)


def test_parity_is_the_speedup_of_irbenchs_row_over_the_peer_with_its_interval() -> None:
    own = cell("openvino", 32.0, speedup=speedup(1.01, 0.99, 1.03, "same", launches=7, confidence=0.95))
    found = parity(table(own, cell("benchmark_app", 32.3)), "openvino", "benchmark_app", "sync")
    assert found.values("ratio") == pytest.approx([32.3 / 32.0])
    assert math.exp(found.log_ratio.value) == pytest.approx(1.01)
    assert math.exp(found.log_ratio.low) == pytest.approx(0.99)
    assert found.log_ratio.count == 7
    assert found.met == "yes"


def test_a_preview_shows_no_parity() -> None:
    own = cell("openvino", 32.0, speedup=speedup(1.01, 1.0, 1.03, "preview", launches=3, confidence=0.95))
    assert parity(table(own, cell("benchmark_app", 32.3)), "openvino", "benchmark_app", "sync").met == "undecided"


def test_a_row_that_failed_says_why() -> None:
    failed = cell("benchmark_app", state="failed", failure=Failure("compile", "no kernel for Foo"))
    with pytest.raises(CommandFailed, match="benchmark_app has no figures: no kernel for Foo"):
        parity(table(cell("openvino"), failed), "openvino", "benchmark_app", "sync")


def test_rows_that_were_not_compared_are_a_failure_and_no_parity() -> None:
    with pytest.raises(CommandFailed, match="were not compared"):
        parity(table(cell("openvino", speedup=None), cell("benchmark_app")), "openvino", "benchmark_app", "sync")


def test_a_bare_loop_times_its_calls_back_to_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0

    def call() -> None:
        nonlocal now
        now += 300

    monkeypatch.setattr(ort_loop, "now_ns", lambda: now)
    assert ort_loop.timed_calls(call, 4) == {"ns": [300] * 4, "total_ns": 1200}
