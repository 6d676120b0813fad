"""``irbench ab``: compare two versions of a runtime, each in a Python environment of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import BACKEND, MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.cli.options.groups import SectionedCommand
from irbench.cli.options.types import (
    COUNTS,
    LEVELS,
    PERCENT,
    SHAPE,
    PlainDefault,
    as_constants,
    as_feedback,
    as_settings,
    as_shapes,
)
from irbench.cli.output.measured import measured, refuse_overwriting_models
from irbench.spec import Number

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench ab model.onnx --b onnxruntime==1.23.2
  irbench ab model.onnx --a onnxruntime==1.22.0 --b onnxruntime==1.23.2 --streams 1,4
  irbench ab model.onnx --a openvino==2025.3 --b /path/to/venv/bin/python --backend openvino
"""

_SECTIONS = {
    "a": "What is compared",
    "threads": "How it runs",
    "within": "How long, and how precise",
    "form": "Output",
}
"""Headings in the help, each above the option that it begins with."""


@click.command("ab", cls=SectionedCommand, sections=_SECTIONS, epilog=_EXAMPLES)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@click.option(
    "--a",
    metavar="VERSION",
    default="installed",
    show_default=True,
    help="Version that speedups are relative to: a release (onnxruntime==1.22.0), a wheel, or the Python of an"
    " environment.",
)
@click.option("--b", metavar="VERSION", required=True, help="Version that is compared with it, in the same forms.")
@click.option(
    "--backend",
    type=BACKEND,
    cls=PlainDefault,
    show_default="the one whose runtime both have",
    help="Backend to measure, with an optional device: ort:cuda.",
)
@measuring.IMPORTS
@click.option(
    "--batch",
    type=COUNTS,
    cls=PlainDefault,
    show_default="1, or the model's own",
    help="Batch sizes; one table for each, as for streams, instances and threads.",
)
@click.option("--shape", type=SHAPE, multiple=True, help="Shape of an input or size of a dimension; may be repeated.")
@measuring.DATA
@measuring.VALUE
@measuring.FEEDBACK
@measuring.STREAMS
@measuring.INSTANCES
@measuring.PRECISION
@click.option(
    "--optimize", type=LEVELS, default=("none",), show_default=True, help="Optimisation levels; two rows for each."
)
@measuring.OBJECTIVE
@click.option("--allow-mixed", is_flag=True, help="Compare versions that compute in different precision.")
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.IO
@measuring.SEED
@click.option(
    "--within", type=PERCENT, cls=PlainDefault, show_default="2%", help="Differences up to this count as the same."
)
@measuring.BUDGET
@measuring.DEADLINE
@click.option("--quick", is_flag=True, help="3 launches: fast, with wide intervals.")
@click.option("--thorough", is_flag=True, help="10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table.")
@click.option("--tail", is_flag=True, help="Also measure p99, from 1,000 consecutive calls per launch.")
@measuring.PACE
@measuring.SUSTAIN
@click.option("--cold", is_flag=True, help="Measure cold starts instead: process start to first output.")
@click.option("--strict", is_flag=True, help="Exit with 4 if a verdict or the winner is undecided.")
@measuring.NO_LOCK
@measuring.NAME
@measuring.NOTE
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    a: str,
    b: str,
    backend: str | None,
    shape: Sequence[tuple[str, tuple[int, ...]]],
    set: Sequence[tuple[str, str, str]],  # noqa: A002 - the option's name
    value: Sequence[tuple[str, tuple[Number, ...]]],
    feedback: Sequence[tuple[str, str]],
    **options: Any,
) -> int:
    """Compare two versions of a runtime: workers of two Python environments take turns in one table.

    A release is installed by uv into an environment of its own, with the Python and the other packages that irbench
    runs with, and kept for the next time. `installed` is the environment that irbench runs in. Everything else is as in
    `irbench run`: outputs are verified before anything is timed, and the speedup has a confidence interval.

    Some options of `irbench run` are not here: --baseline, because --a is the baseline; --backends and --cell, because
    one backend is measured; --apart, because each setting has a table of its own; and --max-latency, because a table
    has one setting to choose from.
    """
    from irbench.api.ab import with_environments
    from irbench.api.options import RunOptions
    from irbench.api.progress import displayed
    from irbench.cli.output.console import command_line
    from irbench.cli.output.stderr import plugin_warnings_told

    asked = RunOptions(
        command=command_line(),
        shape=as_shapes(shape),
        set=as_settings(set),
        value=as_constants(value),
        feedback=as_feedback(feedback),
        **options,
    )
    refuse_overwriting_models(asked.models, output)
    with plugin_warnings_told(), displayed() as reporter:
        asked = with_environments(asked, (a, b), backend, reporter.say)
    return measured(asked, form, output, strict=strict)
