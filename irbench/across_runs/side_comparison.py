"""Two sides compared: which cells match, how each changed, in what the sides differ, and which conditions are met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from irbench.across_runs.changes import (
    CheckedCondition,
    FigureChange,
    Unjudged,
    change_between,
    checked_condition,
    verdict_of,
)
from irbench.across_runs.checked_runs import CheckedRun, Error, NotSearched, RunProblem, Unreadable, Why, read_run
from irbench.across_runs.differences import (
    RunDifference,
    differences_between,
    fingerprint,
    graph_difference,
    setup_of,
)
from irbench.across_runs.measured_cells import (
    FIGURES,
    CellKey,
    MeasuredCell,
    figure_of,
    key_names,
    measured_cells,
    without_model,
)
from irbench.across_runs.summaries import SummarisedRun, read_summaries, shared_names
from irbench.core.row import Verdict
from irbench.errors import IrbenchError
from irbench.options.conditions import Condition
from irbench.store.folders import RUN_FILE, Unsearched, folders_of_runs, is_run, run_folders
from irbench.store.listing import find_runs
from irbench.system.document_damage import named_by_archive
from irbench.system.file_states import is_file, is_folder

MACHINE = "machine:"
"""What a name begins with that stands for every stored run of a machine."""
Unpack = Callable[[Path, Path], None]
"""Unpacks an archive of runs into an empty folder, in a process of its own where the archive may do harm."""


@dataclass(frozen=True)
class ComparedSide:
    """One side, as a result names it.

    Attributes:
        runs: Ids of its runs, oldest first.
        created: When the newest of them began, ISO 8601, UTC.
    """

    name: str
    runs: tuple[str, ...]
    created: str
    machine: str


@dataclass(frozen=True)
class ComparedRow:
    """One cell that both sides have.

    Attributes:
        base_key: The same in the older side; another only where models of different names are compared.
        verdict: What the interval of its time says of the newer side.
        base_busy: Whether other programs disturbed most blocks of one of the older side's runs.
    """

    name: str
    key: CellKey
    base_key: CellKey
    verdict: Verdict
    time: FigureChange
    base_runs: tuple[str, ...]
    new_runs: tuple[str, ...]
    conditions: tuple[CheckedCondition, ...] = ()
    base_busy: bool = False
    new_busy: bool = False

    @property
    def is_regression(self) -> bool:
        """Whether one of its conditions is met, and nothing keeps that from being judged."""
        return any(checked.is_met for checked in self.conditions)

    @property
    def is_to_repeat(self) -> bool:
        """Whether one of its conditions is met or was not judged, and measuring again may decide it."""
        return any(checked.is_to_repeat for checked in self.conditions)

    @property
    def may_be_regression(self) -> bool:
        """Whether no condition is met, and one of them is not excluded either."""
        return not self.is_regression and any(not checked.excluded for checked in self.conditions)


@dataclass(frozen=True)
class UnmatchedRow:
    """One cell that could not be compared.

    Attributes:
        in_new: Whether the newer side has it; where both do, one of them has no figures.
        is_missed: Whether the newer side should have figures of it: the older side's newest run of the model does.
    """

    name: str
    key: CellKey
    in_base: bool
    in_new: bool
    is_missed: bool = False


@dataclass(frozen=True)
class RunComparison:
    """What became of every row from one side to the other.

    Attributes:
        rows: The cells that both have, in the newer side's order.
        differences: In what the sides differ besides figures, those that block a comparison first.
        within: Changes up to this fraction count as the same.
    """

    base: ComparedSide
    new: ComparedSide
    rows: tuple[ComparedRow, ...]
    unmatched: tuple[UnmatchedRow, ...]
    differences: tuple[RunDifference, ...]
    problems: tuple[RunProblem, ...]
    confidence: float
    within: float
    asked: tuple[str, ...] = ()

    @property
    def blocking(self) -> tuple[RunDifference, ...]:
        """The differences for which times are not comparable."""
        return tuple(difference for difference in self.differences if difference.blocks)

    @property
    def regressions(self) -> tuple[ComparedRow, ...]:
        """The rows that meet a condition, and nothing keeps that from being judged."""
        return tuple(row for row in self.rows if row.is_regression)

    @property
    def suspects(self) -> tuple[ComparedRow, ...]:
        """The rows with a condition that is met or was not judged, and that measuring again may decide."""
        return tuple(row for row in self.rows if row.is_to_repeat)

    @property
    def undecided(self) -> bool:
        """Whether a condition is neither met nor excluded."""
        outcomes = {checked.outcome for row in self.rows for checked in row.conditions}
        return "undecided" in outcomes or not self.rows

    @property
    def unjudged(self) -> tuple[Unjudged, ...]:
        """The conditions that could not be judged, each with its row and the reason."""
        checked = (
            Unjudged(row.name, item.condition, item.unjudged, item.change)
            for row in self.rows
            for item in row.conditions
            if item.unjudged is not None
        )
        missed = (
            Unjudged(row.name, condition, "row-missing")
            for row in self.unmatched
            if row.is_missed
            for condition in self.asked
        )
        return (*checked, *missed)


@dataclass(frozen=True)
class _Match:
    key: CellKey
    base: Sequence[MeasuredCell]
    new: Sequence[MeasuredCell]

    @property
    def base_busy(self) -> bool:
        return any(cell.on_busy_machine for cell in self.base)

    @property
    def new_busy(self) -> bool:
        return any(cell.on_busy_machine for cell in self.new)


def compare_sides(
    base: Side, new: Side, conditions: Sequence[Condition], within: float, confidence: float = 0.95
) -> RunComparison:
    """Return how every cell that both sides have changed."""
    before, after = cells_of(base), cells_of(new)
    matches = _matches(before, after)
    names = _names(before, after, matches)
    measured = [match for match in matches if match.base[-1].is_measured and match.new[-1].is_measured]
    missed = _missed(base, before, after)
    compared = {match.base[-1].key for match in measured} | {match.new[-1].key for match in measured}
    return RunComparison(
        base=_side(base),
        new=_side(new),
        rows=tuple(_row(match, names[match.key], conditions, within, confidence) for match in measured),
        unmatched=tuple(
            UnmatchedRow(names[key], key, key in before, key in after, key in missed)
            for key in dict.fromkeys((*before, *after))
            if key not in compared
        ),
        differences=_differences(base, new, measured, names),
        problems=(*base.problems, *new.problems),
        confidence=confidence,
        within=within,
        asked=tuple(condition.text for condition in conditions),
    )


def _side(side: Side) -> ComparedSide:
    newest = side.runs[-1].document
    ids = tuple(run.run_id for run in side.runs)
    return ComparedSide(side.name, ids, newest.created, fingerprint(newest.environment))


_Cells = Mapping[CellKey, Sequence[MeasuredCell]]


def _missed(base: Side, before: _Cells, after: _Cells) -> set[CellKey]:
    """Return the cells that the newer side should have figures of.

    These are what the older side's newest run of each model measured. Of several runs, those of models that the newer
    side does not have at all are of other plans.
    """
    newest: dict[str, str] = {}
    for key, cells in before.items():
        newest[key.model] = max(newest.get(key.model, ""), cells[-1].run.run_id)
    models = {key.model for key in after} if len(base.runs) > 1 else set(newest)
    measured = (key for key, cells in before.items() if cells[-1].is_measured and key.model in models)
    return {key for key in measured if before[key][-1].run.run_id == newest[key.model]}


def _matches(before: _Cells, after: _Cells) -> list[_Match]:
    """Return the cells of both sides; where no model is on both and each has one, these two are compared."""
    matches = [_Match(key, before[key], after[key]) for key in after if key in before]
    if matches or len({key.model for key in before}) != 1 or len({key.model for key in after}) != 1:
        return matches
    by_rest = {without_model(key): cells for key, cells in before.items()}
    return [
        _Match(key, by_rest[rest], cells) for key, cells in after.items() if (rest := without_model(key)) in by_rest
    ]


def _names(before: _Cells, after: _Cells, matches: Sequence[_Match]) -> Mapping[CellKey, str]:
    """Return what every cell is called; the model is left out where the one of a side stands for that of the other."""
    keys = {*before, *after}
    if all(match.key == match.base[-1].key for match in matches):
        return key_names(keys)
    nameless = {key: replace(key, model="") for key in keys}
    names = key_names(set(nameless.values()))
    return {key: names[nameless[key]] for key in keys}


def _row(match: _Match, name: str, conditions: Sequence[Condition], within: float, confidence: float) -> ComparedRow:
    time = change_between(FIGURES["time"], match.base, match.new, confidence)
    assert time is not None, "a measured cell has a time"
    return ComparedRow(
        name=name,
        key=match.key,
        base_key=match.base[-1].key,
        verdict=verdict_of(time, within),
        time=time,
        base_runs=tuple(cell.run.run_id for cell in match.base),
        new_runs=tuple(cell.run.run_id for cell in match.new),
        conditions=tuple(_checked(condition, match, confidence) for condition in conditions),
        base_busy=match.base_busy,
        new_busy=match.new_busy,
    )


def _checked(condition: Condition, match: _Match, confidence: float) -> CheckedCondition:
    figure = figure_of(condition.figure, match.new[-1].row)
    change = change_between(figure, match.base, match.new, confidence)
    return checked_condition(condition, change, busy_base=match.base_busy, busy_new=match.new_busy)


def _differences(
    base: Side, new: Side, matches: Sequence[_Match], names: Mapping[CellKey, str]
) -> tuple[RunDifference, ...]:
    before = [cell.run.document for match in matches for cell in match.base] or [base.runs[-1].document]
    after = [cell.run.document for match in matches for cell in match.new] or [new.runs[-1].document]
    of_cells = (difference for match in matches for difference in _of_cell(match, names[match.key]))
    return tuple(dict.fromkeys((*differences_between(before, after), *of_cells)))


def _of_cell(match: _Match, name: str) -> Iterator[RunDifference]:
    before, after = match.base[-1], match.new[-1]
    if before.key.model != after.key.model:
        yield RunDifference("model", "name", (before.key.model,), (after.key.model,))
    yield from graph_difference(f"graph of {name}", before.row.graph_files, after.row.graph_files)
    precisions = [str(cell.row.effective.get("precision", "")) for cell in (before, after)]
    if precisions[0] != precisions[1]:
        yield RunDifference("settings", f"effective precision of {name}", (precisions[0],), (precisions[1],))
    cards = [str(cell.row.effective.get("gpu", "")) for cell in (before, after)]
    if cards[0] != cards[1]:
        yield RunDifference("machine", f"GPU of {name}", (cards[0] or "unknown",), (cards[1] or "unknown",))
    programs = [cell.row.program.target if cell.row.program is not None else "" for cell in (before, after)]
    if programs[0] != programs[1]:
        yield RunDifference("settings", f"program of {name}", (programs[0],), (programs[1],))
    yield from _of_environments(before, after, name)
    if before.inputs != after.inputs:
        yield RunDifference(
            "inputs", f"data of {name}", (before.inputs or "generated",), (after.inputs or "generated",)
        )


def _of_environments(before: MeasuredCell, after: MeasuredCell, name: str) -> Iterator[RunDifference]:
    pythons = [cell.row.environment for cell in (before, after)]
    base, new = (
        {} if python is None else {"python": python.python_version, **python.distributions} for python in pythons
    )
    for package in sorted(base.keys() & new.keys()):
        if base[package] != new[package]:
            yield RunDifference("software", f"{package} of {name}", (base[package],), (new[package],))


@dataclass(frozen=True)
class Side:
    """One of two sides."""

    name: str
    runs: tuple[CheckedRun, ...]
    problems: tuple[RunProblem, ...]


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
    problems: list[RunProblem] = [NotSearched(str(entry.path), Why(entry.reason)) for entry in unsearched]
    problems += [_named_as_given(problem, name, scratch) for _, reported in read for problem in reported]
    return Side(name, tuple(runs), (*problems, *(problem for run in runs for problem in shared_names(run.document))))


def _named_as_given(problem: RunProblem, name: str, unpacked: Path) -> RunProblem:
    run = named_by_archive(problem.run, unpacked, name)
    if isinstance(problem, Unreadable):
        said = (named_by_archive(text, unpacked, name) for text in (problem.facts.message, problem.facts.hint))
        return Unreadable(run, Error(*said))
    return msgspec.structs.replace(problem, run=run)


def cells_of(side: Side) -> dict[CellKey, tuple[MeasuredCell, ...]]:
    """Return each cell of a side with the runs that count for it, oldest first.

    These are the newest run that measured it, and those before on the same machine, with the same versions, settings
    and data and the same graph or program: a change in between would be mistaken for scatter.
    """
    cells_by_key: dict[CellKey, list[MeasuredCell]] = {}
    for run in side.runs:
        for key, cell in measured_cells(run).items():
            cells_by_key.setdefault(key, []).append(cell)
    return {key: tuple(_like_the_newest(cells)) for key, cells in cells_by_key.items()}


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
    return find_runs(root, name)


def _below(folder: Path, name: str, unsearched: list[Unsearched]) -> list[Path]:
    folders = sorted(folders_of_runs(folder, unsearched.append))
    if not folders and not unsearched:
        raise IrbenchError(f"{name} contains no run.", hint="Give a run, or a folder or archive with runs in it.")
    return folders


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
    return same_graph and _setup(cell) == _setup(newest)


def _setup(cell: MeasuredCell) -> tuple[object, ...]:
    return setup_of(cell.run.document, cell.row, cell.inputs)
