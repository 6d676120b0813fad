"""``irbench soak``: call rows for a long time to see whether their memory grows or their calls become slower."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import FORMAT, OUTPUT, RESULTS
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import (
    BACKENDS,
    COUNT,
    COUNTS,
    CPUS,
    DURATION,
    LEVELS,
    PRECISIONS,
    SETTING,
    SHAPE,
    THREADS,
    VALUE,
    PlainDefault,
    as_constants,
    as_settings,
    as_shapes,
)
from irbench.cli.output.stderr import plugin_warnings_told, say
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
@click.option(
    "--import",
    "imports",
    metavar="MODULE",
    multiple=True,
    help="Import MODULE before a model is exported: it registers custom layers. May be repeated.",
)
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
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file.",
)
@click.option("--value", type=VALUE, multiple=True, help="Constant for an input; may be repeated.")
@click.option(
    "--streams", type=COUNTS, default=(1,), show_default=True, help="Concurrent inferences; one row for each."
)
@click.option(
    "--precision",
    type=PRECISIONS,
    cls=PlainDefault,
    show_default="fp32, or that of the graph",
    help="fp32, bf16, fp16, int8, or native (the runtime's default); one row for each.",
)
@click.option(
    "--optimize", type=LEVELS, default=("none",), show_default=True, help="Optimisation levels; one row for each."
)
@click.option(
    "--threads",
    type=THREADS,
    cls=PlainDefault,
    show_default="the available physical cores",
    help="Threads per process in total; native: each runtime's default.",
)
@click.option(
    "--cpus", type=CPUS, cls=PlainDefault, show_default="all available", help="Processors for the backends to use."
)
@click.option("--set", type=SETTING, multiple=True, help="Set an option of a backend; may be repeated.")
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
@click.option(
    "--deadline",
    type=DURATION,
    cls=PlainDefault,
    show_default="300s",
    help="Time limit for one step of a backend, after which it counts as failed.",
)
@click.option("--strict", is_flag=True, help="Exit with 4 if it is undecided whether a row grows.")
@click.option("--no-lock", is_flag=True, help="Measure even if another irbench is measuring on this machine.")
@click.option("--name", default="", metavar="NAME", help="Name the run, for irbench show NAME.")
@click.option("--note", default="", metavar="TEXT", help="Store a note with the run.")
@FORMAT
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
    from irbench.api.measurement import measure
    from irbench.api.options import RunOptions
    from irbench.api.progress import displayed
    from irbench.api.soak import soak_plan
    from irbench.cli.exits import exit_code
    from irbench.cli.output.console import command_line
    from irbench.cli.output.document import write_document

    plan = soak_plan(duration, calls, growth_limit)
    asked = RunOptions(
        command=command_line(),
        shape=as_shapes(shape),
        set=as_settings(set),
        value=as_constants(value),
        **options,
    )
    with plugin_warnings_told(), displayed() as reporter:
        stored = measure(asked, reporter, plan)
    try:
        write_document(stored.document, form, output)
    finally:  # a file that cannot be written any more is no loss
        say(f"stored in {stored.folder}")
    return int(exit_code(stored.document, strict=strict))
