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
from irbench.terminal.completion import RUN
from irbench.terminal.declared import declared
from irbench.terminal.formats import FORMAT, OUTPUT
from irbench.terminal.formats import RESULTS as RESULTS_FOLDER
from irbench.terminal.groups import SuggestingGroup
from irbench.terminal.run_hints import say_which_are_unfinished
from irbench.terminal.stderr import say

if TYPE_CHECKING:
    from irbench.features.results.report import SweepEntry
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
    newest 100 runs are listed unless `--limit` says otherwise; files, pipes and other formats hold all. Sweeps that
    measured a listed run follow in a table of their own; JSON has them as well.
    """
    options = [param for param in context.params if context.get_parameter_source(param) is ParameterSource.COMMANDLINE]
    if context.invoked_subcommand is not None:
        _refuse_lost_options(context, options)
        return
    from irbench.store.folders import default_root

    root = results or default_root()
    if rebuild:
        _rebuild(root, [option for option in options if option not in ("rebuild", "results")])
        return
    _list(root, form, output, RunFilter(**filters, results=results))


command.add_command(export)


def _refuse_lost_options(context: click.Context, names: list[str]) -> None:
    if names:
        options, name = _as_options(names), context.invoked_subcommand
        behind = (
            f"Write it behind: irbench results {name} ... {options} DIR" if names == ["results"] else "Leave it out."
        )
        raise IrbenchError(f"{options} before {name} has no effect.", hint=behind)


def _as_options(names: list[str]) -> str:
    return " ".join("--format" if name == "form" else f"--{name}" for name in names)


def _rebuild(root: Path, others: list[str]) -> None:
    from irbench.across_runs.summaries import forget_summaries
    from irbench.across_runs.timed_runs import forget_times
    from irbench.store.listing import list_runs
    from irbench.terminal.console import print_lines

    if others:
        raise IrbenchError(f"--rebuild and {_as_options(others)} cannot be combined.", hint="Rebuild first, then list.")
    listing = list_runs(root, rebuild=True)
    forget_summaries(root)
    forget_times(root)
    _warn(listing.problems)
    print_lines(
        f"index of {root} rebuilt: {plural(len(listing.entries), 'run')}, {len(listing.problems)} cannot be read"
    )


def _list(root: Path, form: str, output: Path | None, run_filter: RunFilter) -> None:
    from irbench.features.results.run import chosen_entries, listed_sweeps
    from irbench.store.listing import list_runs
    from irbench.terminal.console import print_data

    listing = list_runs(root)
    _warn(listing.problems)
    matches = chosen_entries(listing.entries, run_filter)
    if not matches:
        say(f"No stored run in {root} matches." if listing.entries else f"No runs are stored in {root}.")
    is_cut = form == "table" and run_filter.limit is None and output is None and sys.stdout.isatty()
    shown = matches[:_MOST_LINES] if is_cut else matches
    sweeps = listed_sweeps(root, matches)
    if matches or form != "table":
        print_data(_as_text(shown, listing.entries, sweeps, form, to_file=output is not None), output)
    if len(shown) < len(matches):
        say(f"{plural(len(matches) - len(shown), 'older run')} not shown; --limit {len(matches)} shows all")
    if form == "table":
        say_which_are_unfinished(matches, run_filter.results)


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        say(f"warning: {problem}")


def _as_text(
    entries: Sequence[RunEntry], stored: Sequence[RunEntry], sweeps: Sequence[SweepEntry], form: str, *, to_file: bool
) -> str:
    from msgspec import to_builtins

    if form == "json":
        return json.dumps({"runs": to_builtins(entries), "sweeps": to_builtins(sweeps)}, indent=2)
    if form == "jsonl":
        return "".join(json.dumps(to_builtins(entry)) + "\n" for entry in entries)
    from irbench.features.results.view import run_table, sweep_table
    from irbench.measure.clock import utc_now

    table = run_table(entries, utc_now(), stored)
    if form == "csv":
        return table.as_csv()
    if form == "md":
        return table.as_markdown()
    from irbench.render.table import ListingTable
    from irbench.terminal.console import to_text

    text = to_text(ListingTable(table), to_file=to_file)
    if not sweeps:
        return text
    return f"{text}\n{to_text(ListingTable(sweep_table(sweeps, utc_now())), to_file=to_file)}"


@command.command(
    "rm",
    short_help="Delete stored runs.",
    epilog="\b\nExample:\n  irbench results rm 01KAJ3WQ 01KAJ4XY --yes\n",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=RUN)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@RESULTS_FOLDER
def remove(runs: tuple[str, ...], yes: bool, results: Path | None) -> None:
    """Delete stored runs.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`, or the name of a sweep, which is
    deleted with all of its runs. If any RUN is not found, or is the name of several runs, nothing is deleted. A run
    that is still being measured is not deleted. One that another call deletes meanwhile is not an error.
    """
    from irbench.features.results.run import find_removed, remove_folders
    from irbench.store.folders import default_root
    from irbench.store.sweeps import removed_sweeps
    from irbench.terminal.console import print_lines

    root = results or default_root()
    _refuse_doubtful_names(root, runs)
    folders, sweeps = find_removed(root, runs)
    if yes or _confirmed(root, folders):
        with removed_sweeps(root, sweeps):
            for folder in remove_folders(root, folders, lambda folder: print_lines(f"removed {folder.name}")):
                say(f"{folder.name} is gone already: somebody else removed it")
        for name in sweeps:
            print_lines(f"removed the sweep {name}")
    else:
        say("Nothing was deleted.")


@command.command(
    "import",
    short_help="Import runs from an archive or a folder.",
    epilog="\b\nExample:\n  irbench results import runs.tar.gz\n",
)
@click.argument(
    "sources", nargs=-1, required=True, metavar="FILE.tar.gz|DIR...", type=click.Path(exists=True, path_type=Path)
)
@RESULTS_FOLDER
def import_(sources: tuple[Path, ...], results: Path | None) -> int:
    """Import runs from an archive or a folder.

    Structure, format and checksums are verified first; if anything is wrong, nothing is imported. A run that is
    already stored with the same content is skipped. Links to folders elsewhere, pipes, devices and folders that cannot
    be read are named and left out; the exit code is then 3, or 2 if there is nothing else.
    """
    from irbench.features.results.run import bring_in, import_exit_code
    from irbench.store.folders import default_root, unsearched_lines
    from irbench.terminal.console import print_lines

    arrivals = bring_in(sources, results or default_root())
    for folder in arrivals.added:
        print_lines(f"imported {folder.name}")
    for folder in arrivals.present:
        say(f"{folder.name} is already stored")
    for line in unsearched_lines(arrivals.unsearched):
        say(f"error: {line}")
    return int(import_exit_code(arrivals))


def _refuse_doubtful_names(root: Path, names: Sequence[str]) -> None:
    """Refuse ``latest`` where it is not the newest, and names of several runs: what is removed must be meant."""
    from irbench.store.folders import LATEST
    from irbench.store.listing import latest_run, runs_called

    for name in names:
        called = runs_called(root, name)
        if len(called) > 1:
            ids = ", ".join(entry.run_id for entry in called[:5])
            raise IrbenchError(
                f"{len(called)} runs are called {name!r}.", hint=f"Write the id of one, newest first: {ids}"
            )
    if LATEST not in names:
        return
    latest = latest_run(root)
    if latest.passed_over:
        newest = latest.passed_over[0].run_id
        raise IrbenchError(
            f"`latest` is {latest.entry.run_id}, but {newest} is newer and has no measured row.",
            hint="Name the run to delete by its id.",
        )


def _confirmed(root: Path, folders: Sequence[Path]) -> bool:
    if not sys.stdin.isatty():
        raise IrbenchError(
            "Deleting needs confirmation, and standard input is not a terminal.",
            hint="Add --yes to delete without confirmation.",
        )
    from irbench.render.outcome_texts import outcomes_text
    from irbench.store.listing import list_runs
    from irbench.terminal.console import confirmed

    known = {Path(entry.folder).resolve(): entry for entry in list_runs(root).entries}
    for folder in folders:
        entry = known.get(folder.resolve())
        said = f"{', '.join(entry.models)}  {outcomes_text(entry)}" if entry else "cannot be read"
        say(f"{folder.name}  {said}")
    which = "this run" if len(folders) == 1 else f"these {len(folders)} runs"
    return confirmed(f"Delete {which}?")
