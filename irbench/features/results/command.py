"""``irbench results``: list the stored runs; ``rm``, ``export`` and ``import`` are subcommands."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from irbench.core.quantities import plural
from irbench.errors import ExitCode, IrbenchError
from irbench.features.results.options import RESULTS, RESULTS_EXPORT, RunFilter
from irbench.render.formats.export_formats import ARCHIVE, FORMATS, format_for
from irbench.system.file_states import is_file
from irbench.terminal.completion import RUN
from irbench.terminal.declared import declared
from irbench.terminal.formats import COLUMNS, EXPORT_FORMAT, FORMAT, OUTPUT, OutputFile
from irbench.terminal.formats import RESULTS as RESULTS_FOLDER
from irbench.terminal.groups import SuggestingGroup
from irbench.terminal.run_hints import say_which_are_unfinished
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
    from irbench.features.results.run import chosen_entries
    from irbench.store.listing import list_runs
    from irbench.terminal.console import print_data

    listing = list_runs(root)
    _warn(listing.problems)
    matches = chosen_entries(listing.entries, run_filter)
    if not matches:
        say(f"No stored run in {root} matches." if listing.entries else f"No runs are stored in {root}.")
    is_cut = form == "table" and run_filter.limit is None and output is None and sys.stdout.isatty()
    shown = matches[:_MOST_LINES] if is_cut else matches
    if matches or form != "table":
        print_data(_as_text(shown, listing.entries, form, to_file=output is not None), output)
    if len(shown) < len(matches):
        say(f"{plural(len(matches) - len(shown), 'older run')} not shown; --limit {len(matches)} shows all")
    if form == "table":
        say_which_are_unfinished(matches, run_filter.results)


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        say(f"warning: {problem}")


def _as_text(entries: Sequence[RunEntry], stored: Sequence[RunEntry], form: str, *, to_file: bool) -> str:
    from msgspec import to_builtins

    if form == "json":
        return json.dumps({"runs": to_builtins(entries)}, indent=2)
    if form == "jsonl":
        return "".join(json.dumps(to_builtins(entry)) + "\n" for entry in entries)
    from irbench.features.results.view import run_table
    from irbench.measure.clock import utc_now

    table = run_table(entries, utc_now(), stored)
    if form == "csv":
        return table.as_csv()
    if form == "md":
        return table.as_markdown()
    from irbench.render.table import ListingTable
    from irbench.terminal.console import to_text

    return to_text(ListingTable(table), to_file=to_file)


_MOST_NAMED = 10

_EXPORT_EXAMPLES = """\b
Examples:
  irbench results export latest 01KAJ3WQ -o runs.tar.gz
  irbench results export --all -o runs.parquet
  irbench results export --model resnet50 --since 7d --columns created,label,p50_ms -o week.csv
  irbench results export before --format pyperf -o before.json
"""


@command.command(
    "export", short_help="Export runs to an archive, or to a file for other programs.", epilog=_EXPORT_EXAMPLES
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=RUN)
@click.option("--all", "everything", is_flag=True, help="Every stored run.")
@declared(RESULTS_EXPORT)
@EXPORT_FORMAT
@COLUMNS
@click.option(
    "-o",
    "--output",
    type=OutputFile(path_type=Path),
    metavar="FILE",
    help="The file to write; - is standard output, the default for text.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists; an archive replaces only an archive.")
@RESULTS_FOLDER
def export(
    runs: tuple[str, ...],
    everything: bool,
    form: str | None,
    columns: tuple[str, ...],
    output: Path | None,
    force: bool,
    results: Path | None,
    **filters: Any,
) -> int:
    """Export runs to an archive, or to a file for other programs.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`; without RUN, options choose.
    All checksums are verified. An archive holds raw samples and logs (of each log, the last megabyte): read it with
    `irbench results import`, or unpack it with tar in a results folder. The other formats have a row for each row of
    the runs, also for failed ones, and docs/exports.md describes them. A run that cannot be read is reported, and the
    others are exported. An existing FILE is overwritten only with --force.
    """
    from irbench.store.folders import default_root

    root = results or default_root()
    format_name = _format(form, output)
    if output is not None and not force and is_file(output):  # a pipe or a device loses nothing
        raise IrbenchError(f"{output} exists already.", hint="Give another file with -o, or overwrite it with --force.")
    names, problems = _chosen(root, runs, RunFilter(**filters), everything=everything)
    for problem in problems:
        say(f"error: {problem}")
    if format_name == ARCHIVE:
        _pack(root, names, columns, output)
        are_all_exported = True
    else:
        are_all_exported = _write(root, names, format_name, columns, output)
    return int(ExitCode.OK if are_all_exported and not problems else ExitCode.FAILED_CELL)


def _format(form: str | None, output: Path | None) -> str:
    chosen = format_for(output) if form is None and output is not None else None
    return form or (chosen.name if chosen is not None else ARCHIVE)


def _chosen(
    root: Path,
    runs: tuple[str, ...],
    run_filter: RunFilter,
    *,
    everything: bool,
) -> tuple[tuple[str | Path, ...], tuple[str, ...]]:
    """Return the runs that are meant, as folders and oldest first where options choose them, and what is damaged."""
    is_chosen = everything or run_filter != RunFilter()
    if runs and is_chosen:
        raise IrbenchError("RUN and options that choose runs cannot be combined.", hint="Leave one of them out.")
    if runs:
        return runs, ()
    if not is_chosen:
        raise IrbenchError(
            "No run is named.", hint="Name runs, or choose them with --all, --model, --backend or --since."
        )
    from irbench.features.results.run import chosen_entries
    from irbench.store.folders import results_option
    from irbench.store.listing import list_runs

    listing = list_runs(root)
    entries = chosen_entries(listing.entries, run_filter)
    if not entries and not listing.problems:
        raise IrbenchError(
            f"No stored run in {root} matches.", hint=f"List the stored runs: irbench results{results_option(root)}"
        )
    return tuple(Path(entry.folder) for entry in reversed(entries)), listing.problems


def _pack(root: Path, names: tuple[str | Path, ...], columns: tuple[str, ...], output: Path | None) -> None:
    from irbench.features.results.run import export_runs
    from irbench.terminal.console import print_lines

    if columns:
        raise IrbenchError("--columns does not apply to an archive.", hint="Add --format csv, or leave it out.")
    if output is None:
        raise IrbenchError(
            "An archive cannot be written to standard output.", hint="Name a file with -o, or add --format csv."
        )
    _say_which(root, names)
    folders = export_runs(names, output, format=ARCHIVE, results=root)
    print_lines(_exported([folder.name for folder in folders]))


def _write(root: Path, names: tuple[str | Path, ...], name: str, columns: tuple[str, ...], output: Path | None) -> bool:
    from irbench.render.footer import incomplete
    from irbench.runs.results_export import export_named
    from irbench.store.folders import results_option
    from irbench.terminal.console import print_lines
    from irbench.terminal.run_output import refuse_impossible, write_export

    refuse_impossible(name, output, columns)
    _say_which(root, names)
    report = export_named(root, names, FORMATS[name], columns)
    is_any_read = bool(report.export.runs)
    if is_any_read:
        write_export(FORMATS[name], report.export, output)
    for error in report.problems:
        say(f"error: {error.message}")
    if not is_any_read:
        raise IrbenchError(
            "None of the runs can be exported.", hint=f"List the stored runs: irbench results{results_option(root)}"
        )
    for run in report.export.runs:
        if not run.is_complete:
            say(f"warning: {run.run_id}: {incomplete(run.document)}")
    if output is not None:
        print_lines(_exported([run.run_id for run in report.export.runs]))
    return not report.problems


def _exported(run_ids: Sequence[str]) -> str:
    """Return what is said of exported runs: each on a line, unless nobody would read so many lines."""
    if len(run_ids) > _MOST_NAMED:
        return f"exported {len(run_ids)} runs: {run_ids[0]} to {run_ids[-1]}"
    return "\n".join(f"exported {run_id}" for run_id in run_ids)


def _say_which(root: Path, names: tuple[str | Path, ...]) -> None:
    """Say which runs are meant where that is not obvious; what cannot be found is reported later."""
    from irbench.terminal.run_hints import say_which_run

    for name in names:
        if not isinstance(name, Path):
            with contextlib.suppress(IrbenchError):
                say_which_run(root, name)


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

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`. If any RUN is not found, or is
    the name of several runs, nothing is deleted. A run that is still being measured is not deleted. One that another
    call deletes meanwhile is not an error.
    """
    from irbench.features.results.run import find_runs, remove_folders
    from irbench.store.folders import default_root
    from irbench.terminal.console import print_lines

    root = results or default_root()
    _refuse_doubtful_names(root, runs)
    folders = find_runs(root, runs)
    if yes or _confirmed(root, folders):
        for folder in remove_folders(root, folders, lambda folder: print_lines(f"removed {folder.name}")):
            say(f"{folder.name} is gone already: somebody else removed it")
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
    """Import runs: archives written by `irbench results export`, or folders that contain runs.

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
    from irbench.store.listing import LATEST, latest_run, runs_called

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
