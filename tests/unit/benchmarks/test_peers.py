"""Reading what peers print, and counting what a loop completes."""

from __future__ import annotations

import pytest

from benchmarks import ort_loop
from benchmarks.peers import benchmark_app_fps, sustained_fps
from benchmarks.workbench import CommandFailed

PRINTED = """\
[Step 11/11] Dumping statistics report
[ INFO ] Execution Devices:['CPU']
[ INFO ] Count:            123 iterations
[ INFO ] Duration:         5020.02 ms
[ INFO ] Latency:
[ INFO ]    Median:        33.85 ms
[ INFO ] Throughput:   24.50 FPS
"""


def test_the_throughput_of_benchmark_app_is_read_from_its_last_lines() -> None:
    assert benchmark_app_fps(PRINTED) == 24.5


def test_output_without_a_throughput_is_a_failure_and_no_zero() -> None:
    with pytest.raises(CommandFailed, match="no throughput"):
        benchmark_app_fps("[ ERROR ] Exception from src/inference/src/cpp/core.cpp")


def test_the_sustained_fps_of_a_runs_only_cell_is_taken() -> None:
    assert sustained_fps({"groups": [{"cells": [{"sustained_fps": 41.5, "fps": 40.0}]}]}) == 41.5


def test_a_cell_that_failed_says_why() -> None:
    cell = {"sustained_fps": None, "failure": {"message": "no kernel for Foo"}}
    with pytest.raises(CommandFailed, match="no kernel for Foo"):
        sustained_fps({"groups": [{"cells": [cell]}]})


def test_a_cell_that_was_not_run_alone_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="not run alone"):
        sustained_fps({"groups": [{"cells": [{"sustained_fps": None, "failure": None}]}]})


def test_a_bare_loop_counts_completions_over_its_whole_wall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0

    def call() -> None:
        nonlocal now
        now += 300_000_000

    monkeypatch.setattr(ort_loop, "now_ns", lambda: now)
    # four calls of 0.3 s: the fourth, which passes the end of the second, counts in full and so does its time
    assert ort_loop.frames_per_second(call, 1.0) == pytest.approx(4 / 1.2)
