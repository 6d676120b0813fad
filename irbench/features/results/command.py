"""``irbench results``: list the stored runs; ``rm``, ``export`` and ``import`` are subcommands."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from irbench.core.quantities import plural
from irbench.errors import IrbenchError
from irbench.features.results.export_command import export
from irbench.features.results.options import RESULTS, RunFilter
from irbench.features.results.stored_runs_command import import_, remove
from irbench.terminal.declared import declared
from irbench.terminal.formats import FORMAT, OUTPUT
from irbench.terminal.formats import RESULTS as RESULTS_FOLDER
from irbench.terminal.groups import SuggestingGroup
from irbench.terminal.resuming import say_which_are_unfinished
from irbench.terminal.stderr import say

if TYPE_CHECKING:
    from irbench.store.entries import RunEntry

_MOST_LINES = 100
"""Of a table on a terminal: a longer one takes a minute to lay out for 100,000 runs, and scrolls away."""

_EXAMPLES = """\b
Examples:
  irbench results --model resnet50 --since 7d
  irbench results rm 01KAJ3WQ --yes
  irbench results export latest -o run.tar.gz
  irbench results export --all -o runs.parquet
  irbench results import run.tar.gz
"""


@click.group(
    "results",
    cls=SuggestingGroup,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND]",
    epilog=_EXAMPLES,
)
@declared(RESULTS)
@click.option("--rebuild", is_flag=True, help="Rebuild the index from the folders, and list those that cannot be read.")
@FORMAT
@OUTPUT
@RESULTS_FOLDER
@click.pass_context
def command(
    context: click.Context, /, form: str, output: Path | None, results: Path | None, rebuild: bool, **filters: Any
) -> None:
    """List the stored runs, newest first.

    The outcome is the winner and its lead, the leader of a preview, or that nothing was measured. On a terminal the
    newest 100 runs are listed unless `--limit` says otherwise; files, pipes and other formats hold all.
    """
    given = [param for param in context.params if context.get_parameter_source(param) is ParameterSource.COMMANDLINE]
    if context.invoked_subcommand is not None:
        _refuse_lost_options(context, given)
        return
    from irbench.store.folders import default_root

    root = results or default_root()
    if rebuild:
        _rebuild(root, [option for option in given if option not in ("rebuild", "results")])
        return
    _list(root, form, output, RunFilter(**filters, results=results))


command.add_command(remove)
command.add_command(export)
command.add_command(import_)


def _refuse_lost_options(context: click.Context, given: list[str]) -> None:
    if given:
        options, name = _as_options(given), context.invoked_subcommand
        behind = (
            f"Write it behind: irbench results {name} ... {options} DIR" if given == ["results"] else "Leave it out."
        )
        raise IrbenchError(f"{options} before {name} has no effect.", hint=behind)


def _as_options(names: list[str]) -> str:
    return " ".join("--format" if name == "form" else f"--{name}" for name in names)


def _rebuild(root: Path, others: list[str]) -> None:
    from irbench.across_runs.summaries import forget_summaries
    from irbench.store.listing import list_runs
    from irbench.terminal.console import print_lines

    if others:
        raise IrbenchError(f"--rebuild and {_as_options(others)} cannot be combined.", hint="Rebuild first, then list.")
    listing = list_runs(root, anew=True)
    forget_summaries(root)
    _warn(listing.problems)
    print_lines(
        f"index of {root} made anew: {plural(len(listing.entries), 'run')}, {len(listing.problems)} cannot be read"
    )


def _list(root: Path, form: str, output: Path | None, wanted: RunFilter) -> None:
    from irbench.features.results.run import chosen_entries
    from irbench.store.listing import list_runs
    from irbench.terminal.console import print_data

    listing = list_runs(root)
    _warn(listing.problems)
    found = chosen_entries(listing.entries, wanted)
    if not found:
        say(f"No stored run in {root} matches." if listing.entries else f"No runs are stored in {root}.")
    is_cut = form == "table" and wanted.limit is None and output is None and sys.stdout.isatty()
    shown = found[:_MOST_LINES] if is_cut else found
    if found or form != "table":
        print_data(_as_text(shown, listing.entries, form, to_file=output is not None), output)
    if len(shown) < len(found):
        say(f"{plural(len(found) - len(shown), 'older run')} not shown; --limit {len(found)} shows all")
    if form == "table":
        say_which_are_unfinished(found, wanted.results)


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        say(f"warning: {problem}")


def _as_text(found: Sequence[RunEntry], stored: Sequence[RunEntry], form: str, *, to_file: bool) -> str:
    from msgspec import to_builtins

    if form == "json":
        return json.dumps({"runs": to_builtins(found)}, indent=2)
    if form == "jsonl":
        return "".join(json.dumps(to_builtins(entry)) + "\n" for entry in found)
    from irbench.features.results.view import run_table
    from irbench.measure.clock import utc_now

    table = run_table(found, utc_now(), stored)
    if form == "csv":
        return table.as_csv()
    if form == "md":
        return table.as_markdown()
    from irbench.render.table import ListingTable
    from irbench.terminal.console import to_text

    return to_text(ListingTable(table), to_file=to_file)
