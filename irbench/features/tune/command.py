"""``irbench tune``: search for the best setting of a model, and confirm it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from irbench.errors import IrbenchError
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.options.values import PageForm, ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.formats import CHARTED_REPORT_FORMAT, OUTPUT, RESULTS
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

if TYPE_CHECKING:
    from irbench.features.tune.report import Tuning

_EXAMPLES = """\b
Examples:
  irbench tune model.onnx
  irbench tune resnet50 --backends openvino,ort --max-latency 50ms --budget 10m
  irbench tune model.onnx --slo "p99<=50ms" --budget 10m
  irbench tune model.onnx --objective latency --precision fp32,bf16
  irbench tune model.onnx --deploy winner
"""


@click.command(
    "tune",
    cls=SectionedCommand,
    sections=headings(TUNE, {"form": OUTPUT_HEADING, "deploy": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@declared(TUNE)
@CHARTED_REPORT_FORMAT
@OUTPUT
@click.option(
    "--deploy",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also write the recommended setting to the new folder DIR, as irbench deploy does.",
)
@RESULTS
def command(
    form: ReportForm | PageForm,
    output: Path | None,
    deploy: Path | None,
    model: str,
    **options: Any,
) -> int:
    """Search for the fastest configuration and confirm it.

    Settings are launched side by side, the most promising again and again, in the time that the confirmation leaves.
    The best are then measured under the full protocol beside each backend as it runs without any option and as its
    vendor advises. Of the rows that are as good as the best one, the least costly is recommended: by latency where that
    is not what was asked for, then by simplicity, so that a default comes before a setting whose gain may be noise.
    """
    from irbench.api.progress import displayed
    from irbench.features.tune.run import tune_with
    from irbench.terminal.console import command_line
    from irbench.terminal.report_output import require_writable_form, write_report
    from irbench.terminal.stderr import plugin_warnings_shown

    require_writable_form(form, output)
    if deploy is not None:
        _refuse_impossible_folder(deploy, options)
    own, shared = TUNE.split(options)
    refuse_overwriting_models((model,), output)
    with plugin_warnings_shown(), displayed() as reporter:
        tuning = tune_with(TuneOptions(model, RunOptions(command=command_line(), **shared), **own), reporter)
    write_report(tuning, form, output, crop=False)
    if deploy is not None:
        _deploy(tuning, deploy)
    return int(tuning.exit_code)


def _refuse_impossible_folder(folder: Path, options: dict[str, Any]) -> None:
    from irbench.features.deploy.run import require_new_folder

    if options["slo"] is not None:
        raise IrbenchError(
            "--deploy is of settings that were measured by calls, and --slo compares them by requests.",
            hint="Leave --deploy out: the program of the recommended setting is printed.",
        )
    require_new_folder(folder, "--deploy")


def _deploy(tuning: Tuning, folder: Path) -> None:
    """Write the folder of what was recommended, and say how it is checked."""
    from irbench.features.deploy.run import write_deployment
    from irbench.terminal.stderr import say

    report = tuning.report
    if report.setting is None or report.confirmation_run is None or not report.can_be_deployed:
        say(f"{folder} was not written: no setting is recommended")
        return
    results = None if report.results is None else Path(report.results)
    written = write_deployment(report.confirmation_run, report.setting.row, folder, results)
    say(f"written: {written.folder}; check it: python {quote(f'{written.folder}/check.py')}")
