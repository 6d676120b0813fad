"""``irbench run``: measure models on backends and say which is fastest, by how much, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.cli.formats import FORMAT, OUTPUT, RESULTS
from irbench.cli.options import COUNTS, CPUS, DURATION, NAMES, PERCENT, SETTING, SHAPE, THREADS

__all__ = ["command"]


_EXAMPLES = """\b
Examples:
  irbench run --backends ort,openvino --streams 4
  irbench run resnet50 --batch 1,8 --baseline ort
  irbench run model.onnx --shape tokens=1x128 --format json -o result.json
"""


@click.command(
    "run", short_help="Measure models on backends: which is fastest, by how much, for certain.", epilog=_EXAMPLES
)
@click.argument("models", nargs=-1, metavar="[MODEL|FILE.onnx]...")
@click.option("--all", "everything", is_flag=True, help="Every model that was exported.")
@click.option(
    "--backends", type=NAMES, help="Backends, each with a device after a colon; every installed one by default."
)
@click.option("--batch", type=COUNTS, help="Samples per inference; each size makes a table.")
@click.option(
    "--streams", type=COUNTS, default=(1,), help="Inferences in flight; each number makes a row. [default: 1]"
)
@click.option("--threads", type=THREADS, help="Total for each process. [default: the physical cores we may use]")
@click.option("--cpus", type=CPUS, help="Processors the backends may use.")
@click.option(
    "--precision",
    type=NAMES,
    default=("fp32",),
    help="fp32, bf16, fp16, or native: the vendor's default. [default: fp32]",
)
@click.option(
    "--optimize",
    type=NAMES,
    default=("none",),
    help="none, basic, extended, all: ONNX graphs before and after, side by side. [default: none]",
)
@click.option("--set", "settings", type=SETTING, multiple=True, help="A property of a backend; may be repeated.")
@click.option("--baseline", metavar="ROW", help="What speedups are relative to: tf, or tf@streams=1.")
@click.option("--within", type=PERCENT, help="Closer than this counts as the same. [default: 2%]")
@click.option("--budget", type=DURATION, help="For the whole run. [default: 150s for each table]")
@click.option(
    "--deadline", type=DURATION, help="When a backend that gives no answer is ended, for each step. [default: 300s]"
)
@click.option("--quick", is_flag=True, help="A preview: 3 launches, ranges instead of intervals.")
@click.option("--thorough", is_flag=True, help="10 to 20 launches, intervals down to 0.5%.")
@click.option("--tail", is_flag=True, help="Also p99 and p99.9, from at least 1,000 uninterrupted calls per launch.")
@click.option("--allow-mixed", is_flag=True, help="Compare cells of different effective precision, and mark them.")
@click.option("--strict", is_flag=True, help="Exit with 4 where a verdict is undecided.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of inputs and of the order of measurements.")
@click.option(
    "--io",
    type=click.Choice(["copy", "bound"]),
    default="copy",
    help="Timed: host arrays in and out, or the inference alone. [default: copy]",
)
@click.option("--shape", "shapes", type=SHAPE, multiple=True, help="The shape of an input; may be repeated.")
@click.option("--no-lock", is_flag=True, help="Measure though another irbench does on this machine.")
@click.option("--dry-run", is_flag=True, help="Print what would be measured and how long it may take.")
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
