"""``irbench bisect``: find the version of a runtime that changed the speed or the answers of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.bisect.options import BISECT, BisectOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.options.values import ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.formats import OUTPUT, REPORT_FORMAT, RESULTS
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench bisect model.onnx --runtime onnxruntime --from 1.22 --to 1.31
  irbench bisect model.onnx --runtime onnxruntime --from 1.22 --to 1.31 --by answer
  irbench bisect model.onnx --runtime openvino --from 2025.3 --to 2026.4 --threshold 5% --format json
"""


@click.command(
    "bisect",
    cls=SectionedCommand,
    sections=headings(BISECT, {"form": OUTPUT_HEADING, "results": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@declared(BISECT)
@REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    form: ReportForm,
    output: Path | None,
    model: str,
    **options: Any,
) -> int:
    """Find the runtime version that changed a model.

    Versions are those that uv finds in the index that it is configured with, and each is installed into an
    environment of its own, which is kept. The ends are compared first. A version is assigned to the end that it is
    closer to, once its interval decides; one that cannot be installed or run is skipped. In the end the two neighbours
    that differ are compared with each other. Comparisons are stored runs.
    """
    from irbench.api.progress import displayed
    from irbench.features.bisect.run import bisect_with
    from irbench.terminal.console import command_line
    from irbench.terminal.report_output import write_report_text
    from irbench.terminal.stderr import plugin_warnings_shown

    own, shared = BISECT.split(options)
    run = RunOptions(command=command_line(), **shared)
    refuse_overwriting_models((model,), output)
    with plugin_warnings_shown(), displayed() as reporter:
        bisection = bisect_with(BisectOptions(model=model, run=run, **own), reporter)
    write_report_text(bisection, form, output, crop=False)
    return int(bisection.exit_code)
