"""What a page is to show: runs, and other results, found by what users call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.across_runs.side_comparison import RunComparison
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.pages.result import HasPage, PageResult
from irbench.render.columns.neighbours import has_neighbours
from irbench.runner.plan import PlannedGroup
from irbench.runs.repetition import stored_options
from irbench.runs.stored_rows import GraphGone, StoredRow, fastest_row, planned_again, program_of_row, row_of_plan
from irbench.store.listing import find_run, list_runs
from irbench.store.profiles import find_profile
from irbench.store.runs import load_document
from irbench.worker.scratch import scratch_folder

StoredRun = tuple[RunDocument, Path]


NoProgram: TypeAlias = Literal["data", "own-code", "graph", "unknown"]
"""Why a page has no program of a row: its run was given data; it names code of its author; its graph is not here; for
another reason. Messages of errors name files of this machine, and pages are passed on."""


@dataclass(frozen=True)
class RowProgram:
    """The program that runs a row without irbench; in its place why there is none."""

    row: StoredRow
    text: str
    missing: NoProgram | None = None


Programs: TypeAlias = Mapping[tuple[str, int], RowProgram]
"""By the id of a run and the number of its table."""


@dataclass(frozen=True)
class Contents:
    """What a page shows.

    Attributes:
        runs: Each with its folder.
        results: Other results, in the order in which they were named; a comparison of the runs stands first.
        searches: That runs hold or confirm.
        programs: Of the winner of each table, or of the row that looks fastest; not of training steps.
    """

    runs: tuple[StoredRun, ...]
    results: tuple[PageResult, ...]
    searches: tuple[PageResult, ...] = ()
    programs: Programs = field(default_factory=dict)


def contents_of(root: Path, names: Sequence[str | HasPage | None]) -> Contents:
    """Return what names stand for: a run, else a sweep, a profile, or a model, whose history it is.

    Two runs that have rows in common are also compared. What holds or confirms a search is shown with the search.

    Raises:
        IrbenchError: Something is not stored, or is damaged.
    """
    named_results = [name if isinstance(name, HasPage) else _found(root, name) for name in names]
    runs = tuple(entry for entry in named_results if isinstance(entry, tuple))
    results = [entry.page_result() for entry in named_results if isinstance(entry, HasPage)]
    compared = _compared(root, runs) if len(named_results) == 2 else ()
    programs = {(document.run_id, place): found for document, _ in runs for place, found in _programs(document)}
    return Contents(runs, (*compared, *results), tuple(_searches(root, runs)), programs)


def _programs(document: RunDocument) -> Iterator[tuple[int, RowProgram]]:
    """Yield the programs of a run with the numbers of their tables; rows beside neighbours are no recommendation."""
    rows = {
        place: row
        for place, table in enumerate(document.groups)
        if not (has_neighbours(table) or table.is_training) and (row := fastest_row(document, place)) is not None
    }
    if not rows:
        return
    with scratch_folder() as scratch:
        planned = _planned(document, scratch)
        for place, row in rows.items():
            yield place, RowProgram(row, "", planned) if isinstance(planned, str) else _program(row, planned)


def _planned(document: RunDocument, scratch: Path) -> tuple[PlannedGroup, ...] | NoProgram:
    """Return the tables of a run, planned once; who stored it chooses no data that is read for a page, and no code."""
    try:
        options = stored_options(replace(document.plan, environments=()))
        if options.inputs.data is not None:
            return "data"
        if options.cells or options.metric is not None:
            return "own-code"
        return planned_again(document, scratch)
    except GraphGone:
        return "graph"
    except IrbenchError:
        return "unknown"


def _program(row: StoredRow, planned: Sequence[PlannedGroup]) -> RowProgram:
    try:
        return RowProgram(row, program_of_row(row, row_of_plan(row, planned)))
    except GraphGone:
        return RowProgram(row, "", "graph")
    except IrbenchError:
        return RowProgram(row, "", "unknown")


def _found(root: Path, name: str | None) -> StoredRun | HasPage:
    from irbench.features.sweep.stored import stored_sweep

    if name is not None and (sweep := stored_sweep(root, name)) is not None:
        return sweep
    try:
        folder = find_run(root, name)
    except IrbenchError as error:
        other = None if name is None else _profile(root, name) or _history(root, name)
        if other is None:
            raise error from None
        return other
    return load_document(folder), folder


def _profile(root: Path, name: str) -> HasPage | None:
    from irbench.features.profile.run import load_profile

    try:
        path = find_profile(root, name)
    except IrbenchError:
        return None
    return load_profile(path, results=root)


def _history(root: Path, model: str) -> HasPage | None:
    from irbench.features.history.run import history

    known = {name for entry in list_runs(root).entries for name in entry.models}
    return history(model, results=root) if model in known else None


def _compared(root: Path, runs: Sequence[StoredRun]) -> Iterator[PageResult]:
    """Yield two runs side by side, the older first; nothing of two machines, or without a row in common."""
    from irbench.features.compare.report import ComparedRuns
    from irbench.features.compare.run import compare

    if len({document.run_id for document, _ in runs}) != 2 or not all(document.groups for document, _ in runs):
        return
    base, new = (folder for document, folder in sorted(runs, key=lambda run: run[0].run_id))
    try:
        comparison = compare(base, new, results=root, progress=None)
    except IrbenchError:
        return
    if comparison.rows:
        yield ComparedRuns(_named(comparison.comparison, runs)).page_result()


def _named(comparison: RunComparison, runs: Sequence[StoredRun]) -> RunComparison:
    """Return a comparison whose sides are called as their runs are, by their ids where these are called the same."""
    names = {document.run_id: document.plan.name or document.run_id for document, _ in runs}
    if len(set(names.values())) < len(names):
        names = {run_id: run_id for run_id in names}
    base, new = (replace(side, name=names[side.runs[-1]]) for side in (comparison.base, comparison.new))
    return replace(comparison, base=base, new=new)


def _searches(root: Path, runs: Sequence[StoredRun]) -> Iterator[PageResult]:
    """Yield the searches that runs hold or confirm, where they are stored."""
    from irbench.features.tune.search_page import search_of

    for document, folder in runs:
        if (result := search_of(root, document, folder)) is not None:
            yield result
