"""``irbench run``: measure models on backends and say which is fastest, by how much, and how sure that is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irbench.cli.options import counting, devices, measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.cli.options.groups import SectionedCommand
from irbench.cli.options.resuming import ALLOW_OWN_CODE, RESUME, refuse_other_options
from irbench.cli.options.types import LATENCY, SWEEP, PlainDefault
from irbench.cli.output.measured import measured, refuse_overwriting_models, resumed
from irbench.cli.output.stderr import say
from irbench.errors import IrbenchError

if TYPE_CHECKING:
    from irbench.api.options import RunOptions
    from irbench.api.resume import ResumeOptions

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench run --backends ort,openvino --streams 4
  irbench run resnet50 --batch 1,8 --threads 1,2 --baseline ort
  irbench run model.onnx --shape tokens=1x128 --format json -o result.json
  irbench run --resume
"""


_SECTIONS = {
    "all": "What is compared",
    "threads": "How it runs",
    "within": "How long, and how precise",
    "resume": "Continuing a run",
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
@measuring.batch("Batch sizes.")
@measuring.SHAPE
@measuring.DATA
@measuring.VALUE
@measuring.FEEDBACK
@click.option(
    "--shapes",
    type=SWEEP,
    help="Shapes that one session is called with, of an input or a dimension (length=128,64): one table for each, with"
    " fixed and with dynamic shapes, and the cost of a new shape.",
)
@measuring.STREAMS
@measuring.INSTANCES
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
    help="Row that speedups are relative to: ort, or ort@batch=8,threads=2 (also streams, instances, precision,"
    " optimize, model).",
)
@click.option("--apart", is_flag=True, help="Give every model and batch a table of its own.")
@measuring.OBJECTIVE
@click.option(
    "--max-latency",
    type=LATENCY,
    help="Only rows whose p90 latency is at most this may be the best; compared by FPS without --objective.",
)
@measuring.MIN_ACCURACY
@measuring.METRIC
@measuring.ALLOW_MIXED
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.VARY
@measuring.ROWS
@measuring.IO
@devices.REQUIRE_FULL
@measuring.SEED
@measuring.WITHIN
@measuring.BUDGET
@measuring.DEADLINE
@measuring.QUICK
@measuring.THOROUGH
@measuring.TAIL
@measuring.PACE
@measuring.WARM_UP
@measuring.SUSTAIN
@devices.ENERGY
@measuring.COLD
@counting.COUNTERS
@counting.TIMELINE
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
@RESUME
@ALLOW_OWN_CODE
@RUN_FORMAT
@OUTPUT
@RESULTS
@click.pass_context
def command(
    context: click.Context,
    /,
    resume: str | None,
    allow_own_code: bool,
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
    Options with several values, such as --streams 1,4, give a row for each combination. Outputs are verified before
    anything is timed. Every speedup has a confidence interval. Launches are stored as they
    end, and --resume goes on after the last one.
    """
    from irbench.api.measurement import describe_plan
    from irbench.api.options import RunOptions
    from irbench.cli.output.console import command_line, print_lines

    if resume is not None:
        refuse_other_options(context)
        return resumed(_resumption(resume, allow_own_code, options), form, output, strict=strict)
    if allow_own_code:
        raise IrbenchError("--allow-own-code applies to --resume only.", hint="Leave it out: --cell names the code.")
    asked = RunOptions(command=command_line(), **options)
    if dry_run and output is not None:
        raise IrbenchError("--dry-run measures nothing that -o could write.", hint="Leave one of them out.")
    refuse_overwriting_models(asked.models, output)
    if not yes and not _confirmed_first_run(asked):
        say("Nothing was measured. Name a model (irbench models lists them) or an ONNX file.")
        return 0
    if dry_run:
        print_lines(describe_plan(asked, say))
        return 0
    return measured(asked, form, output, strict=strict)


def _resumption(run: str, allow_own_code: bool, options: Mapping[str, Any]) -> ResumeOptions:
    from irbench.api.resume import ResumeOptions

    return ResumeOptions(run or None, allow_own_code, options["no_lock"], options["results"])


def _confirmed_first_run(asked: RunOptions) -> bool:
    """Say what a run without a model is going to do where nothing was exported yet; on a terminal, ask."""
    from irbench.api.resolve import FIRST_MODEL, is_first_run

    if is_first_run(asked.models, everything=asked.all):
        from irbench import registry
        from irbench.cli.output.console import confirmed
        from irbench.render.run_plan import first_run_text

        say(first_run_text(FIRST_MODEL, registry.installed_backends()))
        asks = sys.stdin.isatty() and sys.stderr.isatty()
        return not asks or confirmed("Go on?", default=True)
    return True
