"""irbench's optimiser beside others on PyTorch models: ``make bench-optimizers``.

Every model of an exporter is a unit that is kept when it is done, so that a call goes on where the last one stopped.
The page is of every unit that any call has kept. Graphs and runs lie elsewhere: they are large.
"""

from __future__ import annotations

import fnmatch
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import click

from benchmarks.optimizers.graphs import Unit, folder_of, keep, kept, stored, visit
from benchmarks.optimizers.notes import WHY_BEHIND
from benchmarks.optimizers.page import as_page
from benchmarks.optimizers.speeds import measure
from benchmarks.optimizers.subjects import EXPORTERS, SUBJECTS, Exporter, Subject
from benchmarks.output import refuse_unwritable
from benchmarks.workbench import Workbench
from irbench.measure.clock import Stopwatch
from irbench.terminal.console import print_data

_Chosen = Sequence[tuple[Subject, Exporter]]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="PATTERN", help="Models such as 'gpt2*'; may be repeated.")
@click.option("--exporter", multiple=True, type=click.Choice(EXPORTERS), help="May be repeated.")
@click.option("--place", type=click.Path(path_type=Path), default=Path("build/optimizer-graphs"), show_default=True,
              help="Where graphs and runs are kept.")  # fmt: skip
@click.option("--facts", type=click.Path(path_type=Path), default=Path("results/reference/optimizers"),
              show_default=True,
              help="Where facts are kept, a file each; models that have one are not made again.")  # fmt: skip
@click.option("--speeds/--no-speeds", default=True, show_default=True, help="Whether to measure.")
@click.option("--budget", default="60s", show_default=True, help="Time for each table of speeds.")
@click.option("--seconds", type=float, default=float("inf"), help="Begin nothing after so many seconds.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the page to FILE.")
def main(
    only: Sequence[str],
    exporter: Sequence[Exporter],
    place: Path,
    facts: Path,
    speeds: bool,
    budget: str,
    seconds: float,
    output: Path | None,
) -> None:
    """Optimise PyTorch models with irbench and others; count nodes, compare answers, and measure."""
    refuse_unwritable(output)
    chosen: _Chosen = [
        (subject, name)
        for name in exporter or EXPORTERS
        for subject in SUBJECTS
        if not only or any(fnmatch.fnmatch(subject.name, pattern) for pattern in only)
    ]
    watch = Stopwatch()
    for words in _done(place, facts, chosen, budget if speeds else None):
        click.echo(f"{watch.elapsed_s:5.0f} s  {words}", err=True)
        if watch.elapsed_s > seconds:
            break
    print_data(as_page(_known(facts), WHY_BEHIND), output)


def _done(place: Path, facts: Path, chosen: _Chosen, budget: str | None) -> Iterator[str]:
    """Do what is not done yet, and yield what was done each time."""
    for subject, exporter in chosen:
        known = kept(facts, subject, exporter)
        if known is not None and (budget is None or not _is_to_be_measured(known)):
            continue
        unit = stored(folder_of(place, subject, exporter))
        if unit is not None and known is None:
            keep(facts, unit)
        elif unit is None:
            unit = visit(place, subject, exporter)
            keep(facts, unit)
            yield f"{subject.name}, {exporter}: {unit.failure or 'made and compared'}"
    if budget is not None:
        yield from _measured(place, facts, chosen, budget)


def _measured(place: Path, facts: Path, chosen: _Chosen, budget: str) -> Iterator[str]:
    """Measure the graphs of each unit that has no speeds, and yield which that was or why it failed."""
    with tempfile.TemporaryDirectory(prefix="irbench-optimizers-") as scratch:
        bench = Workbench(Path(scratch), quick=False)
        for subject, exporter in chosen:
            unit = kept(facts, subject, exporter)
            if unit is None or not _is_to_be_measured(unit):
                continue
            speeds = measure(bench, folder_of(place, subject, exporter), unit, subject, budget)
            if not isinstance(speeds, str):
                keep(facts, replace(unit, speeds=speeds))
            yield f"{subject.name}, {exporter}: {speeds if isinstance(speeds, str) else 'measured'}"


def _is_to_be_measured(unit: Unit) -> bool:
    return unit.speeds is None and bool(unit.graphs)


def _known(facts: Path) -> list[Unit]:
    found = (kept(facts, subject, exporter) for subject, exporter in product(SUBJECTS, EXPORTERS))
    return [unit for unit in found if unit is not None]


if __name__ == "__main__":
    main()
