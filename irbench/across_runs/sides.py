"""What a user names to be compared, as the runs that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from irbench.across_runs.environments import fingerprint, software_facts
from irbench.across_runs.measured_cells import CellKey, MeasuredCell, measured_cells
from irbench.across_runs.reading import CheckedRun, Error, NotSearched, Problem, Unreadable, Why, read_run
from irbench.across_runs.summaries import SummarisedRun, read_summaries, shared_names
from irbench.errors import IrbenchError
from irbench.store.folders import RUN_FILE, Unsearched, folders_of_runs, is_run, run_folders
from irbench.store.listing import find_run
from irbench.system.document_damage import named_by_archive
from irbench.system.file_states import is_file, is_folder

MACHINE = "machine:"
"""What a name begins with that stands for every stored run of a machine."""

Unpack = Callable[[Path, Path], None]
"""Unpacks an archive of runs into an empty folder, in a process of its own where the archive may do harm."""


@dataclass(frozen=True)
class Side:
    """One of two sides.

    Attributes:
        runs: Those that can be used, oldest first.
    """

    name: str
    runs: tuple[CheckedRun, ...]
    problems: tuple[Problem, ...]


def read_side(name: str, root: Path, scratch: Path, unpack: Unpack) -> Side:
    """Return the runs that a name stands for, each checked.

    Args:
        name: A run's name, id, folder or file; a folder with runs in it; an archive of runs; or ``machine:`` and the
            beginning of a fingerprint, for every stored run of that machine.
        root: The folder of results.
        scratch: An empty folder that is there as long as the side is used.
        unpack: Unpacks archives.
    """
    unsearched: list[Unsearched] = []
    read = [read_run(folder) for folder in _folders(name, root, scratch, unpack, unsearched)]
    runs = sorted((run for run, _ in read if run is not None), key=lambda run: run.run_id)
    problems: list[Problem] = [NotSearched(str(found.path), Why(found.reason)) for found in unsearched]
    problems += [_named_as_given(problem, name, scratch) for _, found in read for problem in found]
    return Side(name, tuple(runs), (*problems, *(problem for run in runs for problem in shared_names(run))))


def _named_as_given(problem: Problem, name: str, unpacked: Path) -> Problem:
    run = named_by_archive(problem.run, unpacked, name)
    if isinstance(problem, Unreadable):
        said = (named_by_archive(text, unpacked, name) for text in (problem.facts.message, problem.facts.hint))
        return Unreadable(run, Error(*said))
    return msgspec.structs.replace(problem, run=run)


def cells_of(side: Side) -> dict[CellKey, tuple[MeasuredCell, ...]]:
    """Return each cell of a side with the runs that count for it, oldest first.

    These are the newest run that measured it, and those before on the same machine, with the same versions, settings
    and data and the same graph or program: what changed in between is no scatter.
    """
    found: dict[CellKey, list[MeasuredCell]] = {}
    for run in side.runs:
        for key, cell in measured_cells(run).items():
            found.setdefault(key, []).append(cell)
    return {key: tuple(_like_the_newest(cells)) for key, cells in found.items()}


def machine_called(runs: Iterable[SummarisedRun], name: str) -> str:
    """Return the fingerprint that begins with ``name``, of the machine of some of these runs."""
    known = sorted({run.summary.machine for run in runs})
    fitting = [machine for machine in known if name and machine.startswith(name.lower())]
    if len(fitting) != 1:
        raise IrbenchError(
            f"{len(fitting) or 'No'} machines have a fingerprint that begins with {name!r}.",
            hint=f"Machines of the stored runs: {', '.join(known) or 'none, because no run is stored'}",
        )
    return fitting[0]


def _of_machine(root: Path, name: str) -> list[Path]:
    """Return the folders of the stored runs of a machine; those that cannot be read are of none."""
    runs, _ = read_summaries(root, (folder for folder, _ in run_folders(root)))
    machine = machine_called(runs, name)
    return [run.folder for run in runs if run.summary.machine == machine]


def _folders(name: str, root: Path, scratch: Path, unpack: Unpack, unsearched: list[Unsearched]) -> Sequence[Path]:
    """Return the folders of the runs that a name stands for, and add what was not searched to a list."""
    path = Path(name)
    if name.startswith(MACHINE):
        return _of_machine(root, name.removeprefix(MACHINE))
    if is_file(path) and path.name.endswith((".tar.gz", ".tgz")):
        unpack(path, scratch)
        return _below(scratch, name, unsearched)
    if is_file(path) and path.name != RUN_FILE:
        raise IrbenchError(
            f"{name} is neither a run's {RUN_FILE} nor an archive of runs, so it has no samples to compare.",
            hint="Pack the run where it is stored: irbench results export RUN -o run.tar.gz",
        )
    if is_folder(path) and not is_run(path):
        return _below(path, name, unsearched)
    return (find_run(root, name),)


def _below(folder: Path, name: str, unsearched: list[Unsearched]) -> list[Path]:
    found = sorted(folders_of_runs(folder, unsearched.append))
    if not found and not unsearched:
        raise IrbenchError(f"{name} contains no run.", hint="Give a run, or a folder or archive with runs in it.")
    return found


def _like_the_newest(cells: Sequence[MeasuredCell]) -> Iterator[MeasuredCell]:
    measured = [cell for cell in cells if cell.is_measured]
    if not measured:
        yield cells[-1]
        return
    newest = measured[-1]
    yield from (cell for cell in measured if _is_alike(cell, newest))


def _is_alike(cell: MeasuredCell, newest: MeasuredCell) -> bool:
    same_graph = (
        None in (cell.row.graph_files, newest.row.graph_files) or cell.row.graph_files == newest.row.graph_files
    )
    before, now = cell.run.document, newest.run.document
    same_machine = fingerprint(before.environment) == fingerprint(now.environment)
    same_software = software_facts(before) == software_facts(now)
    return same_graph and same_machine and same_software and _asked(cell) == _asked(newest)


def _asked(cell: MeasuredCell) -> tuple[object, ...]:
    """Return what was asked of a cell besides its key: what it computed with, and how it was set up."""
    plan, row = cell.run.document.plan, cell.row
    properties = (plan.get("options") or {}).get(row.backend) or {}
    python = row.environment and (row.environment.python_version, dict(row.environment.distributions))
    return cell.inputs, properties, plan.get("cpus"), row.program, python
