"""``irbench plan``: look at plans of sweeps, and make one of a stored run."""

from __future__ import annotations

from pathlib import Path

import click

from irbench.terminal.completion import RUN, CompletedName
from irbench.terminal.formats import FORMAT, OUTPUT, RESULTS
from irbench.terminal.groups import SuggestingGroup
from irbench.terminal.stderr import say

_EXAMPLES = """\b
Examples:
  irbench plan list
  irbench plan show resnet152-threads -o plan.toml
  irbench plan expand plan.toml
  irbench plan from latest -o again.toml
"""


def _shipped(_context: click.Context, _begun: str) -> tuple[str, ...]:
    from irbench.features.plan.reading import shipped_plans

    return shipped_plans()


PLAN = CompletedName("plan", _shipped)


@click.group("plan", cls=SuggestingGroup, epilog=_EXAMPLES)
def command() -> None:
    """Show, expand and create plans for sweeps."""


@command.command("expand", short_help="List the cells of a plan.")
@click.argument("plan", metavar="PLAN", type=PLAN)
@click.option("--only", multiple=True, metavar="KEY=VALUE", help="Only these cells, as irbench sweep takes them.")
@click.option("--skip", multiple=True, metavar="KEY=VALUE", help="Without these cells.")
@FORMAT
@OUTPUT
@RESULTS
def expand(
    plan: str, only: tuple[str, ...], skip: tuple[str, ...], form: str, output: Path | None, results: Path | None
) -> None:
    """List the cells of a plan.

    The time of a table is its budget, or what stored runs with the same rows took. Nothing is measured or exported.
    """
    from irbench.features.plan.preview import expanded_plan
    from irbench.render.table import ListingTable
    from irbench.terminal.console import print_data, to_text

    expanded = expanded_plan(plan, only, skip, results)
    if form == "table":
        if expanded.common:
            say(expanded.common)
        print_data(to_text(ListingTable(expanded.table), to_file=output is not None), output)
        say(expanded.times)
    else:
        print_data(expanded.to_text(form), output)
    for problem in expanded.problems:
        say(f"warning: {problem}")


@command.command("schema", short_help="Print the JSON Schema of plans.")
@OUTPUT
def schema(output: Path | None) -> None:
    """Print the JSON Schema of plans."""
    from irbench.features.plan.reading import SHIPPED
    from irbench.terminal.console import print_data

    print_data((SHIPPED / "plan.schema.json").read_text(encoding="utf-8"), output)


@command.command("from", short_help="Print a stored run as a plan.")
@click.argument("run", required=False, type=RUN)
@OUTPUT
@RESULTS
def from_(run: str | None, output: Path | None, results: Path | None) -> None:
    """Print a stored run as a plan.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`, the default; or the name of a
    sweep, whose plan is printed.
    """
    from irbench.features.plan.writing import plan_from, plan_text
    from irbench.store.folders import default_root
    from irbench.terminal.console import print_data
    from irbench.terminal.run_hints import say_which_run

    say_which_run(results or default_root(), run)
    print_data(plan_text(plan_from(run or "latest", results=results)), output)


@command.command("list", short_help="List the plans that come with irbench.")
def list_() -> None:
    """List the plans that come with irbench."""
    from irbench.features.plan.reading import shipped_plans, summary
    from irbench.terminal.console import print_lines

    names = shipped_plans()
    width = max(map(len, names))
    for name in names:
        print_lines(f"{name:{width}}  {summary(name)}")


@command.command("show", short_help="Print a plan that comes with irbench.")
@click.argument("plan", metavar="PLAN", type=PLAN)
@OUTPUT
def show(plan: str, output: Path | None) -> None:
    """Print a plan that comes with irbench."""
    from irbench.features.plan.reading import plan_file
    from irbench.features.plan.writing import shown_plan
    from irbench.terminal.console import print_data

    print_data(shown_plan(plan_file(plan)), output)
