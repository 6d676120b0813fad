"""``irbench.history``: how the figures of a model changed over the stored runs of a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from irbench.across_runs.checked_runs import Error, RunProblem, SameNames, Unreadable
from irbench.across_runs.side_comparison import machine_called
from irbench.across_runs.summaries import read_summaries
from irbench.api.loaded_models import Model, model_name
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.exporter.foreign import name_of_file
from irbench.features.history.keywords import HistoryKeywords
from irbench.features.history.options import HISTORY, HistoryOptions
from irbench.features.history.report import RunHistory, history_of
from irbench.features.results.options import RunFilter
from irbench.features.results.run import chosen_entries
from irbench.options.option import names_keywords
from irbench.store.folders import default_root
from irbench.store.listing import find_run, latest_run, list_runs


@names_keywords(HISTORY)
def history(model: Model | None = None, **options: Unpack[HistoryKeywords]) -> RunHistory:
    """Return how latency, FPS, size, compile time and memory of a model changed over the runs of one machine.

    What ``fail_on`` names, neither the last confirmed change of level may meet, nor the total change from the oldest
    four runs, or ``since_run``, to the newest four.

    Args:
        model: Its name, or its ONNX file; the model of the newest run by default.
        options: Which runs and rows are meant.

    Raises:
        IrbenchError: No run of the model is stored, or a keyword has an invalid value.
    """
    return history_with(HISTORY.from_keywords(options, model=None if model is None else model_name(model)))


def history_with(options: HistoryOptions, unknown: Callable[[int], object] = lambda _count: None) -> RunHistory:
    """Return the history that is asked for."""
    root = options.results or default_root()
    model = _model(options, root)
    listing = list_runs(root)
    entries = chosen_entries(listing.entries, RunFilter(model, options.backend, options.since))
    folders = (entry.folder.removeprefix(f"{root}/") for entry in entries)
    runs, problems = read_summaries(root, folders, unknown)
    unreadable = (Unreadable("", Error(message, "")) for message in listing.problems)
    history = history_of(
        model,
        runs,
        None if options.machine is None else machine_called(runs, options.machine),
        limit=options.limit,
        conditions=options.fail_on,
        problems=(*unreadable, *problems),
        since_run=None if options.since_run is None else find_run(root, options.since_run).name,
    )
    if options.backend is not None:
        history = replace(history, rows=tuple(row for row in history.rows if row.key.backend == options.backend))
    if not history.rows:
        raise _nothing(model, {name for entry in listing.entries for name in entry.models}, history.problems)
    return RunHistory(history)


def _model(options: HistoryOptions, root: Path) -> str:
    if options.model is None:
        return latest_run(root).entry.models[0]
    return name_of_file(Path(options.model)) if options.model.endswith(".onnx") else options.model


def _nothing(model: str, stored: Iterable[str], problems: Iterable[RunProblem]) -> IrbenchError:
    shared = [problem.text() for problem in problems if isinstance(problem, SameNames)]
    if shared:
        return IrbenchError(
            f"No row of {model} can be used.",
            hint="Measure again: models of one run now have names of their own.",
            details=shared,
        )
    known = sorted(stored)
    if model in known:
        return IrbenchError(
            f"No stored result of {model} matches these options.",
            hint="Leave out --backend, --since and --since-run, or choose others.",
        )
    return IrbenchError(
        f"There are no stored results of {model}.",
        hint=f"{did_you_mean(model, known)}Models with stored results: {', '.join(known) or 'none'}.",
    )
