"""``irbench.history``: how the figures of a model changed over the stored runs of a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from irbench.across_runs.changes import Condition
from irbench.across_runs.history import ModelHistory, RowHistory, history_of
from irbench.across_runs.reading import Problem
from irbench.across_runs.sides import machine_called
from irbench.across_runs.summaries import read_summaries
from irbench.api.compare import conditions
from irbench.api.display import Displayable
from irbench.api.run_names import RunName, run_name
from irbench.api.stored_runs import chosen_entries
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter import name_of_file
from irbench.options import values
from irbench.options.option import Readers, read_keywords
from irbench.options.values import path
from irbench.plain_text import plain
from irbench.render.across_runs_texts import problem_text
from irbench.render.json_text import json_text
from irbench.store.folders import default_root
from irbench.store.listing import find_run, latest_run, list_runs
from irbench.suggestions import did_you_mean

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class HistoryOptions:
    """Which history is meant.

    Attributes:
        model: The model's name, or its ONNX file; ``None`` for that of the newest run.
        backend: Only rows of this backend.
        machine: Beginning of a fingerprint; ``None`` for the machine of the newest run.
        since: Only runs no older than so many seconds.
        limit: At most so many runs, the newest.
        fail_on: Conditions that neither a confirmed change nor the total one may meet.
        since_run: The run since which total changes are taken, by name; ``None`` for the oldest.
        results: The folder where runs are kept; ``None`` for the usual place.
    """

    model: str | None = None
    backend: str | None = None
    machine: str | None = None
    since: float | None = None
    limit: int | None = None
    fail_on: tuple[Condition, ...] = ()
    since_run: str | None = None
    results: Path | None = None


class RunHistory(Displayable):
    """How a model's figures changed.

    Attributes:
        history: Everything that was found.
    """

    def __init__(self, history: ModelHistory) -> None:
        self.history = history

    @property
    def rows(self) -> tuple[RowHistory, ...]:
        """The model's cells, each with its figures."""
        return self.history.rows

    @property
    def regressed(self) -> bool:
        """Whether a confirmed change, or the total one, meets a condition."""
        return self.history.regressed

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """Return what ``irbench history`` exits with; ``strict`` has a code for what is undecided."""
        if self.regressed:
            return ExitCode.DIFFERENT
        if self.history.unjudged:
            return ExitCode.NOT_JUDGED
        return ExitCode.UNDECIDED if strict and self.history.undecided else ExitCode.OK

    def to_text(self, form: Literal["table", "json", "md"] = "table") -> str:
        """Return the history as a person reads it, as JSON, or as Markdown."""
        from irbench.render.history import history_view

        if form == "json":
            return json_text(self.history)
        return history_view(self.history).as_markdown() + "\n" if form == "md" else str(self)

    def __repr__(self) -> str:
        """Return the model and how many runs there are."""
        return plain(f"<RunHistory {self.history.model}: {len(self.history.runs)} runs>")

    def __rich__(self) -> RenderableType:
        """Return the table as ``irbench history`` prints it; called by rich."""
        from irbench.render.history import history_view

        return history_view(self.history)


def history(
    model: str | PathLike[str] | None = None,
    *,
    backend: str | None = None,
    machine: str | None = None,
    since: str | float | timedelta | None = None,
    limit: int | None = None,
    fail_on: str | Iterable[str] | None = None,
    since_run: RunName | None = None,
    results: str | PathLike[str] | None = None,
) -> RunHistory:
    """Return how latency, FPS, size, compile time and memory of a model changed over the runs of one machine.

    Args:
        model: Its name, or its ONNX file; the model of the newest run by default.
        backend: Only rows of this backend.
        machine: Beginning of a machine's fingerprint; that of the newest run of the model by default.
        since: Only runs no older than this: ``"90d"``, or seconds.
        limit: At most so many runs, the newest.
        fail_on: Conditions such as ``"p50>5%"`` that neither the last confirmed change of level may meet, nor the total
            change from the oldest four runs to the newest four.
        since_run: The run since which that total is taken, as :func:`irbench.load` takes it; the oldest by default.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: No run of the model is stored, or a keyword has an invalid value.
    """
    given = {
        "model": model,
        "backend": backend,
        "machine": machine,
        "since": since,
        "limit": limit,
        "fail_on": fail_on,
        "since_run": None if since_run is None else run_name(since_run),
        "results": results,
    }
    return history_with(HistoryOptions(**read_keywords("history", given, _READERS)))


def history_with(options: HistoryOptions, unknown: Callable[[int], object] = lambda _count: None) -> RunHistory:
    """Return the history that is asked for.

    Args:
        options: Which.
        unknown: Receives how many runs are not known from former calls and have to be read, before they are.

    Raises:
        IrbenchError: As of :func:`history`.
    """
    root = options.results or default_root()
    model = _model(options, root)
    listing = list_runs(root)
    entries = chosen_entries(listing.entries, model, options.backend, options.since)
    folders = (entry.folder.removeprefix(f"{root}/") for entry in entries)
    runs, problems = read_summaries(root, folders, unknown)
    unreadable = (Problem("unreadable", "", {"message": message, "hint": ""}) for message in listing.problems)
    found = history_of(
        model,
        runs,
        None if options.machine is None else machine_called(runs, options.machine),
        limit=options.limit,
        conditions=options.fail_on,
        problems=(*unreadable, *problems),
        since_run=None if options.since_run is None else find_run(root, options.since_run).name,
    )
    if options.backend is not None:
        found = replace(found, rows=tuple(row for row in found.rows if row.key.backend == options.backend))
    if not found.rows:
        raise _nothing(model, {name for entry in listing.entries for name in entry.models}, found.problems)
    return RunHistory(found)


def _model(options: HistoryOptions, root: Path) -> str:
    if options.model is None:
        return latest_run(root).entry.models[0]
    return name_of_file(Path(options.model)) if options.model.endswith(".onnx") else options.model


def _nothing(model: str, stored: Iterable[str], problems: Iterable[Problem]) -> IrbenchError:
    shared = [problem_text(problem) for problem in problems if problem.code == "same-names"]
    if shared:
        return IrbenchError(
            f"No row of {model} can be used.",
            hint="Measure again: models of one run now have names of their own.",
            details=shared,
        )
    known = sorted(stored)
    return IrbenchError(
        f"No stored run has a measured row of {model} that fits.",
        hint=f"{did_you_mean(model, known)}Models of the stored runs: {', '.join(known) or 'none'}",
    )


_READERS: Readers = {
    "model": ('"resnet50"', str),
    "backend": ('"ort"', values.text),
    "machine": ('"3f2a9c"', values.text),
    "since": ('"90d"', values.duration_s),
    "limit": ("20", values.count),
    "fail_on": ('["p50>5%"]', conditions),
    "since_run": ('"v1.0"', values.text),
    "results": ('"./results"', path),
}
