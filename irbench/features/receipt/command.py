"""``irbench receipt``: what a run claims, in one file that others can check."""

from __future__ import annotations

from pathlib import Path

import click

from irbench.terminal.completion import RUN
from irbench.terminal.formats import RESULTS, OutputFile
from irbench.terminal.stderr import say

_EXAMPLES = """\b
Examples:
  irbench receipt latest -o claim.irb
  irbench replay claim.irb
"""


@click.command("receipt", epilog=_EXAMPLES)
@click.argument("run", required=False, default="latest", type=RUN)
@click.option(
    "-o", "--output", type=OutputFile(path_type=Path), metavar="FILE.irb", help="Write the receipt to FILE.irb."
)
@RESULTS
def command(run: str, output: Path | None, results: Path | None) -> None:
    """Write a reproducible receipt of a run.

    The file has the plan, the environment, the checksums of models and samples, and every verdict that is decided,
    derived from the samples again. It contains the absolute paths of model files, and the paths of data as they were
    given. Without -o the claims are only shown.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`, the default.
    """
    from irbench.features.receipt.run import write_receipt
    from irbench.features.receipt.view import receipt_view
    from irbench.store.folders import default_root
    from irbench.terminal.console import print_data, to_text
    from irbench.terminal.run_hints import say_which_run

    say_which_run(results or default_root(), run)
    receipt = write_receipt(run, output, results)
    print_data(to_text(receipt_view(receipt)), None)
    if output is not None:
        say(f"written to {output}")
