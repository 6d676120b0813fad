"""``irbench run``: measure models on backends and say which is fastest, by how much, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.cli.completing import MODEL
from irbench.cli.formats import FORMAT, OUTPUT, RESULTS
from irbench.cli.groups import OneOf, SectionedCommand
from irbench.cli.options import (
    BACKENDS,
    COUNTS,
    CPUS,
    DURATION,
    LEVELS,
    PERCENT,
    PRECISIONS,
    SETTING,
    SHAPE,
    THREADS,
    ToldInWords,
)

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench run --backends ort,openvino --streams 4
  irbench run resnet50 --batch 1,8 --baseline ort
  irbench run model.onnx --shape tokens=1x128 --format json -o result.json
"""


_SECTIONS = {
    "everything": "What is compared",
    "threads": "How each of them runs",
    "within": "How long, and how sure",
    "form": "What comes of it",
}
"""Headings in the help, each above the option that it begins with."""


@click.command(
    "run",
    cls=SectionedCommand,
    sections=_SECTIONS,
    short_help="Measure models on backends: which is fastest, by how much, for certain.",
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@click.option("--all", "everything", is_flag=True, help="Every model that was exported.")
@click.option(
    "--backends",
    type=BACKENDS,
    cls=ToldInWords,
    show_default="every installed one",
    help="Backends, each with a device after a colon.",
)
@click.option(
    "--batch",
    type=COUNTS,
    cls=ToldInWords,
    show_default="1, or the model's own",
    help="Samples per inference: a table each.",
)
@click.option("--shape", "shapes", type=SHAPE, multiple=True, help="The shape of an input; may be repeated.")
@click.option("--streams", type=COUNTS, default=(1,), show_default=True, help="Inferences in flight: a row each.")
@click.option(
    "--precision",
    type=PRECISIONS,
    cls=ToldInWords,
    show_default="fp32, or the graph's own",
    help="fp32, bf16, fp16, int8, or native, the vendor's default: a row each.",
)
@click.option(
    "--optimize",
    type=LEVELS,
    default=("none",),
    show_default=True,
    help="none, basic, extended, all, each also converted (basic-int8; int8 for short; int8-static): ONNX graphs before"
    " and after, side by side, and compared though precisions differ.",
)
@click.option(
    "--baseline",
    metavar="ROW",
    cls=ToldInWords,
    show_default="tf, or the first",
    help="What speedups are relative to, such as ort, or ort@streams=1.",
)
@click.option("--allow-mixed", is_flag=True, help="Compare rows of different effective precision, and mark them.")
@click.option(
    "--threads",
    type=THREADS,
    cls=ToldInWords,
    show_default="the physical cores we may use",
    help="Total for each process, or native.",
)
@click.option(
    "--cpus", type=CPUS, cls=ToldInWords, show_default="all that are allowed", help="Processors the backends may use."
)
@click.option("--set", "settings", type=SETTING, multiple=True, help="A property of a backend; may be repeated.")
@click.option(
    "--io",
    type=OneOf(["copy", "bound"]),
    default="copy",
    show_default=True,
    help="What is timed: host arrays in and out, or the inference alone.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    default=0,
    cls=ToldInWords,
    show_default="0",
    help="Of inputs and of the order of measurements.",
)
@click.option("--within", type=PERCENT, cls=ToldInWords, show_default="2%", help="Closer than this counts as the same.")
@click.option(
    "--budget", type=DURATION, cls=ToldInWords, show_default="90s for each table", help="Time for the whole run."
)
@click.option(
    "--deadline",
    type=DURATION,
    cls=ToldInWords,
    show_default="300s",
    help="When a backend that gives no answer is ended, for each step.",
)
@click.option("--quick", is_flag=True, help="3 launches: large differences at once, wide intervals.")
@click.option("--thorough", is_flag=True, help="10 to 20 launches, intervals down to 0.5%, 15 minutes for each table.")
@click.option("--tail", is_flag=True, help="Also p99 and p99.9, from at least 1,000 uninterrupted calls per launch.")
@click.option(
    "--sustain", type=DURATION, cls=ToldInWords, show_default="off", help="Also FPS alone for so long in each launch."
)
@click.option("--strict", is_flag=True, help="Exit with 4 where a verdict or the winner is undecided.")
@click.option("--no-lock", is_flag=True, help="Measure though another irbench does on this machine.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what would be measured, with which settings and how long it takes at least; models are exported and"
    " graphs optimised for that.",
)
@FORMAT
@OUTPUT
@RESULTS
def command(**arguments: Any) -> int:
    """Measure models on backends under one timing protocol.

    MODEL is a name from `irbench models`, an exported bundle, an ONNX file, or anything that `irbench export`
    takes. Without one, the model that was exported last is run; a model that was never exported is exported first.
    Outputs are verified before anything is timed, and every speedup comes with its interval.
    """
    from irbench.cli.running import execute

    form, output = str(arguments.pop("form")), arguments.pop("output")
    return execute(arguments, form, output if output is None else Path(output))
