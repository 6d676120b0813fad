"""``irbench tune``: search for the best setting of a model, and confirm it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.tune.options import TUNE, TuneOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.options.values import PageForm, ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.formats import CHARTED_REPORT_FORMAT, OUTPUT, RESULTS
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench tune model.onnx
  irbench tune resnet50 --backends openvino,ort --max-latency 50ms --budget 10m
  irbench tune model.onnx --slo "p99<=50ms" --budget 10m
  irbench tune model.onnx --objective latency --precision fp32,bf16
"""


@click.command("tune", cls=SectionedCommand, sections=headings(TUNE, {"form": OUTPUT_HEADING}), epilog=_EXAMPLES)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@declared(TUNE)
@CHARTED_REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    form: ReportForm | PageForm,
    output: Path | None,
    model: str,
    **options: Any,
) -> int:
    """Search for the setting with which a model runs best, and confirm that it gains.

    Settings are launched side by side, the most promising again and again, in the time that the confirmation leaves.
    The best are then measured under the full protocol beside each backend as it runs without any option and as its
    vendor advises. A setting is recommended if it is faster than all of these, and is called confirmed if that is
    certain; otherwise the fastest of them is recommended.
    """
    from irbench.api.progress import displayed
    from irbench.features.tune.run import tune_with
    from irbench.terminal.console import command_line
    from irbench.terminal.report_output import require_writable_form, write_report
    from irbench.terminal.stderr import plugin_warnings_shown

    require_writable_form(form, output)
    own, shared = TUNE.split(options)
    refuse_overwriting_models((model,), output)
    with plugin_warnings_shown(), displayed() as reporter:
        tuning = tune_with(TuneOptions(model, RunOptions(command=command_line(), **shared), **own), reporter)
    write_report(tuning, form, output, crop=False)
    return int(tuning.exit_code)
