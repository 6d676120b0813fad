"""``irbench replay``: measure what a receipt claims again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from irbench.cli.options.formats import OUTPUT, REPORT_FORMAT, RESULTS

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench replay claim.irb
  irbench replay claim.irb --model ./resnet50.onnx --force
"""


@click.command("replay", epilog=_EXAMPLES)
@click.argument("claim", type=click.Path(path_type=Path), metavar="FILE.irb")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Where a model lies here, once for each in the order of the plan. [default: where it was]",
)
@click.option("--force", is_flag=True, help="Replay on another machine, or with other versions.")
@click.option("--allow-own-code", is_flag=True, help="Run the commands and functions that the receipt's plan names.")
@REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    claim: Path,
    models: tuple[str, ...],
    force: bool,
    allow_own_code: bool,
    form: Literal["table", "json", "md"],
    output: Path | None,
    results: Path | None,
) -> int:
    """Measure what a receipt claims again, and say whether it holds.

    Each claim is confirmed (the same verdict, and the intervals agree to ±2 %), refuted (the intervals do not agree),
    undecided, or not comparable, with the reason. The exit code is 0 if all are confirmed, 1 if one is refuted, 4 if
    it is undecided, and 2 if nothing could be compared: another machine, other versions, or a model with another
    checksum.

    A plan with rows of own code, or with a model that a function makes, is not replayed without --allow-own-code: the
    code is shown, and may do anything that you may.
    """
    from irbench.api.progress import displayed
    from irbench.api.receipt import ReplayOptions, replay_with
    from irbench.cli.output.console import print_data, to_text
    from irbench.cli.output.stderr import plugin_warnings_told

    asked = ReplayOptions(claim, models, force, allow_own_code, results)
    with displayed() as reporter, plugin_warnings_told():
        found = replay_with(asked, reporter)
    text = to_text(found.__rich__(), to_file=output is not None) if form == "table" else found.to_text(form)
    print_data(text, output)
    return int(found.exit_code)
