"""``irbench sweep``: measure everything that a plan asks for, and go on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.plan.command import PLAN
from irbench.features.sweep.options import SWEEP, SweepOptions
from irbench.terminal.declared import declared, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, TABLE_OR_JSON
from irbench.terminal.stderr import plugin_warnings_shown, say

_EXAMPLES = """\b
Examples:
  irbench sweep inference-table
  irbench sweep plan.toml --only batch=8 --skip backends=tf
  irbench sweep plan.toml --resume
"""


@click.command("sweep", epilog=_EXAMPLES)
@click.argument("plan", metavar="PLAN", type=PLAN)
@declared(SWEEP)
@strict_option("a verdict or the winner of a table is undecided")
@TABLE_OR_JSON
@OUTPUT
@RESULTS
def command(
    plan: str,
    strict: bool,
    form: str,
    output: Path | None,
    **options: Any,
) -> int:
    """Run all benchmarks of a plan.

    PLAN is a TOML file, or the name of a plan from `irbench plan list`. Each table is stored as a run, launch by
    launch. `irbench plan expand PLAN` shows the tables and their cells without measuring.
    """
    from irbench.api.progress import displayed
    from irbench.errors import ExitCode
    from irbench.features.plan.reading import read_plan
    from irbench.features.sweep.run import run_sweep
    from irbench.terminal.console import command_line, print_data, resumed_command_line, to_text

    call = SweepOptions(command=command_line(), **options)
    sweep_plan = read_plan(plan)
    with plugin_warnings_shown(), displayed() as reporter:
        result, ended = run_sweep(sweep_plan, call, reporter)
    text = result.to_json() if form == "json" else to_text(result.__rich__(), to_file=output is not None)
    print_data(text, output)
    if not ended:
        say(f"interrupted: {resumed_command_line()} goes on")
        return int(ExitCode.INTERRUPTED)
    is_only_undecided = strict and result.exit_code == ExitCode.OK and result.undecided
    return int(ExitCode.UNDECIDED) if is_only_undecided else result.exit_code
