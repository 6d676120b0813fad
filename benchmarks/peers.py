"""Throughput that irbench reports, against OpenVINO's own ``benchmark_app`` and a bare loop over ONNX Runtime.

Both sides read the same ONNX file, pin the same threads, streams and fp32, and count completions over the wall time
of one uninterrupted process; irbench's side is the *sustained* FPS of a run that is cut to a single launch. What is
timed is chosen to be the same too:

* ``benchmark_app`` fills its input tensors once and never reads outputs, as ``--io bound`` does. It is told ``-ip
  f32``: by itself it would turn image inputs into bytes and add a conversion to the graph.
* ``session.run`` takes host arrays and returns host arrays, as ``--io copy`` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.rows import Finding, Parity
from benchmarks.workbench import CommandFailed, Workbench, in_turn

__all__ = ["benchmark_app_fps", "measure_openvino", "measure_ort", "sustained_fps"]

_GOAL = Parity()
_REPEATS = 12
"""Enough that two repeats at each end, which the machine disturbed, do not decide."""
_ONE_LAUNCH = ("--budget", "1s")
"""Too little for a second launch."""
_THROUGHPUT = re.compile(r"Throughput:\s*([0-9.]+) FPS")


def measure_openvino(bench: Workbench) -> Iterator[Finding]:
    """Compare with ``benchmark_app``, one request at a time and with a stream for every thread."""
    for streams in sorted({1, bench.threads}):
        yield _against_benchmark_app(bench, streams)


def measure_ort(bench: Workbench) -> Iterator[Finding]:
    """Compare with a bare loop around ``session.run`` in a process of its own."""
    own, other = in_turn(bench.repeats(_REPEATS), lambda: _irbench(bench, "ort", "copy", 1), lambda: _bare_loop(bench))
    yield Finding("ort", "resnet50, sync", "FPS", own, other, "a bare loop", _GOAL, "--io copy")


def benchmark_app_fps(printed: str) -> float:
    """Return the throughput that ``benchmark_app`` printed.

    Raises:
        CommandFailed: There is none.
    """
    found = _THROUGHPUT.search(printed)
    if found is None:
        raise CommandFailed("benchmark_app printed no throughput")
    return float(found[1])


def sustained_fps(document: Any) -> float:
    """Return the sustained FPS of a run's only cell, from the run document.

    Raises:
        CommandFailed: The cell failed.
    """
    (group,) = document["groups"]
    (cell,) = group["cells"]
    if cell["sustained_fps"] is None:
        reason = cell["failure"]["message"] if cell["failure"] else "it was not run alone"
        raise CommandFailed(f"irbench gave no sustained FPS: {reason}")
    return float(cell["sustained_fps"])


def _against_benchmark_app(bench: Workbench, streams: int) -> Finding:
    own, other = in_turn(
        bench.repeats(_REPEATS),
        lambda: _irbench(bench, "openvino", "bound", streams),
        lambda: _benchmark_app(bench, streams),
    )
    mode = "sync" if streams == 1 else f"{streams} streams"
    return Finding("openvino", f"resnet50, {mode}", "FPS", own, other, "benchmark_app", _GOAL, "--io bound")


def _irbench(bench: Workbench, backend: str, io: str, streams: int) -> float:
    cell = ("--backends", backend, "--io", io, "--streams", streams, "--threads", bench.threads)
    alone = ("--sustain", f"{_seconds(bench)}s")
    kept = ("--results", bench.scratch / "sustained", "--format", "json")
    return sustained_fps(json.loads(bench.irbench("run", bench.bundle, *cell, *alone, *_ONE_LAUNCH, *kept).out))


def _benchmark_app(bench: Workbench, streams: int) -> float:
    driven = ("-api", "sync") if streams == 1 else ("-api", "async", "-nireq", streams)
    pinned = (
        "-hint",
        "none",
        "-nthreads",
        bench.threads,
        "-nstreams",
        streams,
        "-infer_precision",
        "f32",
        "-ip",
        "f32",
    )
    model = ("-m", bench.bundle / "model.onnx", "-d", "CPU")
    return benchmark_app_fps(bench.run("benchmark_app", *model, *driven, *pinned, "-t", _seconds(bench)).out)


def _bare_loop(bench: Workbench) -> float:
    model = bench.bundle / "model.onnx"
    return float(bench.run("python", "-m", "benchmarks.ort_loop", model, bench.threads, _seconds(bench)).out)


def _seconds(bench: Workbench) -> int:
    return 2 if bench.quick else 5
