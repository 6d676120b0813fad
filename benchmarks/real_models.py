"""Trained models from pinned wheels, verified on real inputs, optimised and measured: ``make bench-real``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.output import refuse_unwritable
from benchmarks.real.subjects import SUBJECTS
from benchmarks.real.table import as_table
from benchmarks.real.tour import Scope, Tour, visit
from benchmarks.real.wheels import WheelsUnavailable, fetch
from benchmarks.workbench import Workbench
from irbench.measure.clock import Stopwatch
from irbench.terminal.console import print_data, to_text

_NAMES = [subject.name for subject in SUBJECTS]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, type=click.Choice(_NAMES), help="May be repeated.")
@click.option("--quick", is_flag=True, help="Three launches: whether everything works, not how fast it is.")
@click.option("--backends", default="ort,openvino", show_default=True, help="What runs them.")
@click.option("--budget", default="150s", show_default=True, help="Time for each table.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write Markdown to FILE as well.")
def main(only: Sequence[str], quick: bool, backends: str, budget: str, output: Path | None) -> None:
    """Take trained models through irbench, on inputs that they were trained for.

    Exits with 1 where something fails or answers wrongly, and with 0 where the wheels cannot be downloaded.
    """
    refuse_unwritable(output)
    try:
        root = fetch(subject.path for subject in SUBJECTS)
    except WheelsUnavailable as reason:
        click.echo(f"skipped: the wheels with the models cannot be downloaded: {reason}", err=True)
        return
    scope = Scope(backends=backends, how=("--quick",) if quick else ("--budget", budget))
    watch, tours = Stopwatch(), list[Tour]()
    with tempfile.TemporaryDirectory(prefix="irbench-real-") as folder:
        bench = Workbench(Path(folder), quick=quick)
        for subject in SUBJECTS:
            if not only or subject.name in only:
                click.echo(f"{watch.elapsed_s:5.0f} s  {subject.name}", err=True)
                tours.append(visit(bench, subject, root, scope))
                if output is not None:  # what is known so far outlives an interruption
                    print_data(as_table(tours).as_markdown(), output)
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)
    print_data(to_text(as_table(tours)), None)
    if any(tour.wrong for tour in tours):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
