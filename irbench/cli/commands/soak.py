"""``irbench soak``: call rows for a long time to see whether their memory grows or their calls become slower."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import (
    BACKENDS,
    COUNT,
    COUNTS,
    DURATION,
    LEVELS,
    SHAPE,
    PlainDefault,
    as_constants,
    as_settings,
    as_shapes,
)
from irbench.cli.output.measured import measured, refuse_overwriting_models
from irbench.spec import Number

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
    help="Growth per call that matters: below it memory is steady, above it it grows.",
)
@click.option(
    "--backends",
    type=BACKENDS,
    cls=PlainDefault,
    show_default="all installed that can read the model",
    help="Backends to call, with an optional device: ort:cuda.",
)
@click.option(
    "--batch", type=COUNTS, cls=PlainDefault, show_default="1, or the model's own", help="Batch sizes; one table each."
)
@click.option("--shape", type=SHAPE, multiple=True, help="Shape of an input; may be repeated.")
@measuring.DATA
@measuring.VALUE
@measuring.STREAMS
@measuring.PRECISION
@click.option(
    "--optimize", type=LEVELS, default=("none",), show_default=True, help="Optimisation levels; one row for each."
)
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@click.option(
    "--io",
    type=OneOf(["copy", "bound"]),
    default="copy",
    show_default=True,
    help="What a call is: copy includes copying inputs and outputs, bound does not.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    default=0,
    cls=PlainDefault,
    show_default="0",
    help="Seed for inputs.",
)
@measuring.DEADLINE
@click.option("--strict", is_flag=True, help="Exit with 4 if it is undecided whether a row grows.")
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
    shape: Sequence[tuple[str, tuple[int, ...]]],
    set: Sequence[tuple[str, str, str]],  # noqa: A002 - the option's name
    value: Sequence[tuple[str, tuple[Number, ...]]],
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
    asked = RunOptions(
        command=command_line(),
        shape=as_shapes(shape),
        set=as_settings(set),
        value=as_constants(value),
        **options,
    )
    refuse_overwriting_models(asked.models, output)
    return measured(asked, form, output, strict=strict, soak_plan=plan)
