"""Whether irbench finds a truth that is known: ``make bench-truth``.

Backends whose calls last a given time by the real clock are measured through the command line, in real processes,
under the usual protocol. Each process runs at a speed of its own, as those of real runtimes do, so that an interval
over launches has something to cover.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from benchmarks.truth_figures import (
    RatioFigures,
    ThroughputFigures,
    missed_goals,
    ratio_figures,
    ratio_table,
    throughput_figures,
    throughput_table,
)
from benchmarks.workbench import CommandFailed, Workbench
from irbench import registry
from irbench.cli.console import print_data, to_text
from irbench.errors import ExitCode, IrbenchError
from irbench.ir.tiny import matmul
from irbench.measure.clock import Stopwatch
from irbench.result import GroupResult
from irbench.store import decode_document

_BASELINE = "known-a"
_RATIOS = {"known-b": 1.00, "known-c": 1.02, "known-d": 1.05, "known-e": 2.00}
"""How many times as fast as the baseline each backend truly is."""
_CALL_US = 2142
"""Of the baseline; every ratio divides it into whole microseconds."""
_STREAMS = (1, 2, 4)
_STREAM_CALL_US = 10_000
_STALL_MS, _STALL_EVERY = 4, 4
_LAUNCH_SD = 0.003
"""How far launches scatter: an interval has something to be about, and six launches still reach the target."""
_RUN_BUDGET, _STREAMS_BUDGET = "80s", "100s"


class _NotMeasured(click.ClickException):
    """Says what is wrong, with an exit code that is not that of a missed goal."""

    exit_code = int(ExitCode.USAGE)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Each measures every ratio.")
@click.option("--format", "form", type=click.Choice(["table", "md"]), default="table", help="How to print it.")
def main(runs: int, form: str) -> None:
    """Measure backends of known speed, and say how near irbench's numbers come to the truth.

    Exits with 1 where fewer than 17 of 20 intervals hold a ratio, an error is above 1 %, or more than 2 of 20 runs tell
    equals apart.
    """
    if _BASELINE not in registry.names(registry.BACKENDS):
        raise _NotMeasured("The backends of known speed are not installed here; call: make bench-truth")
    try:
        with tempfile.TemporaryDirectory(prefix="irbench-truth-") as folder:
            ratios, throughputs = _measure(Workbench(Path(folder), quick=False), runs)
    except (IrbenchError, CommandFailed) as error:
        raise _NotMeasured(str(error)) from error
    tables = (ratio_table(ratios), throughput_table(throughputs))
    print_data("\n\n".join(one.as_markdown() if form == "md" else to_text(one).rstrip("\n") for one in tables), None)
    missed = missed_goals(ratios, throughputs)
    for sentence in missed:
        click.echo(f"missed: {sentence}", err=True)
    sys.exit(ExitCode.DIFFERENT if missed else ExitCode.OK)


def _measure(bench: Workbench, runs: int) -> tuple[list[RatioFigures], tuple[ThroughputFigures, ...]]:
    watch = Stopwatch()
    tables: list[GroupResult] = []
    for run in range(1, runs + 1):
        click.echo(f"{watch.elapsed_s:5.0f} s  run {run} of {runs}", err=True)
        tables.append(_compare(bench, seed=run))
    click.echo(f"{watch.elapsed_s:5.0f} s  {', '.join(map(str, _STREAMS))} streams", err=True)
    throughputs = throughput_figures(_STREAM_CALL_US / 1e6, _measure_streams(bench))
    click.echo(f"{watch.elapsed_s:5.0f} s  stalls", err=True)
    throughputs += _measure_stalls(bench)
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)
    return [ratio_figures(ratio, backend, tables) for backend, ratio in _RATIOS.items()], throughputs


def _compare(bench: Workbench, seed: int) -> GroupResult:
    """Return the table of one run of the baseline and of a backend for each ratio."""
    speeds = {_BASELINE: 1.0, **_RATIOS}
    calls_us = {f"{name}.call_us": round(_CALL_US / ratio) for name, ratio in speeds.items()}
    scatter = {f"{name}.launch_sd": _LAUNCH_SD for name in speeds}
    backends = ("--backends", ",".join(speeds), "--baseline", _BASELINE)
    return _run(bench, {**calls_us, **scatter}, *backends, "--budget", _RUN_BUDGET, "--seed", seed)


def _measure_streams(bench: Workbench) -> GroupResult:
    """Return the table of one backend with several numbers of streams, which sleep so that they overlap."""
    asked = {f"{_BASELINE}.call_us": _STREAM_CALL_US, f"{_BASELINE}.wait": "sleep"}
    load = ("--streams", ",".join(map(str, _STREAMS)), "--threads", max(_STREAMS))
    return _run(bench, asked, "--backends", _BASELINE, "--budget", _STREAMS_BUDGET, *load)


def _measure_stalls(bench: Workbench) -> tuple[ThroughputFigures, ...]:
    """Return what was found where calls stall, which a throughput must count in full and a median ignores."""
    asked = {
        f"{_BASELINE}.call_us": _CALL_US,
        f"{_BASELINE}.stall_ms": _STALL_MS,
        f"{_BASELINE}.stall_every": _STALL_EVERY,
    }
    table = _run(bench, asked, "--backends", _BASELINE, "--budget", _RUN_BUDGET)
    words = f"each {_STALL_EVERY}th call {_STALL_MS} ms longer"
    return throughput_figures(_CALL_US / 1e6 + _STALL_MS / 1e3 / _STALL_EVERY, table, words)


def _run(bench: Workbench, settings: Mapping[str, object], *arguments: object) -> GroupResult:
    """Call irbench and return its only table."""
    model = matmul(bench.scratch, "fp32").path
    asked = (part for name, value in settings.items() for part in ("--set", f"{name}={value}"))
    done = bench.irbench("run", model, *arguments, *asked, "--format", "json")
    (table,) = decode_document(done.out.encode(), "the run").groups
    return table


if __name__ == "__main__":
    main()
