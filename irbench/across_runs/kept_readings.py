"""What was once read of each stored run, kept beside the runs so that their samples are not read for every question."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from irbench.across_runs.checked_runs import RunProblem
from irbench.store.folders import RUN_FILE, Stamp
from irbench.store.listing import Index

Reading = TypeVar("Reading")
_STAMP_BYTES = 7
"""A digest of so many bytes fits into SQLite's integers."""


def read_each_once(
    root: Path,
    folders: Iterable[str],
    index: Index[Reading],
    read: Callable[[Path], tuple[Reading | None, tuple[RunProblem, ...]]],
    is_possible: Callable[[str, Reading], bool],
    unknown: Callable[[int], object] = lambda _count: None,
) -> tuple[dict[str, Reading], tuple[RunProblem, ...]]:
    """Return what is read of each run, by its folder, and what is wrong with the others.

    A run whose files have the sizes and times that they had when it was read last is not read again.

    Args:
        root: The folder of results.
        folders: Of the runs, relative to it.
        index: Where readings are kept.
        read: Reads a run; what it returns without a reading is wrong with the run.
        is_possible: Whether irbench may have written a line of the index: anybody may write to a folder that is shared.
        unknown: Is told how many runs have to be read.
    """
    stamps = {folder: _stamp(f"{root}/{folder}") for folder in folders}
    known = {
        folder: reading
        for folder, (stamp, reading) in index.known(stamps).items()
        if stamps.get(folder) == stamp and is_possible(folder, reading)
    }
    missing = [folder for folder in stamps if folder not in known]
    unknown(len(missing))
    problems: list[RunProblem] = []
    changed: dict[str, tuple[Stamp, Reading]] = {}
    for folder in missing:
        reading, damage = read(root / folder)
        problems += damage
        if reading is not None:
            changed[folder] = (stamps[folder], reading)
    index.update(changed, _gone(root, index) if changed else ())
    return {**known, **{folder: reading for folder, (_, reading) in changed.items()}}, tuple(problems)


def _stamp(folder: str) -> Stamp:
    """Return the size of what belongs to a run, and a digest of the names, sizes and times of its files."""
    try:
        with os.scandir(folder) as entries:
            files = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries if _is_part(entry.name))
    except OSError:
        return (-1, 0)  # whoever reads the run says why
    text = ",".join(f"{name}:{state.st_mode}:{state.st_size}:{state.st_mtime_ns}" for name, state in files)
    digest = blake2b(text.encode(), digest_size=_STAMP_BYTES).digest()
    return sum(state.st_size for _, state in files), int.from_bytes(digest, "big")


def _is_part(name: str) -> bool:
    return name == RUN_FILE or name.startswith("launch-")


def _gone(root: Path, index: Index[Reading]) -> Iterator[str]:
    yield from (folder for folder in index.folders() if not os.path.lexists(f"{root}/{folder}/{RUN_FILE}"))
