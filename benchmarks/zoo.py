"""Every model of the zoo once: exported, optimised, verified and measured: ``make zoo``.

Bundles come from and stay in the user's cache, runs with their raw samples in the results folder.
"""

from __future__ import annotations

import fnmatch
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from benchmarks.output import refuse_unwritable
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from benchmarks.zoo_table import Tour, as_table
from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.identity import missing_distributions
from irbench.measure.clock import Stopwatch
from irbench.spec import shape_text
from irbench.spi import install_command
from irbench.store import bundles, decode_document
from irbench.terminal.console import print_data, to_text

_LEVEL = "extended"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="PATTERN", help="Names such as 'resnet*'; may be repeated.")
@click.option("--backends", default="ort,openvino", show_default=True, help="What measures them.")
@click.option("--budget", default="15s", show_default=True, help="Time to measure one model for.")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
@click.option("--format", "form", type=click.Choice(["table", "md"]), default="table", help="How to print it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead.")
def main(only: Sequence[str], backends: str, budget: str, results: Path, form: str, output: Path | None) -> None:
    """Export, optimise, verify and measure every model of the zoo once; exits with 1 where a row of one fails."""
    asked = ("--backends", backends, "--budget", budget, "--results", results.absolute())
    refuse_unwritable(output)
    try:
        with tempfile.TemporaryDirectory(prefix="irbench-zoo-") as folder:
            bench = Workbench(Path(folder), quick=False)
            tours: list[Tour] = []
            for tour in _tours(_names(only), lambda name: visit(bench, name, asked)):
                tours.append(tour)
                if output is not None:  # what is known so far outlives an interruption
                    print_data(_text(tours, form, to_file=True), output)
    except IrbenchError as error:
        raise click.UsageError(f"{error.message} {error.hint}") from error
    if output is None:
        print_data(_text(tours, form, to_file=False), None)
    raise SystemExit(ExitCode.OK if all(item.is_complete for item in tours) else ExitCode.DIFFERENT)


def _text(tours: Sequence[Tour], form: str, *, to_file: bool) -> str:
    table = as_table(tours)
    return table.as_markdown() if form == "md" else to_text(table, to_file=to_file)


def visit(bench: Workbench, name: str, asked: Sequence[object]) -> Tour:
    """Optimise a model, which exports it where that was not done before, then measure its graph before and after."""
    home, sizes = bundles.home(), ("--batch", 1, *_default_shapes(name))
    watch = Stopwatch()
    try:
        optimized = bench.irbench("optimize", name, "--level", _LEVEL, *sizes, "--format", "json", home=home)
        prepared_s = watch.elapsed_s
        levels = ("--optimize", f"none,{_LEVEL}")
        how = ("--quick", "--format", "json", *asked)
        run = bench.irbench("run", name, *sizes, *levels, *how, home=home, accept=MEASURED)
    except CommandFailed as error:
        return Tour(name, failure=str(error))
    (lineage,) = json.loads(optimized.out)["optimized"]
    (group,) = decode_document(run.out.encode(), "the run").groups
    steps = lineage["steps"]
    nodes = (sum(steps[0]["operators"].values()), sum(steps[-1]["operators"].values()))
    return Tour(name, registry.model(name), nodes, group, prepared_s)


def _default_shapes(name: str) -> Iterator[object]:
    """Yield the options that bind each input's free dimensions as a run without options does."""
    source = registry.model(name)
    sizes = {"batch": 1, **source.defaults}
    for tensor in source.inputs:
        if set(tensor.tensor.dynamic_dimensions) - {"batch"}:
            shape = shape_text(tensor.tensor.bind(sizes).shape)
            yield from ("--shape", f"{tensor.tensor.name}={shape}")


def _names(patterns: Sequence[str]) -> list[str]:
    known = registry.names(registry.MODELS)
    chosen = [name for name in known if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    if not chosen:
        raise IrbenchError(f"No model is called like {', '.join(patterns)}.", hint="See: irbench models")
    missing = {name: lacking for name in chosen if (lacking := missing_distributions(name))}
    if missing:
        parts = sorted(set().union(*missing.values()))
        message = f"{len(missing)} of {len(chosen)} models are left out, because {', '.join(parts)} is not installed."
        if len(missing) == len(chosen):
            raise IrbenchError(message, hint=f"Install it: {install_command(*parts)}")
        click.echo(message, err=True)
    return [name for name in chosen if name not in missing]


def _tours(names: Sequence[str], item: Callable[[str], Tour]) -> Iterator[Tour]:
    watch = Stopwatch()
    for number, name in enumerate(names, 1):
        click.echo(f"{watch.elapsed_s:5.0f} s  {number} of {len(names)}: {name}", err=True)
        tour = item(name)
        if tour.failure:
            click.echo(f"         {tour.failure}", err=True)
        yield tour
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)


if __name__ == "__main__":
    main()
