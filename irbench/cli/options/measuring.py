"""Options of the commands that measure or check models, each written once; they mean the same in every command.

A function makes those whose help or default depends on the command.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from irbench.cli.options import types
from irbench.cli.options.completion import BACKEND
from irbench.cli.options.groups import OneOf
from irbench.cli.options.repeated import Decorator, repeated
from irbench.cli.options.types import PlainDefault
from irbench.spec import Objective

__all__ = [
    "ALLOW_MIXED",
    "BUDGET",
    "CELL",
    "COLD",
    "CPUS",
    "DATA",
    "DEADLINE",
    "DEADLINE_WITHOUT_BUDGET",
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
    "QUICK",
    "ROWS",
    "SEED",
    "SET",
    "SHAPE",
    "STREAMS",
    "SUSTAIN",
    "TAIL",
    "THOROUGH",
    "THREADS",
    "VALUE",
    "VARY",
    "WARM_UP",
    "WITHIN",
    "backend",
    "backends",
    "batch",
    "data",
    "optimize",
    "seed",
    "shape",
    "strict",
    "value",
]


def data(help_text: str) -> Decorator:
    """Return ``--data``."""
    return click.option("--data", type=click.Path(path_type=Path), metavar="PATH", help=help_text)


def value(help_text: str) -> Decorator:
    """Return ``--value``, which gives elements by input."""
    return repeated("--value", kind=types.VALUE, collect=types.as_constants, help_text=help_text)


def shape(help_text: str) -> Decorator:
    """Return ``--shape``, which gives sizes by input or dynamic dimension."""
    return repeated("--shape", kind=types.SHAPE, collect=types.as_shapes, help_text=help_text)


def batch(help_text: str) -> Decorator:
    """Return ``--batch``."""
    return click.option(
        "--batch", type=types.COUNTS, cls=PlainDefault, show_default="1, or the model's own", help=help_text
    )


def optimize(help_text: str) -> Decorator:
    """Return ``--optimize``."""
    return click.option("--optimize", type=types.LEVELS, default=("none",), show_default=True, help=help_text)


def backends(purpose: str, also: str = "") -> Decorator:
    """Return ``--backends``: ``to compare`` them, for example, and what the option ``also`` takes."""
    return click.option(
        "--backends",
        type=types.BACKENDS,
        cls=PlainDefault,
        show_default="all installed that can read the model",
        help=f"Backends {purpose}, with an optional device: ort:cuda{also}.",
    )


def backend(default: str) -> Decorator:
    """Return ``--backend``; the default is told in words."""
    return click.option(
        "--backend",
        type=BACKEND,
        cls=PlainDefault,
        show_default=default,
        help="Backend to measure, with an optional device: ort:cuda.",
    )


def seed(help_text: str, default: int | None = 0, default_text: str = "0") -> Decorator:
    """Return ``--seed``; ``default_text`` is the default in words."""
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        metavar="N",
        default=default,
        cls=PlainDefault,
        show_default=default_text,
        help=help_text,
    )


def strict(what: str) -> Decorator:
    """Return ``--strict``: what is undecided makes the exit code 4."""
    return click.option("--strict", is_flag=True, help=f"Exit with 4 if {what}.")


IMPORTS = click.option(
    "--import",
    "imports",
    metavar="MODULE",
    multiple=True,
    help="Import MODULE before a model is exported: it registers custom layers. May be repeated.",
)
CELL = repeated(
    "--cell",
    "cells",
    kind=types.CELL,
    collect=types.as_cells,
    help_text="Your own code as a row: name=package.module:function, or a command that prints a duration for each call;"
    " may be repeated.",
)
DATA = data("Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file.")
VALUE = value("Constant for an input; may be repeated.")
FEEDBACK = repeated(
    "--feedback",
    kind=types.FEEDBACK,
    collect=types.as_feedback,
    help_text="Feed an output to an input of the next call, as in a decode loop; may be repeated.",
)
SHAPE = shape(
    "Shape of an input, or size of a dynamic dimension: length=128; may be repeated. --batch overrides its batch."
)
STREAMS = click.option("--streams", type=types.COUNTS, default=(1,), show_default=True, help="Concurrent inferences.")
INSTANCES = click.option(
    "--instances",
    type=types.COUNTS,
    default=(1,),
    show_default=True,
    help="Processes that run the model side by side, each on its own processors: compared by throughput.",
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
    help="fp32, bf16, fp16, int8, or native (the runtime's default).",
)
THREADS = click.option(
    "--threads",
    type=types.THREAD_COUNTS,
    cls=PlainDefault,
    show_default="the available physical cores",
    help="Threads per process in total, or native: each runtime's default.",
)
CPUS = click.option(
    "--cpus",
    type=types.CPUS,
    cls=PlainDefault,
    show_default="all available",
    help="Processors for the backends to use.",
)
SET = repeated(
    "--set",
    kind=types.SETTING,
    collect=types.as_settings,
    help_text="Set an option of a backend; may be repeated.",
)
MIN_ACCURACY = click.option(
    "--min-accuracy",
    type=types.ACCURACY,
    help="Minimum share of samples whose top-1 class is that of the reference; rows below it are not measured.",
)
METRIC = click.option(
    "--metric",
    type=types.METRIC,
    help="Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or fn(inputs,"
    " outputs, expected); rows that miss it are not measured.",
)
VARY = repeated(
    "--vary",
    kind=types.VARIED,
    collect=types.as_varied,
    help_text="Values of an option of a backend, or default where it is not set: one row for each; may be repeated.",
)
ROWS = click.option(
    "--rows",
    type=types.ROWS,
    cls=PlainDefault,
    show_default="all combinations",
    help="Measure only the rows with these ids, as irbench show --format json prints them.",
)
IO = click.option(
    "--io",
    type=OneOf(["copy", "bound"]),
    default="copy",
    show_default=True,
    help="What is timed: copy includes copying inputs and outputs, bound does not.",
)
SEED = seed("Seed for inputs and for the measurement order.")
ALLOW_MIXED = click.option(
    "--allow-mixed",
    is_flag=True,
    help="Also compare rows whose precision a runtime changed by itself, and mark them.",
)
WITHIN = click.option(
    "--within",
    type=types.PERCENT,
    cls=PlainDefault,
    show_default="2%",
    help="Differences up to this count as the same.",
)
BUDGET = click.option(
    "--budget",
    type=types.DURATION,
    cls=PlainDefault,
    show_default="90s per table, 5m with --tail",
    help="Time limit for the whole run.",
)


def _deadline(default: str, whole: str = "a backend") -> Decorator:
    return click.option(
        "--deadline",
        type=types.DURATION,
        cls=PlainDefault,
        show_default=default,
        help=f"Time limit for one step of {whole}, after which it counts as failed.",
    )


DEADLINE = _deadline("300s, or with --budget half of what is left if that is less, at least 30s")
DEADLINE_WITHOUT_BUDGET = _deadline("300s")
DEADLINE_OF_EXPORT = _deadline("1h, and 15m for comparing outputs", "an export")
PACE = click.option(
    "--pace",
    type=types.PACE,
    cls=PlainDefault,
    show_default="off",
    help="Also measure latency when calls arrive at a fixed interval, with idle gaps between them.",
)
WARM_UP = click.option(
    "--warmup",
    type=types.WARM_UP,
    cls=PlainDefault,
    show_default="until calls get no faster",
    help="How long each row warms up in every launch: a time (2s), or a number of calls (500).",
)
SUSTAIN = click.option(
    "--sustain",
    type=types.DURATION,
    cls=PlainDefault,
    show_default="off",
    help="Also run each row alone for this long in every launch.",
)
QUICK = click.option("--quick", is_flag=True, help="3 launches: fast, with wide intervals.")
THOROUGH = click.option(
    "--thorough", is_flag=True, help="10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table."
)
TAIL = click.option(
    "--tail",
    is_flag=True,
    help="Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.",
)
COLD = click.option(
    "--cold",
    is_flag=True,
    help="Measure cold starts instead: process start to first output, with a cold and with a warm cache.",
)
NO_LOCK = click.option("--no-lock", is_flag=True, help="Measure even if another irbench is measuring on this machine.")
NAME = click.option("--name", default="", metavar="NAME", help="Name the run, for irbench show NAME.")
NOTE = click.option("--note", default="", metavar="TEXT", help="Store a note with the run.")
