"""``irbench ab``: compare two versions of a runtime, each in a Python environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.cli.options import measuring
from irbench.cli.options.completion import MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.cli.options.groups import SectionedCommand
from irbench.cli.output.measured import measured, refuse_overwriting_models

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
@measuring.backend("the one whose runtime both have")
@measuring.IMPORTS
@measuring.batch("Batch sizes; one table for each, as for streams, instances, precisions and threads.")
@measuring.SHAPE
@measuring.DATA
@measuring.VALUE
@measuring.FEEDBACK
@measuring.STREAMS
@measuring.INSTANCES
@measuring.PRECISION
@measuring.optimize("Optimisation levels; two rows for each.")
@measuring.OBJECTIVE
@measuring.ALLOW_MIXED
@measuring.THREADS
@measuring.CPUS
@measuring.SET
@measuring.IO
@measuring.SEED
@measuring.WITHIN
@measuring.BUDGET
@measuring.DEADLINE
@measuring.QUICK
@measuring.THOROUGH
@measuring.TAIL
@measuring.PACE
@measuring.WARM_UP
@measuring.SUSTAIN
@measuring.COLD
@measuring.strict("a verdict or the winner is undecided")
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
    from irbench.cli.output.stderr import plugin_warnings_shown

    asked = RunOptions(command=command_line(), **options)
    refuse_overwriting_models(asked.models, output)
    with plugin_warnings_shown(), displayed() as reporter:
        asked = with_environments(asked, (a, b), backend, reporter.say)
    return measured(asked, form, output, strict=strict)
