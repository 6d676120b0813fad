"""``irbench serve``: give models requests as they arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.run.measured import measured
from irbench.features.serve.options import SERVE, ServeOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench serve model.onnx --backends ort,openvino --rate 10,50,100
  irbench serve resnet50 --slo "p99<=50ms" --streams 2
  irbench serve model.onnx --scenario offline --batch 8
"""


@click.command(
    "serve",
    cls=SectionedCommand,
    sections=headings(SERVE, {"strict": OUTPUT_HEADING, "form": OUTPUT_HEADING, "results": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@declared(SERVE)
@strict_option("it is undecided whether a row keeps the service level")
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    **options: Any,
) -> int:
    """Measure latency and sustained load of requests.

    MODEL is what `irbench run` takes. Requests arrive on their own, as those of many users do, and their latency counts
    from when they were due: a request that waits behind a slow one is slow. All rows are given the same arrivals. With
    `--slo` and without `--rate`, the highest rate is searched at which the service level is kept. Outputs are verified
    before, during and after each load.
    """
    from irbench.features.serve.run import refuse_wait_for_one, serving_plan
    from irbench.terminal.console import command_line

    own, shared = SERVE.split(options)
    run = RunOptions(command=command_line(), **shared)
    plan = serving_plan(ServeOptions(**own), run)
    refuse_overwriting_models(run.models, output)
    return measured(run, form, output, strict=strict, mode=plan, keep=refuse_wait_for_one)
