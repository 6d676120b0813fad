"""``irbench run``: measure models on backends and say which is fastest, by how much, and how sure that is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.cli.options.groups import OneOf, SectionedCommand
from irbench.cli.options.types import COUNTS, DURATION, LATENCY, PACE, SWEEP, PlainDefault
from irbench.cli.output.measured import measured, refuse_overwriting_models
from irbench.cli.output.stderr import say
from irbench.errors import IrbenchError
from irbench.spec import Objective

if TYPE_CHECKING:
    from irbench.api.options import RunOptions

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench run --backends ort,openvino --streams 4
  irbench run resnet50 --batch 1,8 --threads 1,2 --baseline ort
  irbench run model.onnx --shape tokens=1x128 --format json -o result.json
"""


_SECTIONS = {
    "all": "What is compared",
    "threads": "How it runs",
    "within": "How long, and how precise",
    "form": "Output",
}
"""Headings in the help, each above the option that it begins with."""


@click.command(
    "run",
    cls=SectionedCommand,
    sections=_SECTIONS,
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@click.option("--all", is_flag=True, help="Run every exported model.")
@measuring.IMPORTS
@measuring.backends("to compare", also="; none for the rows of --cell alone")
@measuring.CELL
@measuring.batch("Batch sizes; one row for each.")
@measuring.SHAPE
@measuring.DATA
@measuring.VALUE
@measuring.FEEDBACK
@click.option(
    "--shapes",
    type=SWEEP,
    help="Shapes that one session meets, of an input or a dimension (length=128,64): one table for each, with fixed and"
    " with dynamic shapes, and the cost of a new shape.",
)
@measuring.STREAMS
@click.option(
    "--instances",
    type=COUNTS,
    default=(1,),
    show_default=True,
    help="Processes that run the model side by side, each on its own processors: compared by throughput; one row for"
    " each number.",
)
@measuring.PRECISION
@measuring.optimize(
    "Optimisation levels to compare: none, basic, extended, all; with a conversion: basic-int8, int8, int8-static."
    " Converted graphs are compared although their precision differs."
)
@click.option(
    "--baseline",
    metavar="ROW",
    cls=PlainDefault,
    show_default="tf, otherwise the first",
    help="Row that speedups are relative to: ort, or ort@batch=8,threads=2 (also streams, instances, precision).",
)
@click.option("--apart", is_flag=True, help="Give every model and batch a table of its own.")
@click.option(
    "--objective",
    type=OneOf(get_args(Objective)),
    cls=PlainDefault,
    show_default="fps where streams or batches differ, otherwise latency",
    help="What rows are compared by: the median latency, FPS, or cost, the processor time per sample.",
)
@click.option(
    "--max-latency",
    type=LATENCY,
    help="Only rows whose p90 latency is at most this may be the best; compared by FPS without --objective.",
)
@measuring.ALLOW_MIXED
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.IO
@measuring.SEED
@measuring.WITHIN
@measuring.BUDGET
@measuring.DEADLINE
@measuring.QUICK
@measuring.THOROUGH
@measuring.TAIL
@click.option(
    "--pace",
    type=PACE,
    cls=PlainDefault,
    show_default="off",
    help="Also measure latency where a call comes every so often, with idle gaps between calls.",
)
@click.option(
    "--sustain",
    type=DURATION,
    cls=PlainDefault,
    show_default="off",
    help="Also run each row alone for this long in every launch.",
)
@measuring.COLD
@measuring.strict("a verdict or the winner is undecided")
@measuring.NO_LOCK
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the plan, its settings and the least time it takes, without measuring. Models are exported and graphs"
    " optimised for that.",
)
@measuring.NAME
@measuring.NOTE
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    dry_run: bool,
    yes: bool,
    **options: Any,
) -> int:
    """Measure models on backends and compare their speed.

    MODEL is a name from `irbench models`, an exported bundle, an ONNX file, or anything that `irbench export`
    takes. The default is the model exported last. A model that has not been exported yet is exported first.
    Outputs are verified before anything is timed. Every speedup has a confidence interval.
    """
    from irbench.api.measurement import describe_plan
    from irbench.api.options import RunOptions
    from irbench.cli.output.console import command_line

    asked = RunOptions(command=command_line(), **options)
    if dry_run and output is not None:
        raise IrbenchError("--dry-run measures nothing that -o could write.", hint="Leave one of them out.")
    refuse_overwriting_models(asked.models, output)
    if not yes and not _confirmed_first_run(asked):
        say("Nothing was measured. Name a model (irbench models lists them) or an ONNX file.")
        return 0
    if dry_run:
        click.echo(describe_plan(asked, say))
        return 0
    return measured(asked, form, output, strict=strict)


def _confirmed_first_run(asked: RunOptions) -> bool:
    """Say what a run without a model is going to do where nothing was exported yet; on a terminal, ask."""
    from irbench.api.resolve import FIRST_MODEL, is_first_run

    if is_first_run(asked.models, everything=asked.all):
        from irbench import registry
        from irbench.render.run_plan import first_run_text

        say(first_run_text(FIRST_MODEL, registry.installed_backends()))
        asks = sys.stdin.isatty() and sys.stderr.isatty()
        return not asks or click.confirm("Go on?", default=True, err=True)
    return True
