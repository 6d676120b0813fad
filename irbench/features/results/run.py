"""Load, list, delete, export and import stored runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

from irbench.api.arguments import given_path, results_folder
from irbench.errors import ExitCode, IrbenchError
from irbench.features.results.keywords import ResultsKeywords
from irbench.features.results.options import RESULTS, RunFilter
from irbench.features.results.report import RunListing, SweepEntry
from irbench.options.option import names_keywords
from irbench.options.values import RunName, run_name

if TYPE_CHECKING:
    from irbench.features.results.moved_runs import Arrivals, Staged
    from irbench.render.formats.export_formats import FormatName
    from irbench.runs.results import Run
    from irbench.store.entries import RunEntry

_DEADLINE_S = 600.0

Folder: TypeAlias = "str | PathLike[str] | None"


def load(run: RunName = "latest", *, results: Folder = None) -> Run:
    """Return a stored run.

    Args:
        run: Its name, its id or the beginning of its id, its folder, what another call returned, or ``latest``: the
            newest run in which at least one cell was measured. A name of several runs means the newest of them, by the
            same rule.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such run, several are meant, or it is damaged.
    """
    from irbench.runs.results import Run
    from irbench.store.listing import find_run
    from irbench.store.runs import load_document

    folder = find_run(results_folder(results), run_name(run))
    return Run(load_document(folder), folder)


@names_keywords(RESULTS)
def results(**options: Unpack[ResultsKeywords]) -> tuple[RunEntry, ...]:
    """Return an entry for each stored run, newest first, shown as a table; :func:`load` takes its ``run_id``.

    Args:
        options: Which.

    Raises:
        IrbenchError: A value is none that the keyword takes.
    """
    from irbench.store.folders import default_root
    from irbench.store.listing import list_runs

    run_filter = RESULTS.from_keywords(options)
    return RunListing(chosen_entries(list_runs(run_filter.results or default_root()).entries, run_filter))


def chosen_entries(entries: Iterable[RunEntry], run_filter: RunFilter) -> tuple[RunEntry, ...]:
    """Return those entries that are wanted."""
    from datetime import datetime

    from irbench.measure.clock import utc_now

    oldest = None if run_filter.since is None else utc_now() - timedelta(seconds=run_filter.since)
    fitting = (
        entry
        for entry in entries
        if (run_filter.model is None or run_filter.model in entry.models)
        and (run_filter.backend is None or run_filter.backend in (*entry.backends, *entry.rows))
        and (oldest is None or datetime.fromisoformat(entry.created) >= oldest)
    )
    return tuple(islice(fitting, run_filter.limit))


def remove_runs(runs: RunName | Sequence[RunName], *, results: Folder = None) -> None:
    """Remove stored runs for good. Every run is found before the first is removed.

    Args:
        runs: As :func:`load` takes them; the name of a sweep removes it with all of its runs.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such run, or it is being measured; nothing was removed.
    """
    from irbench.store.sweeps import removed_sweeps

    root = results_folder(results)
    folders, sweeps = find_removed(root, _names(runs))
    with removed_sweeps(root, sweeps):
        remove_folders(root, folders, lambda _folder: None)


def listed_sweeps(root: Path, entries: Sequence[RunEntry]) -> tuple[SweepEntry, ...]:
    """Return the sweeps that measured one of these runs, newest first."""
    from irbench.store.sweeps import stored_sweeps

    listed = {entry.run_id: entry for entry in entries}
    found = (
        SweepEntry(
            name=state.header.name,
            created=state.header.created,
            models=tuple(dict.fromkeys(model for entry in own for model in entry.models)),
            tables=len(state.progress.done),
            failed=len(state.progress.failed),
            rows=sum(len(done.rows) for done in state.progress.done.values()),
            runs=state.progress.runs,
        )
        for state in stored_sweeps(root)
        if (own := [listed[run] for run in state.progress.runs if run in listed])
    )
    return tuple(sorted(found, key=lambda sweep: sweep.created, reverse=True))


def find_removed(root: Path, names: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Return the folders of all runs that names stand for, and the sweeps among them, of which no run need be left."""
    from irbench.store.listing import folders_of_sweep, sweep_called

    states = {name: state for name in names if (state := sweep_called(root, name)) is not None}
    own = (folder.resolve() for state in states.values() for folder in folders_of_sweep(root, state))
    runs = find_runs(root, [name for name in names if name not in states])
    return tuple(dict.fromkeys((*runs, *own))), tuple(states)


def find_runs(root: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the folders of runs and of the runs of sweeps, each once, as absolute paths without links.

    Raises:
        IrbenchError: There is no such run or sweep, or several are meant.
    """
    from irbench.store import listing

    return tuple(dict.fromkeys(folder.resolve() for name in names for folder in listing.find_runs(root, name)))


def remove_folders(root: Path, folders: Sequence[Path], removed: Callable[[Path], None]) -> tuple[Path, ...]:
    """Remove runs, tell of each that is gone, and return those that somebody else removed meanwhile."""
    from irbench.features.results import moved_runs as moving

    for folder in folders:
        if root.resolve() not in folder.resolve().parents:
            raise IrbenchError(f"{folder} is not stored in {root}.", hint="Give its folder with --results.")
    others = dict.fromkeys(folders)
    for folder in moving.remove_runs(folders, root):
        del others[folder]
        removed(folder)
    return tuple(others)


def export_runs(
    runs: RunName | Sequence[RunName],
    output: str | PathLike[str],
    *,
    format: FormatName | Literal["archive"] | None = None,  # noqa: A002 - the name of the command line's option
    columns: str | Sequence[str] | None = None,
    results: Folder = None,
) -> tuple[Path, ...]:
    """Write runs to one file: an archive with raw samples and logs for another machine, or a file for another program.

    Args:
        runs: As :func:`load` takes them, or names of sweeps, which stand for all of their runs.
        output: The file; an archive replaces only an archive.
        format: docs/exports.md lists them; ``None`` for that which the name of the file tells, otherwise an archive.
        columns: Names of columns, of the formats that are tables; ``None`` for all.
        results: The folder where runs are kept; ``None`` for the usual place.

    Returns:
        The folders that were exported.

    Raises:
        IrbenchError: A value is none that the keyword takes, a library is not installed, or the file cannot be written.
            Where a run is damaged no archive is written; other formats are written without it before this is raised.
    """
    from irbench.render.formats.export_formats import ARCHIVE
    from irbench.runs.results_export import chosen_columns, chosen_format, export_named, require_possible, write_file
    from irbench.store.archives import pack

    target = given_path("output", output)
    form = None if format == ARCHIVE else chosen_format(format, target)
    chosen = chosen_columns(columns)
    if form is None:
        if chosen:
            raise IrbenchError("columns does not apply to an archive.", hint='Add format="csv", or leave it out.')
        folders = find_runs(results_folder(results), _names(runs))
        pack(folders, target)
        return folders
    require_possible(form, chosen)
    report = export_named(results_folder(results), _names(runs), form, chosen)
    if report.export.runs:
        write_file(form, report.export, target)
    report.raise_problems(target)
    return tuple(run.folder for run in report.export.runs)


def import_runs(
    sources: str | PathLike[str] | Sequence[str | PathLike[str]], *, results: Folder = None
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Bring in runs of another machine: archives of :func:`export_runs`, or folders with runs in them.

    Args:
        sources: Archives or folders.
        results: The folder where runs are kept; ``None`` for the usual place.

    Returns:
        The folders of runs that are new, and of those that were here already with the same content.

    Raises:
        IrbenchError: Something of it is wrong; nothing was imported. Or links, pipes or closed folders were left out;
            everything else was imported before this is raised.
    """
    from irbench.store.folders import unsearched_lines

    arrivals = bring_in(tuple(map(Path, _names(sources))), results_folder(results))
    if arrivals.unsearched:
        raise IrbenchError(
            f"Not everything was imported: {len(arrivals.unsearched)} of the paths were left out.",
            hint="Call it again with what was meant; what is stored already is skipped.",
            details=unsearched_lines(arrivals.unsearched),
            exit_code=import_exit_code(arrivals),
        )
    return arrivals.added, arrivals.present


def import_exit_code(arrivals: Arrivals) -> ExitCode:
    """Return the exit code of an import: whether something was left out, and whether anything else was there."""
    if not arrivals.unsearched:
        return ExitCode.OK
    return ExitCode.FAILED_CELL if arrivals.added or arrivals.present else ExitCode.USAGE


def bring_in(sources: Sequence[Path], root: Path, check: Callable[[Sequence[Path]], None] = lambda _: None) -> Arrivals:
    """Bring runs into the store in ``root``, and return what was and what was left out.

    Args:
        sources: Archives, or folders with runs in them.
        root: The store's folder.
        check: Is given the folders of all runs that were brought, and raises where they are not to be stored.
    """
    from irbench.features.results import moved_runs as moving

    return moving.import_runs(sources, root, _stage, check)


def _stage(sources: Sequence[Path], root: Path, scratch: Path) -> Staged:
    """Unpack and check what is brought in a process of its own, which may run out of memory or time alone."""
    from irbench.worker import WorkerDied, call_in_worker

    try:
        staged: Staged = call_in_worker(
            "irbench.features.results.moved_runs:stage", sources, root, scratch, deadline_s=_DEADLINE_S
        )
    except WorkerDied as death:
        remedy = "It may be damaged, or made to do harm: copy it again, or pack it again with irbench results export."
        raise death.during(f"The check of {', '.join(map(str, sources))} failed.", remedy) from death
    return staged


def _names(names: RunName | Sequence[RunName]) -> tuple[str, ...]:
    several = (names,) if isinstance(names, str | PathLike) or not isinstance(names, Sequence) else names
    return tuple(map(run_name, several))
