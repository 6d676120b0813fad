"""Different models of one name, within a run and over several, which nothing else would tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from irbench.across_runs.measured_cells import ambiguous_models
from irbench.across_runs.problems import Files, Models, Problem, SameNames, SeveralFiles
from irbench.across_runs.reading import CheckedRun
from irbench.across_runs.summaries import RunSummary


def shared_names(run: CheckedRun) -> Iterator[Problem]:
    """Yield the names that several models of a run have, in one problem."""
    models = ambiguous_models(run.document)
    if models:
        yield SameNames(run.run_id, Models(tuple(models)))


def name_problems(model: str, runs: Iterable[RunSummary], used: Iterable[RunSummary]) -> Iterator[Problem]:
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


def _several_files(model: str, runs: Iterable[RunSummary]) -> Iterator[Problem]:
    """Yield that a name stood for different files with different graphs, in one problem.

    Another graph in the same file is another version of the model, and the same graph in another file is a copy of it.
    """
    graphs: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for run in runs:
        source, found = run.sources.get(model, ""), _graphs(run, model)
        if source and found:
            graphs.setdefault(source, set()).update(found)
            counts[source] = counts.get(source, 0) + 1
    if any(graphs[first].isdisjoint(graphs[second]) for first, second in combinations(graphs, 2)):
        yield SeveralFiles("", Files(model, counts))


def _graphs(run: RunSummary, model: str) -> set[str]:
    """Return the digests of a model's graph as it was given; what was optimised differs for other reasons."""
    return {
        row.graph.sha256 for row in run.rows if row.key.model == model and not row.key.variant and row.graph is not None
    }
