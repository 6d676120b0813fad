"""The speed that irbench reports of a backend, against OpenVINO's ``benchmark_app`` and a bare loop over ONNX Runtime.

Each pair is a table of one run: the peer is a command of ``--cell``, which times itself and takes turns with irbench's
row in every block. Both sides read the same ONNX file, in fp32, with the same threads and streams. What is timed is
chosen to be the same too:

* ``benchmark_app`` fills its input tensors once and never reads outputs, as ``--io bound`` does. It is told ``-ip
  f32``: by itself it would turn image inputs into bytes and add a conversion to the graph.
* ``session.run`` takes host arrays and returns host arrays, as ``--io copy`` does.
"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.rows import Finding, Parity
from benchmarks.stored import run_stored
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.stats.intervals import Bound, Interval

_GOAL = Parity()
_BENCHMARK_APP = Path(__file__).parents[1] / "docs" / "examples" / "benchmark_app_cell.py"
_BUDGET = ("--budget", "240s")
_QUICK = ("--quick", "--budget", "30s")


def measure_openvino(bench: Workbench) -> Iterator[Finding]:
    """Compare with ``benchmark_app``, one request at a time and with a stream for every thread."""
    for streams in sorted({1, bench.threads}):
        driven = ("-api", "sync") if streams == 1 else ("-api", "async", "-nireq", "{streams}")
        pinned = ("-hint", "none", "-nthreads", "{threads}", "-nstreams", "{streams}", "-infer_precision", "f32")
        app = (sys.executable, _BENCHMARK_APP, "-m", "{model}", "-d", "CPU", *driven, *pinned, "-ip", "f32")
        table = _table(bench, "openvino", "benchmark_app", app, ("--io", "bound", "--streams", streams))
        yield parity(table, "openvino", "benchmark_app", "sync" if streams == 1 else f"{streams} streams")


def measure_ort(bench: Workbench) -> Iterator[Finding]:
    """Compare with a bare loop around ``session.run`` in a process of its own."""
    loop = (sys.executable, "-m", "benchmarks.ort_loop")
    yield parity(_table(bench, "ort", "bare-loop", loop, ("--io", "copy")), "ort", "bare-loop", "sync")


def parity(table: GroupResult, backend: str, peer: str, mode: str) -> Finding:
    """Return what a table of irbench's row and a peer says about the two.

    Args:
        table: It; the peer is its baseline.
        backend: Of irbench's row.
        peer: What the peer's row is called.
        mode: How both were driven.

    Raises:
        CommandFailed: One of them failed.
    """
    rows = {row.backend: row for row in table.cells}
    own, other = _measured(rows[backend]), _measured(rows[peer])
    speedup = own.speedup
    if speedup is None:
        raise CommandFailed(f"{backend} and {peer} were not compared")
    low, high = map(math.log, (speedup.ends or (speedup.value, speedup.value))[:2])
    confidence = None if speedup.verdict == "preview" else speedup.confidence
    return Finding(
        backend,
        f"{table.model}, {mode}",
        "FPS",
        (own.fps or math.nan,),
        (other.fps or math.nan,),
        peer,
        _GOAL,
        f"one table, --io {own.io}",
        interval=Interval(math.log(speedup.value), low, high, speedup.launches or 0, confidence, Bound(1)),
    )


def _measured(row: CellResult) -> CellResult:
    if row.state != "ok":
        reason = row.failure.message if row.failure is not None else row.state
        raise CommandFailed(f"{row.label} has no figures: {reason}")
    return row


def _table(
    bench: Workbench, backend: str, peer: str, command: Sequence[object], settings: Sequence[object]
) -> GroupResult:
    cell = f"{peer}={shlex.join(map(str, command))}"
    rows = ("--backends", backend, "--cell", cell, "--baseline", peer, "--threads", bench.threads)
    budget = _QUICK if bench.quick else _BUDGET
    return run_stored(bench, ("irbench",), bench.bundle, *rows, *settings, *budget, accept=MEASURED).table
