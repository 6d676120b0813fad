"""``irbench deploy``: write a row of a run as a folder that runs without irbench."""

from __future__ import annotations

from pathlib import Path

import click

from irbench.terminal.completion import RUN
from irbench.terminal.formats import RESULTS

_EXAMPLES = """\b
Examples:
  irbench deploy latest -o winner
  irbench deploy 01KAJ3WQ "openvino x4" -o service
  python winner/check.py
"""


@click.command("deploy", epilog=_EXAMPLES)
@click.argument("run", type=RUN)
@click.argument("row", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Write to the new folder DIR."
)
@RESULTS
def command(run: str, row: str | None, output: Path, results: Path | None) -> None:
    """Write the winner as a standalone folder.

    The folder has the graph that was measured with its weights, infer.py, which runs it with the same settings,
    check.py, which compares outputs and speed with the run, requirements.txt with the versions of the run, and
    README.md, which tells what was measured.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`. ROW is what the table calls a row;
    without it, the winner is written, or the row that looks fastest where no winner is decided.
    """
    from irbench.features.deploy.run import write_deployment
    from irbench.features.deploy.view import deployment_view
    from irbench.store.folders import default_root
    from irbench.terminal.console import print_data, to_text
    from irbench.terminal.run_hints import say_which_run

    say_which_run(results or default_root(), run)
    print_data(to_text(deployment_view(write_deployment(run, row, output, results))), None)
