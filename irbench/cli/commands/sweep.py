"""``irbench sweep``: measure everything that a plan asks for, and go on where it stopped."""

from __future__ import annotations

from pathlib import Path

import click

from irbench.cli.options.completion import PLAN
from irbench.cli.options.declared import shared
from irbench.cli.options.formats import OUTPUT, RESULTS, TABLE_OR_JSON
from irbench.cli.options.types import PlainDefault
from irbench.cli.output.stderr import plugin_warnings_shown, say

_EXAMPLES = """\b
Examples:
  irbench sweep resnet152-threads
  irbench sweep plan.toml --only batch=8 --skip backends=tf
  irbench sweep plan.toml --resume
"""


@click.command("sweep", epilog=_EXAMPLES)
@click.argument("plan", metavar="PLAN", type=PLAN)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on where the sweep stopped: nothing is measured twice, and an interrupted table goes on after its last"
    " launch. Tables that could not be measured are tried again.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUE",
    help="Measure only these cells: batch=8,backends=ort, or the beginning of an id; may be repeated.",
)
@click.option("--skip", multiple=True, metavar="KEY=VALUE", help="Leave these cells out; may be repeated.")
@click.option("--name", cls=PlainDefault, show_default="that of the plan", metavar="NAME", help="Name the sweep.")
@shared("seed", help="Seed for the order of the tables.", default=None, default_text="that of the plan")
@shared("no_lock")
@click.option("--strict", is_flag=True, help="Exit with 4 if a verdict or the winner of a table is undecided.")
@TABLE_OR_JSON
@OUTPUT
@RESULTS
def command(
    plan: str,
    resume: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    name: str | None,
    seed: int | None,
    no_lock: bool,
    strict: bool,
    form: str,
    output: Path | None,
    results: Path | None,
) -> int:
    """Measure everything that a plan asks for, table after table in random order.

    PLAN is a TOML file, or the name of a plan from `irbench plan list`. Each table is stored as a run, launch by
    launch. `irbench plan expand PLAN` shows the tables and their cells without measuring.
    """
    from irbench.api.plans.reading import read_plan
    from irbench.api.progress import displayed
    from irbench.api.sweep import SweepCall, run_sweep
    from irbench.cli.output.console import command_line, print_data, to_text
    from irbench.errors import ExitCode

    call = SweepCall(resume, only, skip, name, seed, no_lock, results, command_line())
    asked = read_plan(plan)
    with plugin_warnings_shown(), displayed() as reporter:
        found, ended = run_sweep(asked, call, reporter)
    text = found.to_json() if form == "json" else to_text(found.__rich__(), to_file=output is not None)
    print_data(text, output)
    if not ended:
        say(f"interrupted: irbench sweep {plan} --resume goes on")
        return int(ExitCode.INTERRUPTED)
    is_only_undecided = strict and found.exit_code == ExitCode.OK and found.undecided
    return int(ExitCode.UNDECIDED) if is_only_undecided else found.exit_code
