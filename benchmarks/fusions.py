"""What fusing a Transformer gains on each runtime, and how near that comes to a graph written by hand.

``make bench-fusions``. Every level and both graphs by hand are measured side by side, by irbench itself: six rows
of one table for each model and backend, with the graph as exported as baseline.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import click

from benchmarks.fusion_figures import HAND, LEVELS, Comparison, compare
from benchmarks.fusion_tables import graph_table, share_table
from benchmarks.output import refuse_unwritable
from benchmarks.stored import run_stored
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.errors import IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.optimizer import UNOPTIMIZED, read_lineage
from irbench.terminal.console import print_data, to_text


@dataclass(frozen=True)
class _Subject:
    """A model with a shape, on a backend.

    Attributes:
        model: Its name in the zoo.
        sequence: Tokens; ``None`` for images.
        backend: What runs it.
    """

    model: str
    sequence: int | None = None
    backend: str = ""

    @property
    def words(self) -> str:
        return self.model if self.sequence is None else f"{self.model}, {self.sequence} tokens"

    @property
    def shape(self) -> tuple[str, ...]:
        return () if self.sequence is None else ("--shape", f"tokens=1x{self.sequence}")


_SUBJECTS = (
    _Subject("transformer_base", 32),
    _Subject("transformer_base", 128),
    _Subject("bert_mini", 128),
    _Subject("vit_tiny"),
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, type=click.Choice([item.words for item in _SUBJECTS]), help="May be repeated.")
@click.option("--quick", is_flag=True, help="Three launches: whether everything works, not what it gains.")
@click.option("--backends", default="ort,openvino", show_default=True, help="What measures them.")
@click.option("--budget", default="150s", show_default=True, help="Time for each table.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write Markdown to FILE as well.")
def main(only: Sequence[str], quick: bool, backends: str, budget: str, output: Path | None) -> None:
    """Measure what each level of fusing gains, beside graphs written by hand.

    Exits with 1 where something could not be measured or answers wrongly.
    """
    refuse_unwritable(output)
    watch, found = Stopwatch(), list[Comparison]()
    how = ("--quick",) if quick else ("--budget", budget)
    with tempfile.TemporaryDirectory(prefix="irbench-fusions-") as folder:
        bench = Workbench(Path(folder), quick=quick)
        chosen = [item for item in _SUBJECTS if not only or item.words in only]
        for subject, backend in product(chosen, backends.split(",")):
            click.echo(f"{watch.elapsed_s:5.0f} s  {subject.words} on {backend}", err=True)
            found.append(_measured(bench, replace(subject, backend=backend), how))
            if output is not None:  # what is known so far outlives an interruption
                print_data(_text(found, markdown=True), output)
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)
    print_data(_text(found, markdown=False), None)
    if not all(item.is_complete for item in found):
        raise SystemExit(1)


def _measured(bench: Workbench, subject: _Subject, how: Sequence[str]) -> Comparison:
    """Return what a run found; where it failed, the reason.

    Args:
        bench: Where it runs.
        subject: What is measured.
        how: Options of ``irbench run``: for how long.
    """
    try:
        return _measure(bench, subject, how)
    except (CommandFailed, IrbenchError) as error:
        return Comparison(subject.words, subject.backend, failure=str(error))


def _measure(bench: Workbench, subject: _Subject, how: Sequence[str]) -> Comparison:
    levels = ",".join((UNOPTIMIZED, *LEVELS, *HAND))
    asked = (subject.model, *subject.shape, "--backends", subject.backend, "--optimize", levels, *how)
    run = run_stored(bench, ("python", "-m", "benchmarks.by_hand"), *asked, accept=MEASURED)
    nodes = dict(_nodes(bench, subject))
    return compare((subject.words, subject.backend), run.table, nodes, run.observed, run.timing.confidence)


def _nodes(bench: Workbench, subject: _Subject) -> Iterator[tuple[str, int]]:
    """Yield each level with the nodes of its graph, from what the optimiser kept of its steps."""
    for path in (bench.scratch / "home").glob(f"bundles/{subject.model}/*/optimized/*/model.onnx"):
        lineage = read_lineage(path)
        if lineage is not None and lineage.sizes.get("sequence") == subject.sequence:
            first, last = lineage.steps[0], lineage.steps[-1]
            yield UNOPTIMIZED, sum(first.operators.values())
            yield lineage.recipe.name, sum(last.operators.values())


def _text(found: Sequence[Comparison], *, markdown: bool) -> str:
    tables = (graph_table(found), share_table(found))
    return "\n\n".join(table.as_markdown() if markdown else to_text(table).rstrip("\n") for table in tables)


if __name__ == "__main__":
    main()
