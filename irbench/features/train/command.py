"""``irbench train``: what a training step costs, and what each setting of it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.run.measured import written
from irbench.features.train.options import TRAIN, TrainOptions
from irbench.options.run import RunOptions
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench train cnn_cifar10 --xla off,on --prefetch 0,auto
  irbench train model.py:make --loss sparse_categorical_crossentropy --data photos/
  irbench train model.keras --batch 32,64 --precision fp32,mixed_bfloat16 --design half
"""


@click.command(
    "train",
    cls=SectionedCommand,
    sections=headings(TRAIN, {"strict": "How long, and what is compared", "form": "Output", "results": "Output"}),
    epilog=_EXAMPLES,
)
@click.argument("model", type=MODEL, metavar="MODEL")
@declared(TRAIN)
@strict_option("a verdict or the winner is undecided")
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(model: str, form: str, output: Path | None, strict: bool, **options: Any) -> int:
    """Measure training steps and the effect of settings.

    MODEL is a model of the zoo, a .keras file, or file.py:function that returns a Keras model. Each combination of
    settings is a row, whose time is that of a step: waiting for a batch, and the compiled step. Before a row is timed,
    its loss must fall. Effects of settings, alone and in pairs, have confidence intervals.
    """
    from irbench.features.train.run import measure_training
    from irbench.terminal.console import command_line

    own, shared = TRAIN.split(options)
    refuse_overwriting_models((model,), output)
    run_options = RunOptions(command=command_line(), **shared)
    return written(
        lambda reporter: measure_training(model, TrainOptions(**own), run_options, reporter),
        run_options.results,
        form,
        output,
        strict=strict,
    )
