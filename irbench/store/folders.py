"""Where runs lie: a folder for each, ``runs/<yyyy-mm>/<ulid>/``, below the folder of results."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Literal, TypeAlias

from irbench.core.plain_text import plain
from irbench.core.quantities import plural
from irbench.errors import IrbenchError
from irbench.system.file_states import is_file, is_folder
from irbench.system.home import data_home

RUN_FILE = "run.json"
"""What makes a folder a run; the launches that it names are part of it."""

LOGS = "logs"
"""The folder in a run's that holds what its workers printed."""

_RUNS = "runs"
_PROFILES = "profiles"
_MONTH = re.compile(r"\d{4}-\d{2}")

Stamp: TypeAlias = tuple[int, int]
"""Size in bytes and time of change in nanoseconds of a run's file."""

Unreadable: TypeAlias = Callable[[str, OSError], object]
"""Receives a path that cannot be looked at."""

UnsearchedReason: TypeAlias = Literal["link", "not-a-file", "unreadable"]
"""``link``: a symbolic link to a folder elsewhere; ``not-a-file``: a pipe, a socket or a device; ``unreadable``: a
folder that may not be entered."""
UNSEARCHED_TEXTS: Mapping[UnsearchedReason, str] = {
    "link": "was left out: it is a symbolic link. If you know where it leads, name that folder.",
    "not-a-file": "was left out: it is neither a file nor a folder. Copy what was meant in its place, or remove it.",
    "unreadable": "was left out: it cannot be read. Change its permissions.",
}
_MOST_LINES = 10
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26
LATEST = "latest"
"""What names the newest run."""
ULID = f"[{_ALPHABET}]{{{_LENGTH}}}"
"""A regular expression of one, in capitals."""
_RANDOM_BITS = 80


@dataclass(frozen=True)
class Unsearched:
    """Something in a folder of runs that may have been meant, and was not searched."""

    path: Path
    reason: UnsearchedReason


def unsearched_text(unsearched: Unsearched) -> str:
    """Return what was left out, why, and what to do about it, in a line."""
    return f"{plain(str(unsearched.path))} {UNSEARCHED_TEXTS[unsearched.reason]}"


def unsearched_lines(unsearched: Sequence[Unsearched]) -> Iterator[str]:
    """Yield a line for each of the first things that were left out, and how many more there are."""
    yield from map(unsearched_text, unsearched[:_MOST_LINES])
    if len(unsearched) > _MOST_LINES:
        yield f"{plural(len(unsearched) - _MOST_LINES, 'more path')} were left out for such reasons."


def default_root() -> Path:
    """Return where runs go: ``IRBENCH_RESULTS``, else the user's data folder, whatever the current folder is."""
    named = os.environ.get("IRBENCH_RESULTS")
    if named:
        return Path(named)
    root = data_home()
    if root is None:
        raise IrbenchError(
            "There is no folder for results: this user has no home folder.",
            hint="Name one with `--results` or IRBENCH_RESULTS.",
        )
    return root / "results"


def runs_here_text(root: Path) -> str:
    """Return what else a hint says where ``./results`` has runs, as former releases put them there; else nothing."""
    here = former_root(root)
    has_runs = here is not None and any(_MONTH.fullmatch(entry.name) for entry in _entries(here / _RUNS))
    return "; for those in ./results add --results results" if has_runs else ""


def former_root(root: Path) -> Path | None:
    """Return ``results``, where former releases put runs, unless that is ``root``."""
    here = Path("results")
    return here if here.resolve() != root.resolve() else None


def place_of(root: Path, created: str, run_id: str) -> Path:
    """Return the folder of a run that was created at that moment (ISO 8601, UTC)."""
    return root / _RUNS / created[: len("yyyy-mm")] / run_id


def results_option(root: str | Path | None) -> str:
    """Return what a command needs behind it to find what lies in ``root``; nothing where it looks there anyway."""
    if root is None:
        return ""
    try:
        is_default = default_root().absolute() == Path(root).absolute()
    except IrbenchError:  # there is no usual place
        is_default = False
    return "" if is_default else f" --results {quote(str(root))}"


def run_argument(folder: Path) -> str:
    """Return what names a run in a command: its id and where it is stored, or its folder where that is in no store."""
    return f"{folder.name}{results_option(root_of(folder))}" if is_in_store(folder) else quote(str(folder))


def is_in_store(folder: Path) -> bool:
    """Return whether the folder of a run lies in a folder of results, where its id names it."""
    return folder.parent.parent.name == _RUNS


def root_of(folder: Path) -> Path:
    """Return the folder of results in which that of a run lies."""
    return folder.parent.parent.parent


def removal_of(folder: Path) -> str:
    """Return the command that removes a run."""
    return f"{'irbench results rm' if is_in_store(folder) else 'rm -r'} {run_argument(folder)}"


def profiles_folder(root: Path) -> Path:
    """Return the folder of operator profiles, which are not runs."""
    return root / _PROFILES


def is_run(folder: Path) -> bool:
    """Return whether a folder holds a run, which may be damaged: something that is called like a run's file."""
    return os.path.lexists(folder / RUN_FILE)


def run_folders(root: Path, unreadable: Unreadable = lambda _path, _error: None) -> Iterator[tuple[str, Stamp]]:
    """Yield each run's folder, relative to the root, with the stamp of its file.

    Folders whose name begins with a dot are somebody's unfinished work and no runs. A link, a pipe or a folder that is
    called like a run's file makes a run too: who reads it says what is wrong with it.
    """
    for month in _entries(root / _RUNS, unreadable):
        for run in _entries(month, unreadable):
            try:
                state = os.lstat(f"{run.path}/{RUN_FILE}")  # readers refuse links; Path objects would take longer
            except (FileNotFoundError, NotADirectoryError):
                continue  # no run, or removed while we looked
            except OSError as error:
                unreadable(f"{run.path}/{RUN_FILE}", error)
                continue
            yield f"{_RUNS}/{month.name}/{run.name}", (state.st_size, state.st_mtime_ns)


def folders_of_runs(folder: Path, unsearched: Callable[[Unsearched], object] = lambda _found: None) -> Iterator[Path]:
    """Yield the folders at any depth that hold a run, without hidden ones and links.

    Args:
        folder: Where they are searched, from elsewhere or a store's.
        unsearched: Receives links to folders elsewhere, of what is neither file nor folder, and of folders that cannot
            be read.
    """
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            with os.scandir(here) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except FileNotFoundError:
            continue
        except OSError:
            unsearched(Unsearched(here, "unreadable"))
            continue
        for entry in visible:
            if entry.name == RUN_FILE:
                yield here
            elif entry.is_dir(follow_symlinks=False):
                pending.append(here / entry.name)
            elif (reason := _why_unsearched(entry, folder)) is not None:
                unsearched(Unsearched(here / entry.name, reason))


def _why_unsearched(entry: os.DirEntry[str], searched: Path) -> UnsearchedReason | None:
    """Return why something other than a folder is reported; ``None`` for files, and links to what is searched."""
    if not entry.is_symlink():
        return None if entry.is_file(follow_symlinks=False) else "not-a-file"
    leads_to = Path(os.path.realpath(entry))  # Path.resolve fails where links lead to each other
    return None if is_file(leads_to) or _is_searched(leads_to, Path(os.path.realpath(searched))) else "link"


def _is_searched(folder: Path, searched: Path) -> bool:
    """Return whether a folder lies below the one that is searched, and neither it nor one between is hidden."""
    if not is_folder(folder) or not folder.is_relative_to(searched):
        return False
    return not any(name.startswith(".") for name in folder.relative_to(searched).parts)


def _entries(
    folder: Path | os.DirEntry[str], unreadable: Unreadable = lambda _path, _error: None
) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [path for path in entries if not path.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        unreadable(os.fspath(folder), error)
    return []


def new_ulid(moment: datetime) -> str:
    """Return a fresh ULID: 48 bits of Unix milliseconds and 80 random ones, in Crockford's base 32."""
    value = int(moment.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_ALPHABET[value >> shift & 31] for shift in range((_LENGTH - 1) * 5, -1, -5))


def is_ulid(text: str) -> bool:
    """Return whether ``text`` has the form of a ULID, in capitals."""
    return len(text) == _LENGTH and set(text) <= set(_ALPHABET)


def seconds_of(ulid: str) -> int:
    """Return the whole seconds of the Unix time at which a ULID was made."""
    value = 0
    for character in ulid[: _LENGTH - _RANDOM_BITS // 5]:
        value = value << 5 | _ALPHABET.index(character)
    return value // 1000
