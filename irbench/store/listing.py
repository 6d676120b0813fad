"""What is stored, and finding one of it. Reads a run only where its line is not known, and imports no arrays before."""

from __future__ import annotations

import errno
import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from irbench.errors import IrbenchError
from irbench.store.entries import RunEntry
from irbench.store.files import unreadable
from irbench.store.folders import RUN_FILE, Stamp, is_run, profiles_folder, results_option, run_folders
from irbench.store.index import Index
from irbench.system.file_states import is_folder
from irbench.system.locks import is_held

LATEST = "latest"
_VERSION = 7
"""Of the lines in the index."""


@dataclass(frozen=True)
class Listing:
    """What is stored.

    Attributes:
        entries: Every run, newest first; one that was killed before its first launch has no rows.
        problems: A sentence for each run that cannot be read.
    """

    entries: tuple[RunEntry, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Latest:
    """What ``latest`` means.

    Attributes:
        entry: The newest run in which at least one cell was measured; the newest with a table where there is none.
        passed_over: Newer runs without a figure.
    """

    entry: RunEntry
    passed_over: tuple[RunEntry, ...]


def list_runs(root: Path, *, anew: bool = False) -> Listing:
    """Return every run below ``root``, and why others cannot be read.

    Args:
        root: The folder of results.
        anew: Read every run again and make the index of what is found.
    """
    _require_possible(root)
    index = Index(root / "index.sqlite", RunEntry, _VERSION)
    if anew:
        index.remove()
    known = index.known()
    entries: dict[str, RunEntry] = {}
    changed: dict[str, tuple[Stamp, RunEntry]] = {}
    problems: list[str] = []
    for folder, stamp in run_folders(root, lambda path, error: problems.append(unreadable(path, error).message)):
        if folder in known and known[folder][0] == stamp:
            entries[folder] = known[folder][1]
            continue
        try:
            entries[folder] = _read(root, folder)
            changed[folder] = (stamp, entries[folder])
        except IrbenchError as error:
            problems.append(error.message)
    index.update(changed, known.keys() - entries.keys())
    found = (replace(entry, folder=f"{root}/{folder}") for folder, entry in entries.items())
    return Listing(tuple(sorted(found, key=lambda entry: entry.run_id, reverse=True)), tuple(sorted(problems)))


def latest_run(root: Path) -> Latest:
    """Return what ``latest`` means."""
    entries = [entry for entry in list_runs(root).entries if entry.rows]
    if not entries:
        raise IrbenchError(f"No runs are stored in {root}.", hint="Measure a model: irbench run")
    return _newest_measured(entries)


def resumable_runs(entries: Iterable[RunEntry]) -> tuple[RunEntry, ...]:
    """Return those of listed runs that ended early and can be continued, without those that are being measured."""
    return tuple(entry for entry in entries if entry.resumable and not is_held(Path(entry.folder)))


def runs_called(root: Path, name: str) -> tuple[RunEntry, ...]:
    """Return the runs that were given this name, newest first; none where ``name`` is ``latest``, a path or an id."""
    if not name or name == LATEST or _of_path(name) is not None:
        return ()
    entries = list_runs(root).entries
    if any(entry.run_id.upper() == name.upper() for entry in entries):
        return ()
    return tuple(entry for entry in entries if entry.name == name)


def find_run(root: Path, name: str | None) -> Path:
    """Return the folder of a run.

    Args:
        root: The folder of results.
        name: What the run was called, a ULID or the beginning of one, the run's folder or ``run.json``, or ``None``
            or ``latest`` for the newest that was measured. Of several runs of a name, the newest that was measured.
    """
    if name is None or name == LATEST:
        return Path(latest_run(root).entry.folder)
    found = _of_path(name)
    if found is not None:
        return found
    folders = _folders_by_id(root, name.upper())
    return _of_id(folders, name) or _called(root, name) or _beginning_with(root, folders, name)


def _require_possible(root: Path) -> None:
    try:
        root.lstat()
    except OSError as error:  # what is missing holds no runs, and what is closed is reported when it is searched
        if error.errno == errno.ENAMETOOLONG:
            raise unreadable(root, error) from error


def _of_path(name: str) -> Path | None:
    path = Path(name)
    for folder in (path, path.parent) if path.name == RUN_FILE else (path,):
        if name and is_run(folder):
            return folder.resolve()  # the folder's own name is the run's, which "." would hide
    return None


def _newest_measured(entries: Sequence[RunEntry]) -> Latest:
    at = next((number for number, entry in enumerate(entries) if entry.measured), 0)
    return Latest(entries[at], tuple(entries[:at]))


def _read(root: Path, folder: str) -> RunEntry:
    from irbench.store.outcomes import entry_of
    from irbench.store.reading import load_document

    return entry_of(load_document(root / folder), folder)


def _folders_by_id(root: Path, beginning: str) -> list[Path]:
    """Return the folders of the runs whose ids begin like that; as texts, because paths of thousands take a while."""
    folders = (folder for folder, _ in run_folders(root) if folder.rpartition("/")[2].upper().startswith(beginning))
    return [root / folder for folder in sorted(folders)]


def _called(root: Path, name: str) -> Path | None:
    """Return the folder of the newest measured run that was given this name, if there is one."""
    entries = runs_called(root, name)
    return Path(_newest_measured(entries).entry.folder) if entries else None


def _of_id(folders: Sequence[Path], name: str) -> Path | None:
    """Return the folder of the run whose whole id this is, if there is one."""
    exact = [folder for folder in folders if folder.name.upper() == name.upper()]
    if len(exact) > 1:
        raise IrbenchError(f"{name} is stored {len(exact)} times.", hint=f"Give its folder: {_listed(exact)}")
    return exact[0] if exact else None


def _beginning_with(root: Path, folders: Sequence[Path], name: str) -> Path:
    """Return the only one of the folders of runs whose ids begin with a name."""
    if name and len(folders) > 1:
        names = _listed([folder.name for folder in folders[-5:]])
        raise IrbenchError(f"{len(folders)} runs match {name!r}.", hint=f"Give more characters: {names}")
    if not name or not folders:
        profiles = profiles_folder(root)
        is_profile = name and is_folder(profiles) and any(profiles.glob(f"*/{glob.escape(name.upper())}*"))
        way = (
            f"It is a profile: irbench profile --show {name}" if is_profile else "List the stored runs: irbench results"
        )
        raise IrbenchError(f"There is no run {name!r} in {root}.", hint=f"{way}{results_option(root)}")
    return folders[0]


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(str, names))
