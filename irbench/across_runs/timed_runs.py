"""Stored runs with the times of their cells in each launch, whose samples are read and checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from irbench.across_runs.checked_runs import Error, Finished, Incomplete, RunProblem, Unreadable, read_run
from irbench.across_runs.kept_readings import read_each_once
from irbench.across_runs.measured_cells import FIGURES, CellKey, measured_cells
from irbench.across_runs.summaries import shared_names
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.store.listing import Index
from irbench.store.runs import load_document

_FILE = "times.sqlite"
VERSION = 2
"""Of the lines: another number where their fields or what is made of a run are others."""
_BEYOND_ANY = 1e21
"""No time is so long; squares of longer ones exceed what a float holds."""


class CellTimes(msgspec.Struct, frozen=True, array_like=True):
    """The time of a cell in each launch, in milliseconds: what verdicts are made from."""

    key: CellKey
    launches_ms: tuple[float, ...]


class RunTimes(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a run whose samples were read: its cells with right outputs, one graph and a time."""

    run_id: str
    cells: tuple[CellTimes, ...]


@dataclass(frozen=True)
class TimedRun:
    """A run whose files are as they were measured.

    Attributes:
        times: By cell, in each launch, in milliseconds.
    """

    folder: Path
    document: RunDocument
    times: Mapping[CellKey, tuple[float, ...]]


def read_timed_runs(
    root: Path, folders: Sequence[Path], unknown: Callable[[int], object] = lambda _count: None
) -> tuple[tuple[TimedRun, ...], tuple[RunProblem, ...]]:
    """Return the runs of speeds that can be used, newest first, and what is wrong with them or with others.

    Args:
        root: The folder of results, where the times of its runs are kept.
        folders: Of runs, below it or elsewhere.
        unknown: Is told of how many runs the samples have to be read.
    """
    stored = {str(folder.relative_to(root)): folder for folder in folders if folder.is_relative_to(root)}
    index = Index(root / _FILE, RunTimes, VERSION)
    read, problems = read_each_once(root, stored, index, _read, _is_possible, unknown)
    times = {stored[name]: reading for name, reading in read.items()}
    all_problems = list(problems)
    for folder in (folder for folder in folders if folder not in stored.values()):
        reading, damage = _read(folder)
        all_problems += damage
        if reading is not None:
            times[folder] = reading
    runs = [_timed(folder, reading) for folder, reading in times.items()]
    all_problems += (problem for run in runs for problem in _reservations(run.document))
    return tuple(sorted(runs, key=lambda run: run.document.run_id, reverse=True)), tuple(all_problems)


def forget_times(root: Path) -> None:
    """Remove what is known of the runs below a folder of results; each of them is read again when it is needed."""
    Index(root / _FILE, RunTimes, VERSION).remove()


def _timed(folder: Path, reading: RunTimes) -> TimedRun:
    return TimedRun(folder, load_document(folder), {cell.key: cell.launches_ms for cell in reading.cells})


def _reservations(document: RunDocument) -> Iterator[RunProblem]:
    if not document.complete:
        yield Incomplete(document.run_id, Finished(len(document.launches)))
    yield from shared_names(document)


def _read(folder: Path) -> tuple[RunTimes | None, tuple[RunProblem, ...]]:
    try:
        run, problems = read_run(folder)
        if run is None:
            return None, problems
        cells = tuple(
            CellTimes(key, cell.by_launch(FIGURES["time"]))
            for key, cell in measured_cells(run).items()
            if cell.is_measured
        )
    except IrbenchError as error:
        return None, (Unreadable(str(folder), Error(error.message, error.hint)),)
    return RunTimes(run.run_id, cells), ()


def _is_possible(folder: str, reading: RunTimes) -> bool:
    times = (time for cell in reading.cells for time in cell.launches_ms)
    return (
        folder.rpartition("/")[2] == reading.run_id
        and all(cell.launches_ms for cell in reading.cells)
        and all(0 < time < _BEYOND_ANY for time in times)
    )
