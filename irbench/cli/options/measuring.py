"""Options of the commands that measure or check models, each written once; they mean the same in every command."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from irbench.cli.options import types
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import PlainDefault
from irbench.spec import Objective

__all__ = [
    "BUDGET",
    "CPUS",
    "DATA",
    "DEADLINE",
    "FEEDBACK",
    "IMPORTS",
    "INSTANCES",
    "IO",
    "METRIC",
    "MIN_ACCURACY",
    "NAME",
    "NOTE",
    "NO_LOCK",
    "OBJECTIVE",
    "PACE",
    "PRECISION",
    "ROWS",
    "SEED",
    "SET",
    "STREAMS",
    "SUSTAIN",
    "THREADS",
    "VALUE",
    "VARY",
]

IMPORTS = click.option(
    "--import",
    "imports",
    metavar="MODULE",
    multiple=True,
    help="Import MODULE before a model is exported: it registers custom layers. May be repeated.",
)
DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file.",
)
VALUE = click.option("--value", type=types.VALUE, multiple=True, help="Constant for an input; may be repeated.")
FEEDBACK = click.option(
    "--feedback",
    type=types.FEEDBACK,
    multiple=True,
    help="Give an output to an input in the next call: a decode loop; may be repeated.",
)
STREAMS = click.option(
    "--streams", type=types.COUNTS, default=(1,), show_default=True, help="Concurrent inferences; one row for each."
)
INSTANCES = click.option(
    "--instances",
    type=types.COUNTS,
    default=(1,),
    show_default=True,
    help="Processes that run the model side by side, each on its own processors: compared by throughput; one row for"
    " each number.",
)
OBJECTIVE = click.option(
    "--objective",
    type=OneOf(get_args(Objective)),
    cls=PlainDefault,
    show_default="fps with streams, instances or several batches, otherwise latency",
    help="What rows are compared by: the median latency, FPS, or cost, the processor time per sample.",
)
PRECISION = click.option(
    "--precision",
    type=types.PRECISIONS,
    cls=PlainDefault,
    show_default="fp32, or that of the graph",
    help="fp32, bf16, fp16, int8, or native (the runtime's default); one row for each.",
)
THREADS = click.option(
    "--threads",
    type=types.THREAD_COUNTS,
    cls=PlainDefault,
    show_default="the available physical cores",
    help="Threads per process in total, or native: each runtime's default; one row for each.",
)
CPUS = click.option(
    "--cpus",
    type=types.CPUS,
    cls=PlainDefault,
    show_default="all available",
    help="Processors for the backends to use.",
)
SET = click.option("--set", type=types.SETTING, multiple=True, help="Set an option of a backend; may be repeated.")
MIN_ACCURACY = click.option(
    "--min-accuracy",
    type=types.ACCURACY,
    help="The least share of samples whose largest class is that of the reference; what is below is not measured.",
)
METRIC = click.option(
    "--metric",
    type=types.METRIC,
    help="Your own measure of the outputs, with the least (>=) or largest (<=) value: fn(inputs, outputs) or fn(inputs,"
    " outputs, expected); what misses it is not measured.",
)
VARY = click.option(
    "--vary",
    type=types.VARIED,
    multiple=True,
    help="Values of an option of a backend, or default where it is not set: one row for each; may be repeated.",
)
ROWS = click.option(
    "--rows",
    type=types.ROWS,
    cls=PlainDefault,
    show_default="all combinations",
    help="Measure only the rows with these ids, which irbench show --format json has.",
)
IO = click.option(
    "--io",
    type=OneOf(["copy", "bound"]),
    default="copy",
    show_default=True,
    help="What is timed: copy includes copying inputs and outputs, bound does not.",
)
SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    default=0,
    cls=PlainDefault,
    show_default="0",
    help="Seed for inputs and for the measurement order.",
)
BUDGET = click.option(
    "--budget",
    type=types.DURATION,
    cls=PlainDefault,
    show_default="90s per table, 5m with --tail",
    help="Time limit for the whole run.",
)
DEADLINE = click.option(
    "--deadline",
    type=types.DURATION,
    cls=PlainDefault,
    show_default="300s",
    help="Time limit for one step of a backend, after which it counts as failed.",
)
PACE = click.option(
    "--pace",
    type=types.PACE,
    cls=PlainDefault,
    show_default="off",
    help="Also measure latency where a call comes every so often, with idle gaps between calls.",
)
SUSTAIN = click.option(
    "--sustain",
    type=types.DURATION,
    cls=PlainDefault,
    show_default="off",
    help="Also run each row alone for this long in every launch.",
)
NO_LOCK = click.option("--no-lock", is_flag=True, help="Measure even if another irbench is measuring on this machine.")
NAME = click.option("--name", default="", metavar="NAME", help="Name the run, for irbench show NAME.")
NOTE = click.option("--note", default="", metavar="TEXT", help="Store a note with the run.")
