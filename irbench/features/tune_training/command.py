"""``irbench tune-training``: search for the settings with which a model trains fastest, and confirm them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.tune_training.options import TUNE_TRAINING, TuneTrainingOptions
from irbench.options.run import RunOptions
from irbench.options.values import PageForm, ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.formats import CHARTED_REPORT_FORMAT, OUTPUT, RESULTS
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench tune-training cnn_cifar10
  irbench tune-training model.py:make --batch 32,64,128 --precision fp32,mixed_bfloat16 --cache off,on
  irbench tune-training model.keras --objective cost --threads 1,2,4 --budget 20m
"""


@click.command(
    "tune-training",
    cls=SectionedCommand,
    sections=headings(TUNE_TRAINING, {"form": "Output"}),
    epilog=_EXAMPLES,
)
@click.argument("model", type=MODEL, metavar="MODEL")
@declared(TUNE_TRAINING)
@CHARTED_REPORT_FORMAT
@OUTPUT
@RESULTS
def command(form: ReportForm | PageForm, output: Path | None, model: str, **options: Any) -> int:
    """Search for the fastest training configuration.

    MODEL is what irbench train takes. Every combination of the values is a setting. Settings are launched side by side,
    the most promising again and again; the best are then measured under the full protocol beside the default, the first
    value of each option, once it is known that their loss falls.
    """
    from irbench.api.progress import displayed
    from irbench.features.tune_training.run import tune_training_with
    from irbench.terminal.console import command_line
    from irbench.terminal.report_output import require_writable_form, write_report
    from irbench.terminal.stderr import plugin_warnings_shown

    require_writable_form(form, output)
    own, shared = TUNE_TRAINING.split(options)
    refuse_overwriting_models((model,), output)
    run = RunOptions(command=command_line(), **shared)
    with plugin_warnings_shown(), displayed() as reporter:
        tuning = tune_training_with(model, TuneTrainingOptions(**own), run, reporter)
    write_report(tuning, form, output, crop=False)
    return int(tuning.exit_code)
