"""What each level of optimisation gains on backbones of keras-hub at sizes that are used, and where it loses.

``make bench-backbones``. With ``--models FOLDER --prepare`` they are exported and optimised, which needs the extra
``keras-hub``; without ``--prepare`` they are measured as well, by irbench itself: a table for each model and backend,
with the graph as exported as baseline.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import click

from benchmarks.backbone_sizes import TOKENS
from benchmarks.fusion_figures import LEVELS, Comparison, compare
from benchmarks.fusion_tables import graph_table, slower_levels
from benchmarks.output import refuse_unwritable
from benchmarks.stored import run_stored
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.optimizer import UNOPTIMIZED, read_lineage
from irbench.store.card import CARD
from irbench.terminal.console import print_data, to_text


@dataclass(frozen=True)
class _Subject:
    """A model at a size.

    Attributes:
        name: Of its function in :mod:`benchmarks.backbone_sizes`.
        words: What tables call it.
        sizes: Options of ``irbench`` that bind its shapes.
    """

    name: str
    words: str
    sizes: tuple[str, ...] = ("--batch", "1")


_TEXT = ("--batch", "1", "--shape", f"sequence={TOKENS}")
_SUBJECTS = (
    _Subject("bert", f"bert base, {TOKENS} tokens", _TEXT),
    _Subject("gpt2", f"gpt2 base, {TOKENS} tokens", _TEXT),
    _Subject("llama", f"llama 8 x 512, {TOKENS} tokens", _TEXT),
    _Subject("whisper", "whisper base, 10 s, 64 tokens"),
    _Subject("vit", "vit 8 x 768, 224 pixels"),
    _Subject("swin", "swin tiny, 224 pixels"),
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, type=click.Choice([item.name for item in _SUBJECTS]), help="May be repeated.")
@click.option("--models", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER", help="Keep them there.")
@click.option("--prepare", is_flag=True, help="Export and optimise what is missing, and measure nothing.")
@click.option("--quick", is_flag=True, help="Three launches: whether everything works, not what it gains.")
@click.option("--backends", default="ort,openvino", show_default=True, help="What measures them.")
@click.option("--budget", default="80s", show_default=True, help="Time for each table.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write Markdown to FILE as well.")
def main(
    only: Sequence[str],
    models: Path | None,
    prepare: bool,
    quick: bool,
    backends: str,
    budget: str,
    output: Path | None,
) -> None:
    """Measure what each level of optimisation gains, and mark every level that is slower than none.

    Exits with 1 where something could not be measured or answers wrongly.
    """
    if prepare and models is None:
        raise click.UsageError("--prepare needs a folder that stays: --models FOLDER.")
    refuse_unwritable(output)
    how = ("--quick",) if quick else ("--budget", budget)
    chosen = [item for item in _SUBJECTS if not only or item.name in only]
    watch, found = Stopwatch(), list[Comparison]()
    with tempfile.TemporaryDirectory(prefix="irbench-backbones-") as folder:
        bench = Workbench(Path(folder), quick=quick)
        kept = (models or Path(folder) / "models").absolute()
        if prepare:
            _prepare_all(bench, kept, chosen)
            return
        for subject, backend in product(chosen, backends.split(",")):
            click.echo(f"{watch.elapsed_s:5.0f} s  {subject.words} on {backend}", err=True)
            found.append(_measured(bench, kept / subject.name, subject, (*how, "--backends", backend)))
            if output is not None:  # what is known so far outlives an interruption
                print_data(_text(found, markdown=True), output)
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)
    print_data(_text(found, markdown=False), None)
    if not all(item.is_complete for item in found):
        raise SystemExit(ExitCode.DIFFERENT)


def _prepare_all(bench: Workbench, folder: Path, subjects: Sequence[_Subject]) -> None:
    watch = Stopwatch()
    for subject in subjects:
        click.echo(f"{watch.elapsed_s:5.0f} s  preparing {subject.words}", err=True)
        try:
            _prepare(bench, folder / subject.name, subject)
        except CommandFailed as error:
            raise click.ClickException(f"{subject.words}: {error}") from error
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)


def _prepare(bench: Workbench, place: Path, subject: _Subject) -> None:
    """Export a model and optimise it at every level, as far as that was not done before."""
    _export(bench, place, subject)
    for level in LEVELS:
        bench.irbench("optimize", place, "--level", level, *subject.sizes)


def _export(bench: Workbench, place: Path, subject: _Subject) -> None:
    if not (place / CARD).exists():
        source = f"{Path(__file__).with_name('backbone_sizes.py')}:{subject.name}"
        bench.irbench("export", source, "--weights", "random", "-o", place)


def _measured(bench: Workbench, place: Path, subject: _Subject, how: Sequence[str]) -> Comparison:
    """Return what a run found; where it failed, the reason."""
    backend = how[-1]
    try:
        _export(bench, place, subject)
        asked = (place, *subject.sizes, "--optimize", ",".join((UNOPTIMIZED, *LEVELS)), *how)
        run = run_stored(bench, ("irbench",), *asked, accept=MEASURED)
        names = (subject.words, backend)
        return compare(names, run.table, dict(_nodes(place)), run.observed, run.timing.confidence)
    except (CommandFailed, IrbenchError) as error:
        return Comparison(subject.words, backend, failure=str(error))


def _nodes(place: Path) -> Iterator[tuple[str, int]]:
    """Yield each level with the nodes of its graph, from what the optimiser kept of its steps; the newest last."""
    paths = sorted(place.glob("optimized/*/model.onnx"), key=lambda path: path.stat().st_mtime)
    for lineage in filter(None, map(read_lineage, paths)):
        yield UNOPTIMIZED, lineage.steps[0].nodes
        yield lineage.recipe.name, lineage.steps[-1].nodes


def _text(found: Sequence[Comparison], *, markdown: bool) -> str:
    table = graph_table(found)
    shown = table.as_markdown() if markdown else to_text(table).rstrip("\n")
    return "\n\n".join((shown, slower_levels(found)))


if __name__ == "__main__":
    main()
