"""What a history needs of each run, kept beside the runs so that their documents are not read for every history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import msgspec

from irbench.across_runs.checked_runs import Files, Models, RunProblem, SameNames, SeveralFiles, read_document
from irbench.across_runs.differences import facts_digest, fingerprint
from irbench.across_runs.kept_readings import read_each_once
from irbench.across_runs.measured_cells import FIGURES, CellKey, ambiguous_cells, ambiguous_models, key_of
from irbench.core.result import SEARCH_RUN, GroupResult, RunDocument
from irbench.core.row import CellResult
from irbench.spec import GraphFiles
from irbench.store.listing import Index
from irbench.store.runs import load_document

_FILE = "history.sqlite"
VERSION = 3
"""Of the lines: another number where their fields, ``FIGURES`` or what is made of a run are others.

Not of irbench: two of its versions that share a folder of results would drop each other's lines at every history.
"""

_PLACES = {name: place for place, name in enumerate(FIGURES)}
_BEYOND_ANY = 1e21
"""No figure is so large; squares of larger ones exceed what a float holds."""


class RowSummary(msgspec.Struct, frozen=True, array_like=True):
    """A row of a run.

    Attributes:
        figures: In the order of ``FIGURES``; empty where it has no right outputs or no time.
        is_ambiguous: Whether several rows of the run with this key ran different graphs.
    """

    key: CellKey
    figures: tuple[float | None, ...]
    graph: GraphFiles | None
    is_ambiguous: bool

    def figure(self, name: str) -> float | None:
        """Return a figure; ``None`` where the row does not have it."""
        place = _PLACES[name]
        return self.figures[place] if place < len(self.figures) else None


class RunSummary(msgspec.Struct, frozen=True, array_like=True):
    """A run.

    Attributes:
        facts: Digest of its machine, software, settings and inputs: runs with the same one do not differ in these.
        is_of_search: Whether a search measured it, which tries what nobody asked for.
        sources: The file or name that each model was read from, where the plan says so.
    """

    run_id: str
    created: str
    machine: str
    facts: str
    is_of_search: bool
    sources: dict[str, str]
    rows: tuple[RowSummary, ...]


@dataclass(frozen=True)
class SummarisedRun:
    """A stored run."""

    folder: Path
    summary: RunSummary

    @property
    def run_id(self) -> str:
        """The run's ULID."""
        return self.summary.run_id

    def document(self) -> RunDocument:
        """Read its document; raises as :func:`irbench.store.runs.load_document`."""
        return load_document(self.folder)


def summary_of(document: RunDocument) -> RunSummary:
    """Return what a history needs of a run."""
    ambiguous = frozenset(ambiguous_cells(document))
    named = reversed(list(zip(document.plan.models, document.plan.sources, strict=False)))
    return RunSummary(
        run_id=document.run_id,
        created=document.created,
        machine=fingerprint(document.environment),
        facts=facts_digest(document),
        is_of_search=document.plan.is_part_of == SEARCH_RUN,
        sources=dict(named),
        rows=tuple(_row(table, row, ambiguous) for table in document.groups for row in table.cells),
    )


def read_summaries(
    root: Path, folders: Iterable[str], unknown: Callable[[int], object] = lambda _count: None
) -> tuple[tuple[SummarisedRun, ...], tuple[RunProblem, ...]]:
    """Return the runs in these folders that can be read, oldest first, and what is wrong with the others.

    A run whose files have the sizes and times that they had when it was read last is not read again. Another is, and
    every file of it compared with its checksum.
    """
    read, problems = read_each_once(
        root, folders, Index(root / _FILE, RunSummary, VERSION), _read_summary, _is_possible, unknown
    )
    runs = [SummarisedRun(root / folder, summary) for folder, summary in read.items()]
    return tuple(sorted(runs, key=lambda run: run.run_id)), problems


def _read_summary(folder: Path) -> tuple[RunSummary | None, tuple[RunProblem, ...]]:
    document, damage = read_document(folder)
    return None if document is None else summary_of(document), damage


def forget_summaries(root: Path) -> None:
    """Remove what is known of the runs below a folder of results; the next history reads each of them."""
    Index(root / _FILE, RunSummary, VERSION).remove()


def _is_possible(folder: str, summary: RunSummary) -> bool:
    """Whether irbench may have written a line: anybody may write to a folder that is shared."""
    figures = (value for row in summary.rows for value in row.figures if value is not None)
    return (
        folder.rpartition("/")[2] == summary.run_id
        and all(len(row.figures) in (0, len(FIGURES)) for row in summary.rows)
        and all(0 <= value < _BEYOND_ANY for value in figures)
    )


def _row(table: GroupResult, row: CellResult, ambiguous: frozenset[CellKey]) -> RowSummary:
    key = key_of(table, row)
    is_measured = row.state == "ok" and row.latency_ms is not None
    figures = tuple(figure.of_row(row) for figure in FIGURES.values()) if is_measured else ()
    return RowSummary(key, figures, row.graph_files, key in ambiguous)


def shared_names(document: RunDocument) -> Iterator[RunProblem]:
    """Yield the names that several models of a run have, in one problem."""
    models = ambiguous_models(document)
    if models:
        yield SameNames(document.run_id, Models(tuple(models)))


def name_problems(model: str, runs: Iterable[RunSummary], used: Iterable[RunSummary]) -> Iterator[RunProblem]:
    """Yield where a name stands for different models.

    Args:
        model: The name.
        runs: In each of which several models may have it, so that their rows are not used.
        used: Those of them, oldest first, of which the rows are.
    """
    for run in runs:
        models = dict.fromkeys(row.key.model for row in run.rows if row.is_ambiguous)
        if model in models:
            yield SameNames(run.run_id, Models(tuple(models)))
    yield from _several_files(model, used)


def _several_files(model: str, runs: Iterable[RunSummary]) -> Iterator[RunProblem]:
    """Yield that a name stood for different files with different graphs, in one problem.

    Another graph in the same file is another version of the model, and the same graph in another file is a copy of it.
    """
    graphs: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for run in runs:
        source, digests = run.sources.get(model, ""), _graphs(run, model)
        if source and digests:
            graphs.setdefault(source, set()).update(digests)
            counts[source] = counts.get(source, 0) + 1
    if any(graphs[first].isdisjoint(graphs[second]) for first, second in combinations(graphs, 2)):
        yield SeveralFiles("", Files(model, counts))


def _graphs(run: RunSummary, model: str) -> set[str]:
    """Return the digests of a model's graph as it was given; what was optimised differs for other reasons."""
    return {
        row.graph.sha256 for row in run.rows if row.key.model == model and not row.key.variant and row.graph is not None
    }
