"""``irbench ab``: compare two versions of a runtime, each in a Python environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.ab.options import AB, AbOptions
from irbench.features.run.measured import measured
from irbench.options.run import COMMON, RunOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench ab model.onnx --b onnxruntime==1.23.2
  irbench ab model.onnx --a onnxruntime==1.22.0 --b onnxruntime==1.23.2 --streams 1,4
  irbench ab model.onnx --a openvino==2025.3 --b /path/to/venv/bin/python --backend openvino
"""


@click.command(
    "ab", cls=SectionedCommand, sections=headings(AB, {"form": COMMON, "results": OUTPUT_HEADING}), epilog=_EXAMPLES
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@declared(AB)
@strict_option("a verdict or the winner is undecided")
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    **options: Any,
) -> int:
    """Compare two versions of a runtime.

    A release is installed by uv into an environment of its own, with the Python and the other packages that irbench
    runs with, and kept for the next time. `installed` is the environment that irbench runs in. Everything else is as in
    `irbench run`: outputs are verified before anything is timed, and the speedup has a confidence interval.

    Some options of `irbench run` are not here: --baseline, because --a is the baseline; --backends and --cell, because
    one backend is measured; --apart, because each setting has a table of its own; and --max-latency, because a table
    has one setting to choose from.
    """
    from irbench.api.progress import displayed
    from irbench.features.ab.run import with_environments
    from irbench.terminal.console import command_line
    from irbench.terminal.stderr import plugin_warnings_shown

    own, shared = AB.split(options)
    run_options = RunOptions(command=command_line(), **shared)
    refuse_overwriting_models(run_options.models, output)
    with plugin_warnings_shown(), displayed() as reporter:
        run_options = with_environments(run_options, AbOptions(**own), reporter.say)
    return measured(run_options, form, output, strict=strict)
