"""``irbench bisect``: find the version of a runtime that changed the speed or the answers of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, REPORT_FORMAT, RESULTS
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import COUNTS, DURATION, PERCENT, PlainDefault
from irbench.cli.output.measured import refuse_overwriting_models

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench bisect model.onnx --runtime onnxruntime --from 1.22 --to 1.31
  irbench bisect model.onnx --runtime onnxruntime --from 1.22 --to 1.31 --by answer
  irbench bisect model.onnx --runtime openvino --from 2025.3 --to 2026.4 --threshold 5% --format json
"""


@click.command("bisect", epilog=_EXAMPLES)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@click.option("--runtime", metavar="NAME", required=True, help="Distribution whose versions are searched: onnxruntime.")
@click.option("--from", "first", metavar="VERSION", required=True, help="Oldest version.")
@click.option("--to", "last", metavar="VERSION", required=True, help="Newest version.")
@click.option(
    "--by",
    type=OneOf(["speed", "answer"]),
    default="speed",
    show_default=True,
    help="What changed: speed measures each version against the oldest, answer compares its outputs with those of the"
    " oldest.",
)
@click.option(
    "--threshold",
    type=PERCENT,
    cls=PlainDefault,
    show_default="3%, or the tolerance of the precision",
    help="Smallest change that counts; with --by answer, the largest relative error that does not count.",
)
@measuring.backend("the one of the runtime")
@measuring.IMPORTS
@measuring.batch("Batch size.")
@measuring.SHAPE
@measuring.DATA
@measuring.VALUE
@measuring.FEEDBACK
@click.option("--streams", type=COUNTS, default=(1,), show_default=True, help="Concurrent inferences.")
@measuring.PRECISION
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.IO
@measuring.SEED
@click.option(
    "--budget",
    type=DURATION,
    cls=PlainDefault,
    show_default="90s",
    help="Time limit for each comparison; one that stays undecided is repeated twice, each time with twice as much.",
)
@measuring.DEADLINE
@measuring.WARM_UP
@measuring.NO_LOCK
@REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    form: Literal["table", "json", "md"],
    output: Path | None,
    model: str,
    runtime: str,
    first: str,
    last: str,
    by: Literal["speed", "answer"],
    threshold: float | None,
    backend: str | None,
    **options: Any,
) -> int:
    """Find the version of a runtime that changed the speed or the answers of a model, by halving.

    Versions are those that uv finds in the index that it is configured with, and each is installed into an
    environment of its own, which is kept. The ends are compared first. A version is assigned to the end that it is
    closer to, once its interval decides; one that cannot be installed or run is skipped. In the end the two neighbours
    that differ are compared with each other. Comparisons are stored runs.
    """
    from irbench.api.bisect import BisectOptions, bisect_with
    from irbench.api.options import RunOptions
    from irbench.api.progress import displayed
    from irbench.cli.output.console import command_line, print_data, to_text
    from irbench.cli.output.stderr import plugin_warnings_shown

    run = RunOptions(command=command_line(), **options)
    refuse_overwriting_models((model,), output)
    asked = BisectOptions(model, runtime, first, last, backend, by, threshold, run)
    with plugin_warnings_shown(), displayed() as reporter:
        found = bisect_with(asked, reporter)
    text = to_text(found.__rich__(), to_file=output is not None, crop=False) if form == "table" else found.to_text(form)
    print_data(text, output)
    return int(found.exit_code)
