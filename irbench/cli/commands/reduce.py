"""``irbench reduce``: the smallest part of a graph that still shows a difference between backends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import BACKEND, MODEL
from irbench.cli.options.formats import REPORT_FORMAT, RESULTS
from irbench.cli.options.types import DURATION, PERCENT, Parsed, PlainDefault

if TYPE_CHECKING:
    from irbench.reduction.expectation import Expectation

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench reduce resnet50 --expect 'ort slower than openvino by 1.5x'
  irbench reduce model.onnx --expect-wrong openvino --data sample.npz
  irbench reduce model.onnx --expect-failure ort -o bug
"""


def _expectation(text: str) -> Expectation:
    from irbench.reduction.expectation import parse_expectation

    return parse_expectation(text)


@click.command("reduce", epilog=_EXAMPLES)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@click.option(
    "--expect",
    type=Parsed("'ort slower than openvino by 1.5x'", _expectation),
    help="The difference to keep; also 'openvino wrong' and 'ort fails'. Without a number it is 1.2x.",
)
@click.option("--expect-wrong", "wrong", type=BACKEND, help="The backend whose outputs are wrong.")
@click.option("--expect-failure", "failure", type=BACKEND, help="The backend that refuses the graph, or crashes.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    cls=PlainDefault,
    show_default="MODEL-reduced",
    help="Folder for reduced.onnx, inputs.npz, expected.npz and report.md.",
)
@click.option(
    "--budget", "budget_s", type=DURATION, cls=PlainDefault, show_default="10m", help="Time limit for the whole search."
)
@click.option(
    "--min-share",
    type=PERCENT,
    cls=PlainDefault,
    show_default="1%",
    help="Least share of the slower backend's total loss that a part must show.",
)
@measuring.IMPORTS
@measuring.batch("Batch size.")
@measuring.SHAPE
@measuring.data("Sample that the inputs come from: a .npz, .npy or image file, or a data set.")
@measuring.VALUE
@measuring.PRECISION
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.IO
@measuring.SEED
@measuring.DEADLINE
@measuring.NO_LOCK
@REPORT_FORMAT
@RESULTS
def command(
    form: Literal["table", "json", "md"],
    model: str,
    expect: Expectation | None,
    wrong: str | None,
    failure: str | None,
    output: Path | None,
    budget_s: float | None,
    min_share: float | None,
    **options: Any,
) -> int:
    """Find the smallest part of a graph that still shows a difference between backends, and write it.

    The difference is one of speed, wrong outputs, or a failure. Parts of the graph are cut out, with the values that
    the whole graph has there as their inputs, and nodes are left out until none can be left out any more. By speed, two
    rows race until the interval of their ratio lies on one side of what was expected; the smallest part is measured
    again in full. Ctrl-C keeps the smallest part until then. The folder has the graph, its inputs, and the text of a
    bug report with versions, machine, command and figures.
    """
    from irbench.api.options import RunOptions
    from irbench.api.progress import displayed
    from irbench.api.reduction.options import MIN_SHARE, REDUCE_BUDGET_S, ReduceOptions
    from irbench.api.reduction.reduce import expectation_of, reduce_with
    from irbench.cli.output.console import command_line, print_data, to_text
    from irbench.cli.output.stderr import plugin_warnings_shown

    asked = ReduceOptions(
        model,
        expectation_of(expect, wrong, failure),
        output,
        budget_s or REDUCE_BUDGET_S,
        MIN_SHARE if min_share is None else min_share,
        RunOptions(command=command_line(), **options),
    )
    with plugin_warnings_shown(), displayed() as reporter:
        found = reduce_with(asked, reporter)
    print_data(to_text(found.__rich__(), crop=False) if form == "table" else found.to_text(form), None)
    return int(found.exit_code)
