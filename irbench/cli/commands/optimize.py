"""``irbench optimize``: better graphs, each step of the way proven."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench.cli.options.completion import LEVEL, MODEL
from irbench.cli.options.types import COUNT, PASSES, SHAPE, PlainDefault, as_shapes
from irbench.cli.output.stderr import say

if TYPE_CHECKING:
    from irbench.api.optimize import OptimizedModel

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench optimize transformer_base --level extended
  irbench optimize model.onnx --batch 1 -o better.onnx
  irbench optimize resnet50 --passes fold_shapes,remove_redundant
  irbench optimize lstm_ptb_1 --precision int8
  irbench run transformer_base --optimize none,basic,basic-int8
"""


@click.command("optimize", short_help="Fuse and simplify graphs, each step checked.", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL|FILE.onnx...")
@click.option(
    "--level",
    type=LEVEL,
    cls=PlainDefault,
    show_default="basic",
    metavar="none|basic|extended|all",
    help="basic and extended write ONNX's own operators; all writes Microsoft's as well.",
)
@click.option("--passes", type=PASSES, help="These passes in this order instead of a level's.")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "fp16", "bf16", "int8"]),
    default="fp32",
    show_default=True,
    help="Convert the result; what that costs in accuracy is measured.",
)
@click.option(
    "--calibrate",
    type=COUNT,
    cls=PlainDefault,
    metavar="N",
    show_default="64",
    help="Inputs to calibrate static int8 on.",
)
@click.option(
    "--quantize",
    type=click.Choice(["auto", "static", "dynamic"]),
    cls=PlainDefault,
    show_default="auto",
    help="How int8 is made: auto is static for convolutions, else dynamic.",
)
@click.option(
    "--layout",
    type=click.Choice(["keep", "nchw"]),
    default="keep",
    show_default=True,
    help="nchw: take images as NCHW where the graph transposes them itself.",
)
@click.option("--batch", type=COUNT, metavar="N", help="Bind the batch first; dynamic by default.")
@click.option("--shape", type=SHAPE, multiple=True, help="Bind the shape of an input; may be repeated.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Copy the graph there; the report goes to standard output.",
)
def command(
    models: tuple[str, ...],
    form: Literal["table", "json"],
    output: Path | None,
    shape: Sequence[tuple[str, tuple[int, ...]]],
    **options: Any,
) -> None:
    """Fuse and simplify graphs: passes from ONNX to ONNX, each checked before the next begins.

    MODEL is an exported bundle, an ONNX file, or anything that `irbench export` takes. After each pass that changes
    something the graph is checked, loaded and its outputs compared with the original's. What comes out is kept with
    the bundle; `irbench run --optimize` takes what it names, such as basic or basic-int8-static. What other settings
    make (--passes, --calibrate, --shape) is measured as a file: -o q.onnx, then `irbench run q.onnx`.

    --precision converts the result: what that costs is measured on 64 other inputs, beside the graph in fp32. Shapes
    that are bound let more be computed beforehand.
    """
    from irbench.api.optimize import OptimizeOptions, optimize_with
    from irbench.cli.output.console import check_writable

    if output is not None:
        check_writable(output)
    asked = OptimizeOptions(shape=as_shapes(shape), output=output, **options)
    made = optimize_with(tuple(dict.fromkeys(models)), asked, say)
    _print(made, form)
    if output is not None:
        say(f"copied to {output}")
    for graph in made:
        for line in graph.advice:
            say(line)


def _print(made: Sequence[OptimizedModel], form: str) -> None:
    from irbench.cli.output.console import print_data, to_text

    if form == "json":
        print_data(json.dumps({"optimized": [graph.to_dict() for graph in made]}, indent=2), None)
        return
    for graph in made:
        print_data(to_text(graph.__rich__()), None)
        print_data(f"  {graph.kept_path}", None)  # never wrapped: it is there to be copied
