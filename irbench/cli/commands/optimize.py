"""``irbench optimize``: better graphs, each step checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench.cli.options.completion import LEVEL, MODEL
from irbench.cli.options.declared import shared
from irbench.cli.options.types import COUNT, PASSES, PlainDefault
from irbench.cli.output.stderr import say, say_in_width
from irbench.spec import DISTRIBUTIONS

if TYPE_CHECKING:
    from irbench.api.optimize import OptimizedModel

_EXAMPLES = """\b
Examples:
  irbench optimize transformer_base --level extended
  irbench optimize model.onnx --batch 1 -o better.onnx
  irbench optimize resnet50 --passes fold_shapes,remove_redundant
  irbench optimize lstm_ptb_1 --precision int8
  irbench run transformer_base --optimize none,basic,basic-int8
"""


@click.command("optimize", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL|FILE.onnx...")
@click.option(
    "--level",
    type=LEVEL,
    cls=PlainDefault,
    show_default="basic",
    metavar="none|basic|extended|all",
    help="How much to optimise: basic and extended use standard ONNX operators, all adds Microsoft's.",
)
@click.option("--passes", type=PASSES, help="Run these passes, in this order, instead of a level.")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "fp16", "bf16", "int8"]),
    default="fp32",
    show_default=True,
    help="Convert the result, and measure how its outputs change.",
)
@click.option(
    "--calibrate",
    type=COUNT,
    cls=PlainDefault,
    metavar="N",
    show_default="64",
    help="Number of inputs to calibrate static int8 with.",
)
@click.option(
    "--quantize",
    type=click.Choice(["auto", "static", "dynamic"]),
    cls=PlainDefault,
    show_default="auto",
    help="How to quantise to int8; auto is static for convolutional networks, otherwise dynamic.",
)
@click.option(
    "--layout",
    type=click.Choice(["keep", "nchw"]),
    default="keep",
    show_default=True,
    help="nchw: change image inputs to NCHW where the graph transposes them itself.",
)
@click.option("--batch", type=COUNT, metavar="N", help="Fix the batch size first; dynamic by default.")
@shared("shape", help="Fix the shape of an input, or a dynamic dimension (length=128), first.")
@shared("data", help="Samples to check and calibrate on, as irbench run takes them; generated inputs by default.")
@shared("value")
@click.option(
    "--distribution",
    type=click.Choice(DISTRIBUTIONS),
    cls=PlainDefault,
    show_default="the range that the model declares",
    help="What generated floats are drawn from: uniform in [0, 1), symmetric in [-1, 1), normal with deviation 1, or"
    " bytes in [0, 255).",
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the graph to FILE; the report goes to standard output.",
)
def command(
    models: tuple[str, ...],
    form: Literal["table", "json"],
    output: Path | None,
    **options: Any,
) -> None:
    """Fuse, simplify and convert ONNX graphs, checking every step.

    MODEL is an exported bundle, an ONNX file, or anything that `irbench export` takes. After each pass
    that changes something, the graph is checked and loaded, and its outputs are compared with the original's. The
    result is stored with the bundle, and `irbench run --optimize` measures it by its name, such as basic or
    basic-int8-static. Results of other settings (--passes, --calibrate, --shape) are measured as files: -o q.onnx,
    then `irbench run q.onnx`.

    --precision converts the result and compares it with the fp32 graph on 64 inputs that were not used for
    calibration. Fixed shapes let more be computed in advance. With --data, every other sample is used for calibration,
    and the result is compared on the rest.
    """
    from irbench.api.optimize import OptimizeOptions, optimize_with
    from irbench.api.progress import displayed
    from irbench.cli.output.console import check_writable

    if output is not None:
        check_writable(output)
    asked = OptimizeOptions(output=output, **options)
    with displayed() as reporter:
        made = optimize_with(tuple(dict.fromkeys(models)), asked, reporter.say, reporter.status)
    _print(made, form)
    if output is not None:
        say(f"copied to {output}")
    for graph in made:
        for line in graph.advice:
            say_in_width(line)


def _print(made: Sequence[OptimizedModel], form: str) -> None:
    from irbench.cli.output.console import print_data, print_lines, to_text

    if form == "json":
        print_data(json.dumps({"optimized": [graph.to_dict() for graph in made]}, indent=2), None)
        return
    for graph in made:
        print_data(to_text(graph.__rich__()), None)
        print_lines(f"  {graph.kept_path}")  # never wrapped: it is there to be copied
