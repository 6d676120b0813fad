"""``irbench replay``: measure what a receipt claims again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.receipt.options import REPLAY, ReplayOptions
from irbench.options.values import ReportForm
from irbench.terminal.declared import declared
from irbench.terminal.formats import OUTPUT, REPORT_FORMAT, RESULTS

_EXAMPLES = """\b
Examples:
  irbench replay claim.irb
  irbench replay claim.irb --model ./resnet50.onnx --force
  irbench replay claim.irb --quick --no-lock
"""


@click.command("replay", epilog=_EXAMPLES)
@click.argument("claim", type=click.Path(path_type=Path), metavar="FILE.irb")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Path of a model on this machine, once for each in the order of the plan. [default: where it was]",
)
@declared(REPLAY)
@REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    claim: Path,
    models: tuple[str, ...],
    form: ReportForm,
    output: Path | None,
    **options: Any,
) -> int:
    """Check whether the results of a receipt reproduce.

    Each claim is confirmed (the same verdict, and the intervals agree), refuted (the intervals do not agree),
    undecided, or not comparable, with the reason. The exit code is 0 if all are confirmed, 1 if one is refuted, 4 if
    it is undecided, and 2 if nothing could be compared: another machine, other versions, or a model with another
    checksum.

    A plan with rows of own code, or with a model that a function makes, is not replayed without --allow-own-code: the
    code is shown, and can do anything that you can.
    """
    from irbench.api.progress import displayed
    from irbench.features.receipt.run import replay_with
    from irbench.terminal.console import print_data, to_text
    from irbench.terminal.stderr import plugin_warnings_shown

    with displayed() as reporter, plugin_warnings_shown():
        replay = replay_with(ReplayOptions(claim, models, **options), reporter)
    text = to_text(replay.__rich__(), to_file=output is not None) if form == "table" else replay.to_text(form)
    print_data(text, output)
    return int(replay.exit_code)
