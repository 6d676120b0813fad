"""``irbench optimize``: better graphs, each step checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irbench.features.optimize.options import OPTIMIZE, OptimizeOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.values import ListingForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, format_option, headings
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.stderr import say, say_in_width

if TYPE_CHECKING:
    from irbench.features.optimize.report import OptimizedModel

_EXAMPLES = """\b
Examples:
  irbench optimize transformer_base --level extended
  irbench optimize model.onnx --batch 1 -o better.onnx
  irbench optimize resnet50 --passes fold_shapes,remove_redundant
  irbench optimize lstm_ptb_1 --precision int8
  irbench run transformer_base --optimize none,basic,basic-int8
"""


@click.command(
    "optimize",
    cls=SectionedCommand,
    sections=headings(
        OPTIMIZE,
        {"level": "What is done", "imports": "Models and inputs", "form": OUTPUT_HEADING, "output": OUTPUT_HEADING},
    ),
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODEL|FILE.onnx...")
@declared(OPTIMIZE, but="output")
@format_option("table", "json", help=None)
@declared(OPTIMIZE, "output")
def command(
    models: tuple[str, ...],
    form: ListingForm,
    output: Path | None,
    **options: Any,
) -> None:
    """Fuse, simplify and convert ONNX graphs.

    MODEL is an exported bundle, an ONNX file, or anything that `irbench export` takes. After each pass
    that changes something, the graph is checked and loaded, and its outputs are compared with the original's. The
    result is stored with the bundle, and `irbench run --optimize` measures it by its name, such as basic or
    basic-int8-static. Results of other settings (--passes, --calibrate, --shape) are measured as files: -o q.onnx,
    then `irbench run q.onnx`.

    --precision converts the result and compares it with the fp32 graph on 64 inputs that were not used for
    calibration. Fixed shapes let more be computed in advance. With --data, half of the samples are used for
    calibration, and the result is compared on the rest.
    """
    from irbench.api.progress import displayed
    from irbench.features.optimize.run import optimize_with
    from irbench.terminal.console import check_writable

    if output is not None:
        check_writable(output)
    settings = OptimizeOptions(output=output, **options)
    with displayed() as reporter:
        graphs = optimize_with(tuple(dict.fromkeys(models)), settings, reporter.say, reporter.status)
    _print(graphs, form)
    if output is not None:
        say(f"copied to {output}")
    for graph in graphs:
        for line in graph.advice:
            say_in_width(line)


def _print(graphs: Sequence[OptimizedModel], form: str) -> None:
    from irbench.terminal.console import print_data, print_lines, to_text

    if form == "json":
        print_data(json.dumps({"optimized": [graph.to_dict() for graph in graphs]}, indent=2), None)
        return
    for graph in graphs:
        print_data(to_text(graph.__rich__()), None)
        print_lines(f"  {graph.kept_path}")  # never wrapped: it is there to be copied
