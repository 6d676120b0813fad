"""Different models of one name, within a run and over several, which nothing else would tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from irbench.across_runs.measured_cells import ambiguous_models
from irbench.across_runs.problems import Problem
from irbench.across_runs.reading import CheckedRun
from irbench.result import RunDocument

__all__ = ["name_problems", "shared_names"]


def shared_names(run: CheckedRun) -> Iterator[Problem]:
    """Yield the names that several models of a run have, in one problem."""
    models = ambiguous_models(run.document)
    if models:
        yield Problem("same-names", run.run_id, {"models": list(models)})


def name_problems(model: str, runs: Sequence[CheckedRun], used: Sequence[CheckedRun]) -> Iterator[Problem]:
    """Yield where a name stands for different models.

    Args:
        model: The name.
        runs: In each of which several models may have it, so that their rows are not used.
        used: Those of them, oldest first, of which the rows are.
    """
    found = (problem for run in runs for problem in shared_names(run))
    yield from (problem for problem in found if model in problem.facts["models"])
    yield from _several_files(model, used)


def _several_files(model: str, runs: Sequence[CheckedRun]) -> Iterator[Problem]:
    """Yield that a name stood for different files with different graphs, in one problem.

    Another graph in the same file is another version of the model, and the same graph in another file is a copy of it.

    Args:
        model: The name.
        runs: Those that measured it, oldest first.
    """
    graphs: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for run in runs:
        source, found = _source(run.document, model), _graphs(run.document, model)
        if source and found:
            graphs.setdefault(source, set()).update(found)
            counts[source] = counts.get(source, 0) + 1
    if any(graphs[first].isdisjoint(graphs[second]) for first, second in combinations(graphs, 2)):
        yield Problem("several-files", "", {"model": model, "runs": counts})


def _source(document: RunDocument, model: str) -> str:
    """Return the file or name that a model was read from; empty where the plan does not say so."""
    models, sources = document.plan.get("models") or (), document.plan.get("sources") or ()
    return next((str(source) for name, source in zip(models, sources, strict=False) if name == model), "")


def _graphs(document: RunDocument, model: str) -> set[str]:
    """Return the digests of a model's graph as it was given; what was optimised differs for other reasons."""
    rows = ((table, row) for table in document.groups for row in table.cells)
    return {
        row.graph_files.sha256
        for table, row in rows
        if (row.model or table.model) == model and "+" not in row.artifact and row.graph_files is not None
    }
