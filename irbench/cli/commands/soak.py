"""``irbench soak``: call rows for a long time to see whether their memory grows or their calls become slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.cli.options.types import COUNT, DURATION, PlainDefault
from irbench.cli.output.measured import measured, refuse_overwriting_models

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench soak model.onnx --backends ort,openvino
  irbench soak resnet50 --for 10m --streams 4
  irbench soak model.onnx --calls 100000 --format json -o soak.json
"""


@click.command("soak", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@click.option("--all", is_flag=True, help="Soak every exported model.")
@measuring.IMPORTS
@click.option("--for", "duration", type=DURATION, cls=PlainDefault, show_default="60s", help="Time to call each row.")
@click.option("--calls", type=COUNT, cls=PlainDefault, show_default="off", help="Calls of each row instead of a time.")
@click.option(
    "--growth-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="BYTES",
    cls=PlainDefault,
    show_default="1000",
    help="Growth per call that matters. Memory counts as steady below it, and as growing above it.",
)
@measuring.backends("to call")
@measuring.batch("Batch sizes; one table for each.")
@measuring.SHAPE
@measuring.DATA
@measuring.VALUE
@measuring.STREAMS
@measuring.PRECISION
@measuring.optimize("Optimisation levels; one row for each.")
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.IO
@measuring.seed("Seed for inputs.")
@measuring.DEADLINE_WITHOUT_BUDGET
@measuring.strict("it is undecided whether a row grows")
@measuring.NO_LOCK
@measuring.NAME
@measuring.NOTE
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    duration: float | None,
    calls: int | None,
    growth_limit: float | None,
    **options: Any,
) -> int:
    """Call a model for a long time, and say whether a backend's memory grows or its calls become slower.

    MODEL is what `irbench run` takes. Rows are called one after the other, each in a process of its own, in blocks.
    After each block the resident memory is read: its slope, in bytes per call, has a confidence interval, and memory
    grows, is steady, or is undecided. The exit code is 1 if a row grows. Outputs are verified before and after.
    """
    from irbench.api.options import RunOptions
    from irbench.api.soak import soak_plan
    from irbench.cli.output.console import command_line

    plan = soak_plan(duration, calls, growth_limit)
    asked = RunOptions(command=command_line(), **options)
    refuse_overwriting_models(asked.models, output)
    return measured(asked, form, output, strict=strict, soak_plan=plan)
