"""Backends whose calls last a given time by the real clock, measured through the command line in real processes.

Each process runs at a speed of its own, as those of real runtimes do, so that an interval over launches has something
to cover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from benchmarks.claims import Claim, claim_of_row
from benchmarks.steps import Step
from benchmarks.truth_figures import ThroughputFigures, throughput_figures
from benchmarks.workbench import Workbench
from irbench.core import registry
from irbench.core.result import GroupResult
from irbench.onnx.probe_graph import matmul
from irbench.store.run_document import decode_document

_BASELINE = "known-a"
_RATIOS = {"known-b": 1.00, "known-c": 1.02, "known-d": 1.05, "known-e": 2.00}
"""How many times as fast as the baseline each backend truly is."""
_CALL_US = 2142
"""Of the baseline; every ratio divides it into whole microseconds."""
_STREAMS = (1, 2, 4)
_STREAM_CALL_US = 10_000
_STALL_MS, _STALL_EVERY = 4, 4
_LAUNCH_SD = 0.003
"""How far launches scatter: an interval has something to be about, and a few launches still reach the target."""
_RUN_BUDGET, _STREAMS_BUDGET = "80s", "100s"
_ALONE = ("--sustain", "3s")


def is_installed() -> bool:
    """Whether irbench finds the backends of known speed."""
    return _BASELINE in registry.names(registry.BACKENDS)


def ratio_steps(bench: Workbench, runs: int) -> Iterator[Step]:
    """Yield so many runs, each of the baseline and of a backend for each ratio."""
    for seed in range(1, runs + 1):
        yield Step(f"known speeds, run {seed} of {runs}", partial(_compare, bench, seed))


def throughput_steps(bench: Workbench) -> Iterator[Step]:
    """Yield a run with several numbers of streams, and one whose calls stall."""
    yield Step(f"{', '.join(map(str, _STREAMS))} streams", partial(_measure_streams, bench))
    yield Step("stalls", partial(_measure_stalls, bench))


def _compare(bench: Workbench, seed: int) -> Sequence[Claim]:
    speeds = {_BASELINE: 1.0, **_RATIOS}
    calls_us = {f"{name}.call_us": round(_CALL_US / ratio) for name, ratio in speeds.items()}
    scatter = {f"{name}.launch_sd": _LAUNCH_SD for name in speeds}
    backends = ("--backends", ",".join(speeds), "--baseline", _BASELINE)
    table = run_once(bench, {**calls_us, **scatter}, *backends, "--budget", _RUN_BUDGET, "--seed", seed)
    return [claim_of_row(table, backend, ratio) for backend, ratio in _RATIOS.items()]


def _measure_streams(bench: Workbench) -> Sequence[ThroughputFigures]:
    """Measure one backend with several numbers of streams, which sleep so that they overlap."""
    asked = {f"{_BASELINE}.call_us": _STREAM_CALL_US, f"{_BASELINE}.wait": "sleep"}
    load = ("--streams", ",".join(map(str, _STREAMS)), "--threads", max(_STREAMS))
    table = run_once(bench, asked, "--backends", _BASELINE, "--budget", _STREAMS_BUDGET, *load, *_ALONE)
    return throughput_figures(_STREAM_CALL_US / 1e6, table)


def _measure_stalls(bench: Workbench) -> Sequence[ThroughputFigures]:
    """Measure calls that stall, which a throughput must count in full and a median ignores."""
    asked = {
        f"{_BASELINE}.call_us": _CALL_US,
        f"{_BASELINE}.stall_ms": _STALL_MS,
        f"{_BASELINE}.stall_every": _STALL_EVERY,
    }
    table = run_once(bench, asked, "--backends", _BASELINE, "--budget", _RUN_BUDGET, *_ALONE)
    words = f"each {_STALL_EVERY}th call {_STALL_MS} ms longer"
    return throughput_figures(_CALL_US / 1e6 + _STALL_MS / 1e3 / _STALL_EVERY, table, words)


def run_once(bench: Workbench, settings: Mapping[str, object], *arguments: object) -> GroupResult:
    """Call irbench and return its only table."""
    model = matmul(bench.scratch, "fp32").path
    asked = (part for name, value in settings.items() for part in ("--set", f"{name}={value}"))
    done = bench.irbench("run", model, *arguments, *asked, "--format", "json")
    (table,) = decode_document(done.out.encode(), "the run").groups
    return table
