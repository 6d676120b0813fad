"""``irbench tune``: search for the best setting of a model, and confirm it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, REPORT_FORMAT, RESULTS
from irbench.cli.options.groups import OneOf, SectionedCommand
from irbench.cli.options.types import (
    COUNTS,
    DURATION,
    LATENCY,
    LEVELS,
    THREAD_COUNTS,
    Parsed,
    PlainDefault,
)
from irbench.cli.output.measured import refuse_overwriting_models
from irbench.spec import Objective

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench tune model.onnx
  irbench tune resnet50 --backends openvino,ort --max-latency 50ms --budget 10m
  irbench tune model.onnx --objective latency --precision fp32,bf16
"""

_SECTIONS = {
    "objective": "What is the best",
    "backends": "What is searched",
    "cpus": "What is the same for every setting",
    "form": "Output",
}
"""Headings in the help, each above the option that it begins with."""
_USUAL = "up to all processors"


def _tried(
    name: str, default: str, what: str, form: Parsed[Any] = COUNTS
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return an option with the values of an axis that are tried."""
    return click.option(name, type=form, cls=PlainDefault, show_default=default, help=f"{what} to try.")


@click.command("tune", cls=SectionedCommand, sections=_SECTIONS, epilog=_EXAMPLES)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@click.option(
    "--objective",
    type=OneOf(get_args(Objective)),
    default="fps",
    show_default=True,
    help="What is to be the best: the median latency, FPS, or cost, the processor time per sample.",
)
@click.option("--max-latency", "max_latency_s", type=LATENCY, help="Only settings whose p90 latency is at most this.")
@measuring.MIN_ACCURACY
@measuring.METRIC
@click.option(
    "--budget",
    "budget_s",
    type=DURATION,
    cls=PlainDefault,
    show_default="5m",
    help="Time limit for searching and confirming.",
)
@click.option(
    "--flip-map",
    is_flag=True,
    help="Also measure under which nearby conditions another setting would win; takes up to half of --budget on top.",
)
@measuring.backends("to try")
@_tried("--batch", "1,2,4,8,16; 1 for latency", "Batch sizes")
@_tried("--threads", _USUAL, "Threads per process", THREAD_COUNTS)
@_tried("--streams", f"{_USUAL}; 1 for latency", "Concurrent inferences of each process")
@_tried("--instances", f"{_USUAL}; 1 for latency", "Numbers of processes side by side, with processors of their own,")
@measuring.PRECISION
@_tried("--optimize", "none,extended", "Optimisation levels", LEVELS)
@measuring.VARY
@measuring.CPUS
@measuring.SET
@measuring.IMPORTS
@measuring.SHAPE
@measuring.DATA
@measuring.VALUE
@measuring.IO
@measuring.SEED
@measuring.WITHIN
@measuring.DEADLINE
@measuring.WARM_UP
@measuring.NO_LOCK
@measuring.NAME
@measuring.NOTE
@REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    form: Literal["table", "json", "md"],
    output: Path | None,
    model: str,
    objective: Objective,
    max_latency_s: float | None,
    budget_s: float | None,
    flip_map: bool,
    streams: tuple[int, ...] | None,
    instances: tuple[int, ...] | None,
    optimize: tuple[str, ...] | None,
    **options: Any,
) -> int:
    """Search for the setting with which a model runs best, and confirm that it gains.

    Settings are launched side by side, the most promising again and again, in the time that the confirmation leaves.
    The best are then measured under the full protocol beside each backend as it runs without any option and as its
    vendor advises. A setting is recommended if it is faster than all of these, and is called confirmed if that is
    certain; otherwise the fastest of them is recommended.
    """
    from irbench.api.options import RunOptions
    from irbench.api.progress import displayed
    from irbench.api.tuning.options import TUNE_BUDGET_S, TuneOptions
    from irbench.api.tuning.tune import tune_with
    from irbench.cli.output.console import command_line, print_data, to_text
    from irbench.cli.output.stderr import plugin_warnings_shown

    run = RunOptions(command=command_line(), **options)
    refuse_overwriting_models((model,), output)
    asked = TuneOptions(
        model,
        objective,
        max_latency_s,
        budget_s or TUNE_BUDGET_S,
        flip_map,
        streams=streams,
        instances=instances,
        optimize=optimize,
        run=run,
    )
    with plugin_warnings_shown(), displayed() as reporter:
        found = tune_with(asked, reporter)
    text = to_text(found.__rich__(), to_file=output is not None, crop=False) if form == "table" else found.to_text(form)
    print_data(text, output)
    return int(found.exit_code)
