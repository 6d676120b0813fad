"""Backbones of keras-hub: exported, optimised at every level, and compared on every runtime: ``make zoo-keras-hub``.

Bundles come from and stay in the user's cache.
"""

from __future__ import annotations

import fnmatch
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import click

import irbench
from benchmarks.backbone_check import CheckRequest, GraphError
from benchmarks.backbone_table import LEVELS, Backbone, as_page, as_table
from benchmarks.output import refuse_unwritable
from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.identity import missing_distributions
from irbench.features.optimize.report import OptimizedModel
from irbench.measure.clock import Stopwatch
from irbench.onnx.rewriting.bind import bind
from irbench.spec import BATCH, Artifact
from irbench.terminal.console import print_data, to_text
from irbench.worker import call_in_worker

PREFIX = "keras_hub_"
_BATCH = 2
_DEADLINE_S = 600.0
_BACKENDS = ("ort", "openvino")
_VERSIONS = ("keras-hub", "onnxruntime", "openvino")


def names(patterns: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the backbones of the zoo whose names without :data:`PREFIX` match one of the patterns, or all.

    Raises:
        IrbenchError: There is none.
    """
    known = [name for name in registry.names(registry.MODELS) if name.startswith(PREFIX)]
    chosen = [
        name
        for name in known
        if not patterns or any(fnmatch.fnmatch(name.removeprefix(PREFIX), pattern) for pattern in patterns)
    ]
    if not chosen:
        raise IrbenchError(
            f"No backbone is called like {', '.join(patterns)}.", hint="See: irbench models --family keras-hub"
        )
    return tuple(chosen)


def visit(model: str, backends: Sequence[str] = _BACKENDS) -> Backbone:
    """Optimise a model at every level, which exports it where that was not done before, and compare the graphs.

    Args:
        model: Its name in the zoo.
        backends: What runs the graphs.
    """
    name = model.removeprefix(PREFIX)
    sizes = {BATCH: _BATCH, **registry.model(model).defaults}
    try:
        made = {level: _optimized(model, level) for level in LEVELS}
        errors = _compared(made, sizes, backends)
    except IrbenchError as error:
        return Backbone(name, failure=error.message)
    first = made[LEVELS[0]].lineage.steps[0]
    operators = {"none": first.operators, **{level: item.lineage.steps[-1].operators for level, item in made.items()}}
    return Backbone(name, operators, errors)


def _optimized(model: str, level: str) -> OptimizedModel:
    shape = {name: str(size) for name, size in registry.model(model).defaults.items()}
    return irbench.optimize(model, level=level, batch=_BATCH, shape=shape, progress=None)


def _compared(
    made: dict[str, OptimizedModel], sizes: dict[str, int], backends: Sequence[str]
) -> tuple[GraphError, ...]:
    bundle = made[LEVELS[0]].bundle
    exported = bundle.artifact(("onnx",))
    assert exported is not None
    with tempfile.TemporaryDirectory(prefix="irbench-backbone-") as folder:
        bound = bind(exported, sizes, Path(folder))
        graphs: dict[str, Artifact] = {"none": bound}
        graphs |= {level: replace(bound, path=model.kept_path) for level, model in made.items()}
        request = CheckRequest(bound, graphs, bundle.inputs, sizes, bundle.seed, tuple(backends))
        found: tuple[GraphError, ...] = call_in_worker(
            "benchmarks.backbone_check:check_graphs", request, deadline_s=_DEADLINE_S
        )
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="PATTERN", help="Names such as 'gemma*'; may be repeated.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write a page to FILE as well.")
def main(only: Sequence[str], output: Path | None) -> None:
    """Export small backbones of keras-hub, optimise them at every level and compare the answers on both runtimes.

    Exits with 1 where one fails or answers wrongly.
    """
    refuse_unwritable(output)
    try:
        chosen = names(only)
        missing = missing_distributions(chosen[0])
    except IrbenchError as error:
        raise click.UsageError(f"{error.message} {error.hint}") from error
    if missing:
        raise click.UsageError(f"{', '.join(missing)} is not installed: make zoo-keras-hub installs it for one call.")
    watch, found = Stopwatch(), list[Backbone]()
    for number, model in enumerate(chosen, 1):
        click.echo(f"{watch.elapsed_s:5.0f} s  {number} of {len(chosen)}: {model}", err=True)
        found.append(visit(model))
        if found[-1].failure:
            click.echo(f"         {found[-1].failure}", err=True)
        if output is not None:  # what is known so far outlives an interruption
            print_data(_page(found), output)
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)
    print_data(to_text(as_table(found, _BACKENDS)), None)
    raise SystemExit(ExitCode.OK if all(backbone.is_complete for backbone in found) else ExitCode.DIFFERENT)


def _page(found: Sequence[Backbone]) -> str:
    length = max((size for name in names() for size in registry.model(name).defaults.values()), default=0)
    return as_page(found, _BACKENDS, (_BATCH, length), {name: version(name) for name in _VERSIONS})


if __name__ == "__main__":
    main()
