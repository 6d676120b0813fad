"""``irbench soak``: call rows for a long time to see whether their memory grows or their calls become slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.run.measured import measured
from irbench.features.soak.options import SOAK, SoakOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench soak model.onnx --backends ort,openvino
  irbench soak resnet50 --for 10m --streams 4
  irbench soak model.onnx --calls 100000 --format json -o soak.json
"""


@click.command(
    "soak",
    cls=SectionedCommand,
    sections=headings(SOAK, {"strict": OUTPUT_HEADING, "form": OUTPUT_HEADING, "results": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@declared(SOAK)
@strict_option("it is undecided whether a row grows")
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    **options: Any,
) -> int:
    """Detect memory growth and slowdown over time.

    MODEL is what `irbench run` takes. Rows are called one after the other, each in a process of its own, in blocks.
    After each block the resident memory is read: its slope, in bytes per call, has a confidence interval, and memory
    grows, is steady, or is undecided. The exit code is 1 if a row grows. Outputs are verified
    before, after each block and at the end.
    """
    from irbench.features.soak.run import soak_plan
    from irbench.terminal.console import command_line

    own, shared = SOAK.split(options)
    plan = soak_plan(SoakOptions(**own))
    run = RunOptions(command=command_line(), **shared)
    refuse_overwriting_models(run.models, output)
    return measured(run, form, output, strict=strict, mode=plan)
