"""Whether irbench finds a truth that is known: ``make bench-truth``.

Backends that do what a clock says show that nothing between the clock and the table distorts a figure; real runtimes
on work of known length show what is left of that amid their own noise; and the ablation shows which part of the
protocol that is owed to.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from benchmarks import known_speed
from benchmarks.output import refuse_unwritable
from benchmarks.power import power_steps
from benchmarks.real_noise import RealNoise
from benchmarks.steps import Step
from benchmarks.truth_report import ABLATION, KNOWN, PARTS, POWER, REAL, STREAMS, Report
from benchmarks.workbench import CommandFailed, Workbench
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.terminal.console import print_data

_USUAL = (KNOWN, STREAMS, REAL)
_BACKENDS = "ort,openvino"


class _NotMeasured(click.ClickException):
    """Says what is wrong, with an exit code that is not that of a missed goal."""

    exit_code = int(ExitCode.USAGE)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--only", multiple=True, type=click.Choice(PARTS), help="May be repeated.  [default: all but ablation and power]"
)
@click.option("--ablation", is_flag=True, help="What each part of the protocol buys: short for --only ablation.")
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Of every ratio.")
@click.option("--backends", default=_BACKENDS, show_default=True, help="Runtimes whose noise is met.")
@click.option("--format", "form", type=click.Choice(["table", "md"]), default="table", help="How to print it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead.")
def main(only: Sequence[str], ablation: bool, runs: int, backends: str, form: str, output: Path | None) -> None:
    """Measure what is known already, and say how near irbench's numbers come to the truth.

    Exits with 1 where fewer than 17 of 20 intervals hold a ratio, more than 2 of 20 runs tell equals apart, or a figure
    of a backend that does what a clock says is off by more than 1 %; for ``power``, where more than 1 of 20 runs report
    a difference between equal graphs, or any calls the longer graph faster. With 2 where something could not be
    measured.
    """
    parts = (*only, *((ABLATION,) if ablation else ())) or _USUAL
    if {KNOWN, STREAMS} & set(parts) and not known_speed.is_installed():
        raise _NotMeasured("The backends of known speed are not installed here; call: make bench-truth")
    refuse_unwritable(output)
    report = Report(parts)
    with tempfile.TemporaryDirectory(prefix="irbench-truth-") as folder:
        bench = Workbench(Path(folder), quick=False)
        for _ in _measured(list(_steps(bench, parts, backends.split(","), runs)), report):
            if output is not None:  # what is known so far outlives an interruption
                print_data(report.text(form, to_file=True), output)
    if output is None:
        print_data(report.text(form, to_file=False), None)
    for sentence in report.missed():
        click.echo(f"missed: {sentence}", err=True)
    sys.exit(ExitCode.USAGE if report.failures else ExitCode.DIFFERENT if report.missed() else ExitCode.OK)


def _steps(bench: Workbench, parts: Sequence[str], backends: Sequence[str], runs: int) -> Iterator[Step]:
    noise = RealNoise(bench, backends, runs)
    if KNOWN in parts:
        yield from known_speed.ratio_steps(bench, runs)
    if STREAMS in parts:
        yield from known_speed.throughput_steps(bench)
    if REAL in parts:
        yield from noise.linear_steps()
    if REAL in parts or ABLATION in parts:
        yield from noise.steps(ablation=ABLATION in parts)
    if POWER in parts:
        yield from power_steps(bench, backends, runs)


def _measured(steps: Sequence[Step], report: Report) -> Iterator[None]:
    """Measure one step after the other, keep what each found or why it failed, and stop after each for a moment."""
    watch = Stopwatch()
    for number, step in enumerate(steps, start=1):
        click.echo(f"{watch.elapsed_s:5.0f} s  {number} of {len(steps)}: {step.words}", err=True)
        try:
            report.take(step.measure())
        except (CommandFailed, IrbenchError) as error:
            report.fail(step.words, str(error))
            click.echo(f"not measured: {step.words}: {error}", err=True)
        yield
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)


if __name__ == "__main__":
    main()
