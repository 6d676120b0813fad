"""``irbench results rm`` and ``import``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from irbench.errors import IrbenchError
from irbench.terminal.completion import RUN
from irbench.terminal.formats import RESULTS
from irbench.terminal.stderr import say


@click.command(
    "rm",
    short_help="Delete stored runs.",
    epilog="\b\nExample:\n  irbench results rm 01KAJ3WQ 01KAJ4XY --yes\n",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=RUN)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@RESULTS
def remove(runs: tuple[str, ...], yes: bool, results: Path | None) -> None:
    """Delete stored runs.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`. If any RUN is not found, or is
    the name of several runs, nothing is deleted. A run that is still being measured is not deleted. One that another
    call deletes meanwhile is no error.
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


@click.command(
    "import",
    short_help="Import runs from an archive or a folder.",
    epilog="\b\nExample:\n  irbench results import runs.tar.gz\n",
)
@click.argument(
    "sources", nargs=-1, required=True, metavar="FILE.tar.gz|DIR...", type=click.Path(exists=True, path_type=Path)
)
@RESULTS
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
