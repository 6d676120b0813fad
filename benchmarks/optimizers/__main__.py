"""irbench's optimiser beside others on PyTorch models: ``make bench-optimizers``.

Every model of an exporter is a unit that is kept when it is done, so that a call goes on where the last one stopped.
The page is of every unit that any call has kept. Graphs and runs lie elsewhere: they are large.
"""

from __future__ import annotations

import fnmatch
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import click

from benchmarks.optimizers.graphs import folder_of, keep, kept, stored, visit
from benchmarks.optimizers.notes import WHY_BEHIND
from benchmarks.optimizers.page import Measured, as_page
from benchmarks.optimizers.speeds import measure, stored_speeds
from benchmarks.optimizers.subjects import EXPORTERS, SUBJECTS, Exporter, Subject
from benchmarks.output import refuse_unwritable
from benchmarks.workbench import Workbench
from irbench.measure.clock import Stopwatch
from irbench.terminal.console import print_data

_Chosen = Sequence[tuple[Subject, Exporter]]
_EARLIER = "earlier.md"
"""Rows of units that are not kept, beside those that are; ends the page."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="PATTERN", help="Models such as 'gpt2*'; may be repeated.")
@click.option("--exporter", multiple=True, type=click.Choice(EXPORTERS), help="May be repeated.")
@click.option("--place", type=click.Path(path_type=Path), default=Path("build/optimizer-graphs"), show_default=True,
              help="Where graphs and runs are kept.")  # fmt: skip
@click.option("--facts", type=click.Path(path_type=Path), default=Path("results/reference/optimizers"),
              show_default=True, help="Where what was found is kept, a file each; all are on the page.")  # fmt: skip
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
    earlier = facts / _EARLIER
    ending = earlier.read_text(encoding="utf-8") if earlier.exists() else ""
    print_data(as_page(_known(place, facts), WHY_BEHIND, ending), output)


def _done(place: Path, facts: Path, chosen: _Chosen, budget: str | None) -> Iterator[str]:
    """Do what is not done yet, and yield what was done each time."""
    for subject, exporter in chosen:
        unit = stored(folder_of(place, subject, exporter))
        if unit is not None:
            if kept(facts, subject, exporter) is None:
                keep(facts, unit)
            continue
        unit = visit(place, subject, exporter)
        keep(facts, unit)
        yield f"{subject.name}, {exporter}: {unit.failure or 'made and compared'}"
    if budget is None:
        return
    with tempfile.TemporaryDirectory(prefix="irbench-optimizers-") as scratch:
        bench = Workbench(Path(scratch), quick=False)
        for subject, exporter in chosen:
            folder = folder_of(place, subject, exporter)
            unit_found = stored(folder)
            if unit_found is not None and unit_found.graphs and stored_speeds(folder) is None:
                yield f"{subject.name}, {exporter}: {measure(bench, folder, unit_found, subject, budget) or 'measured'}"


def _known(place: Path, facts: Path) -> list[Measured]:
    known = (
        (unit, folder_of(place, subject, exporter))
        for subject, exporter in product(SUBJECTS, EXPORTERS)
        if (unit := kept(facts, subject, exporter)) is not None
    )
    return [Measured(unit, stored_speeds(folder)) for unit, folder in known]


if __name__ == "__main__":
    main()
