"""How the figures of a model changed over the runs of one machine, and where their level changed."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irbench.across_runs.changes import (
    FEWEST_RUNS,
    CheckedCondition,
    ConditionOutcome,
    FigureChange,
    Unjudged,
    change_of_values,
    checked_condition,
    outcome_of,
)
from irbench.across_runs.checked_runs import RunProblem
from irbench.across_runs.differences import RunDifference, differences_between, graph_difference
from irbench.across_runs.measured_cells import FIGURES, CellKey, ComparedFigure, key_names
from irbench.across_runs.summaries import RowSummary, SummarisedRun, name_problems
from irbench.api.display import DisplayedReport
from irbench.charts.plots import Plottable
from irbench.core.plain_text import plain
from irbench.errors import ExitCode, IrbenchError
from irbench.features.history.change_points import change_points
from irbench.features.history.options import HISTORY
from irbench.options.conditions import Condition, Unit
from irbench.pages.result import PageResult, result_of_view
from irbench.stats.two_samples import Shift

if TYPE_CHECKING:
    from irbench.charts.figure import Figure
    from irbench.features.history.view import HistoryView

HISTORY_FIGURES = ("p50", "fps", "size", "compile", "peak_memory")
"""What a history shows of each row."""

_CONFIDENCE = 0.95
_FEWEST_BEFORE = 5
"""So many runs on a level say what is usual for it."""
_WINDOW = 250
"""Changes of level are looked for among so many of the newest runs of a row: the test takes the square of their number,
and older levels are known already."""
_CONFIRMING_RUNS = 3
"""A change is confirmed when so many runs lie on the new level: the first that showed it, and two that repeated it."""


@dataclass(frozen=True)
class Point:
    """A figure in one run."""

    run: str
    created: str
    value: float


@dataclass(frozen=True)
class LevelChange:
    """One change of a figure's level.

    Attributes:
        relative: The change as a fraction of the level before; ``None`` where a value is not above 0.
        p_value: How rare such a split is among random orders of the runs; ``None`` for a single run that stands out.
        confirmed: Whether enough runs lie on the new level. Nobody should be alarmed before.
    """

    run: str
    created: str
    before: float
    after: float
    relative: Shift | None
    p_value: float | None
    confirmed: bool
    is_loss: bool
    differences: tuple[RunDifference, ...]


@dataclass(frozen=True)
class FigureHistory:
    """A figure of a row over runs.

    Attributes:
        changes: Of its level, oldest first, among the newest of the points.
        searched: How many of the newest points these were looked for in.
        conditions: Outcome of each condition on the newest confirmed change, by the condition as it was written.
        totals: Each condition on the total change: from the oldest runs to the newest, however many steps it took.
    """

    figure: str
    unit: Unit
    points: tuple[Point, ...]
    changes: tuple[LevelChange, ...]
    conditions: Mapping[str, ConditionOutcome]
    totals: tuple[CheckedCondition, ...] = ()
    searched: int = 0


@dataclass(frozen=True)
class RowHistory:
    """One cell over the runs that measured it.

    Attributes:
        unjudged: The conditions that could not be judged of what the newest run measured, or should have measured.
    """

    name: str
    key: CellKey
    figures: tuple[FigureHistory, ...]
    unjudged: tuple[Unjudged, ...] = ()


@dataclass(frozen=True)
class ModelHistory:
    """A model over the runs of one machine.

    Attributes:
        since_run: Id of the run since which total changes are taken.
    """

    model: str
    machine: str
    runs: tuple[str, ...]
    rows: tuple[RowHistory, ...]
    other_machines: Mapping[str, int]
    problems: tuple[RunProblem, ...]
    since_run: str = ""

    @property
    def regressed(self) -> bool:
        """Whether a confirmed change, or a total one, meets a condition."""
        return "met" in self._outcomes

    @property
    def undecided(self) -> bool:
        """Whether a change lies beyond the limit of a condition, and its interval includes no change."""
        return "undecided" in self._outcomes

    @property
    def unjudged(self) -> tuple[Unjudged, ...]:
        """The conditions that could not be judged, each with its row and the reason."""
        return tuple(item for row in self.rows for item in row.unjudged)

    @property
    def _outcomes(self) -> set[ConditionOutcome]:
        figures = [figure for row in self.rows for figure in row.figures]
        outcomes: set[ConditionOutcome] = set()
        outcomes.update(*(figure.conditions.values() for figure in figures))
        outcomes.update(checked.outcome for figure in figures for checked in figure.totals)
        return outcomes


@dataclass(frozen=True)
class _Measured:
    run: SummarisedRun
    row: RowSummary


@dataclass(frozen=True)
class _Series:
    """A figure of a cell in each run that has it, oldest first."""

    figure: ComparedFigure
    cells: Sequence[_Measured]
    values: Sequence[float]

    def newest(self, count: int) -> _Series:
        return _Series(self.figure, self.cells[-count:], self.values[-count:])

    def values_since(self, run: str) -> Sequence[float]:
        return [value for cell, value in zip(self.cells, self.values, strict=True) if cell.run.run_id >= run]


@dataclass(frozen=True)
class _Criteria:
    """What is judged."""

    conditions: Sequence[Condition]
    since: str
    newest: str
    expected: frozenset[CellKey]


def history_of(
    model: str,
    runs: Sequence[SummarisedRun],
    machine: str | None = None,
    *,
    limit: int | None = None,
    conditions: Sequence[Condition] = (),
    problems: Sequence[RunProblem] = (),
    since_run: str | None = None,
) -> ModelHistory:
    """Return how a model's figures changed.

    Args:
        model: Its name.
        runs: Stored runs, oldest first; those of other models are passed over.
        machine: Fingerprint of the machine; ``None`` for that of the newest run of the model.
        limit: At most so many runs of that machine, the newest.
        conditions: What neither a confirmed change nor a total one may meet.
        problems: What is wrong with other runs.
        since_run: Id of the run since which total changes are taken; ``None`` for the oldest.
    """
    cells = _cells(model, runs)
    measured = {run.run_id: run for row_cells in cells.values() for run in (cell.run for cell in row_cells)}
    machines = {run_id: run.summary.machine for run_id, run in sorted(measured.items())}
    chosen = machine or next(reversed(machines.values()), "")
    ids = [run_id for run_id, measured_on in machines.items() if measured_on == chosen][-(limit or len(machines)) :]
    chosen_ids = frozenset(ids)
    here = {key: [cell for cell in row_cells if cell.run.run_id in chosen_ids] for key, row_cells in cells.items()}
    here = {key: row_cells for key, row_cells in here.items() if row_cells}
    names = key_names(here)
    others = Counter(measured_on for measured_on in machines.values() if measured_on != chosen)
    newest = ids[-1] if ids else ""
    expected = frozenset(row.key for row in measured[newest].summary.rows) if ids else frozenset[CellKey]()
    criteria = _Criteria(conditions, _since(model, ids, since_run), newest, expected)
    summaries = [run.summary for run in runs]
    return ModelHistory(
        model=model,
        machine=chosen,
        runs=tuple(ids),
        rows=tuple(_row(names[key], key, row_cells, criteria) for key, row_cells in here.items()),
        other_machines=dict(others),
        problems=(
            *problems,
            *name_problems(model, summaries, [measured[run_id].summary for run_id in ids]),
        ),
        since_run=criteria.since,
    )


def _since(model: str, ids: Sequence[str], run: str | None) -> str:
    if run is None or run in ids:
        return run or (ids[0] if ids else "")
    raise IrbenchError(
        f"Run {run} is not in the history of {model}.",
        hint="Name another one with `--since-run`: irbench results lists them. --since, --limit and `--machine` leave"
        " runs out.",
    )


def _row(name: str, key: CellKey, cells: Sequence[_Measured], criteria: _Criteria) -> RowHistory:
    figures = _figures(cells, criteria)
    return RowHistory(name, key, figures, tuple(_unjudged(name, key, cells, figures, criteria)))


def _unjudged(
    name: str,
    key: CellKey,
    cells: Sequence[_Measured],
    figures: Sequence[FigureHistory],
    criteria: _Criteria,
) -> Iterator[Unjudged]:
    """Yield the conditions that cannot be judged of the newest run; rows that it was not to measure have none."""
    if key not in criteria.expected:
        return
    if cells[-1].run.run_id != criteria.newest:
        yield from (Unjudged(name, condition.text, "row-missing") for condition in criteria.conditions)
        return
    known = {figure.figure for figure in figures}
    yield from (
        Unjudged(name, condition.text, "no-figure")
        for condition in criteria.conditions
        if condition.figure not in known
    )
    for figure in figures:
        for total in figure.totals:
            if total.unjudged is not None and figure.conditions[total.condition] != "met":
                yield Unjudged(name, total.condition, total.unjudged, total.change)


def _cells(model: str, runs: Sequence[SummarisedRun]) -> dict[CellKey, list[_Measured]]:
    cells_by_key: dict[CellKey, list[_Measured]] = {}
    for run in (run for run in runs if not run.summary.is_of_search):
        in_run: dict[CellKey, _Measured] = {}
        for row in run.summary.rows:
            if row.key.model == model and row.figures and not row.is_ambiguous:
                in_run.setdefault(row.key, _Measured(run, row))
        for key, cell in in_run.items():
            cells_by_key.setdefault(key, []).append(cell)
    return cells_by_key


def _figures(cells: Sequence[_Measured], criteria: _Criteria) -> tuple[FigureHistory, ...]:
    names = dict.fromkeys((*HISTORY_FIGURES, *(condition.figure for condition in criteria.conditions)))
    histories = (_figure(FIGURES[name], cells, criteria) for name in names)
    return tuple(figure for figure in histories if figure.points)


def _figure(figure: ComparedFigure, cells: Sequence[_Measured], criteria: _Criteria) -> FigureHistory:
    known = [(cell, value) for cell in cells if (value := cell.row.figure(figure.name)) is not None]
    series = _Series(figure, tuple(cell for cell, _ in known), tuple(value for _, value in known))
    recent = series.newest(_WINDOW)
    level_changes = tuple(_changes(recent))
    confirmed = [place for place, change in level_changes if change.confirmed]
    own = [condition for condition in criteria.conditions if condition.figure == figure.name]
    return FigureHistory(
        figure=figure.name,
        unit=figure.unit,
        points=tuple(Point(cell.run.run_id, cell.run.summary.created, value) for cell, value in known),
        changes=tuple(change for _, change in level_changes),
        conditions={condition.text: _outcome(condition, recent, confirmed) for condition in own},
        totals=tuple(checked_condition(condition, _total(series, criteria.since)) for condition in own),
        searched=len(recent.values),
    )


def _total(series: _Series, since: str) -> FigureChange | None:
    """Return the change from the oldest runs since one to the newest, as many of each as an interval takes.

    It needs no step that could be seen: many small ones add up. With fewer runs it has no interval; ``None`` where no
    run since then has the figure.
    """
    values = series.values_since(since)
    if not values:
        return None
    count = 1 if series.figure.exact else max(1, min(FEWEST_RUNS, len(values) // 2))
    return change_of_values(series.figure, values[:count], values[-count:], "runs", _CONFIDENCE)


def _changes(series: _Series) -> Iterator[tuple[int, LevelChange]]:
    values, exact = series.values, series.figure.exact
    p_values = _exact_steps(values) if exact else {split.position: split.p_value for split in change_points(values)}
    places = [0, *p_values, len(values)]
    for start, place, end in zip(places, places[1:], places[2:], strict=False):
        change = _level_change(series, (start, place, end), p_values[place])
        yield place, replace(change, confirmed=exact or end - place >= _CONFIRMING_RUNS)
    start, last = places[-2], len(values) - 1
    if not exact and start < last and _stands_out(values[start:last], values[last]):
        yield last, _level_change(series, (start, last, len(values)), None)


def _exact_steps(values: Sequence[float]) -> dict[int, float | None]:
    return {place: None for place in range(1, len(values)) if values[place] != values[place - 1]}


def _level_change(series: _Series, places: tuple[int, int, int], p_value: float | None) -> LevelChange:
    start, place, end = places
    figure = series.figure
    change = change_of_values(figure, series.values[start:place], series.values[place:end], "runs", _CONFIDENCE)
    previous, first = series.cells[place - 1], series.cells[place]
    return LevelChange(
        run=first.run.run_id,
        created=first.run.summary.created,
        before=change.base,
        after=change.new,
        relative=change.relative,
        p_value=p_value,
        confirmed=False,
        is_loss=(change.new > change.base) == figure.more_is_worse,
        differences=(
            *_differences(previous.run, first.run),
            *graph_difference("graph", previous.row.graph, first.row.graph),
        ),
    )


def _differences(before: SummarisedRun, after: SummarisedRun) -> tuple[RunDifference, ...]:
    """Return in what two runs differ besides their figures; their documents are read only if they do."""
    if before.summary.facts == after.summary.facts:
        return ()
    return differences_between([before.document()], [after.document()])


def _stands_out(usual: Sequence[float], value: float) -> bool:
    if len(usual) < _FEWEST_BEFORE or min(*usual, value) <= 0:
        return False
    logs, log = sorted(map(math.log, usual)), math.log(value)
    width = max(logs[-1] - logs[0], math.log1p(0.02))
    return abs(log - statistics.median(logs)) > width


def _outcome(condition: Condition, series: _Series, confirmed: Sequence[int]) -> ConditionOutcome:
    """Return whether the newest of the confirmed changes, given by their places, meets a condition."""
    if not confirmed:
        return "not-met"
    *earlier, place = confirmed
    before, after = series.values[earlier[-1] if earlier else 0 : place], series.values[place:]
    return outcome_of(condition, change_of_values(series.figure, before, after, "runs", _CONFIDENCE))


class RunHistory(Plottable, DisplayedReport[ModelHistory]):
    """How a model's figures changed.

    Attributes:
        report: Everything that was found.
    """

    _command = HISTORY

    @property
    def history(self) -> ModelHistory:
        """Everything that was found."""
        return self.report

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

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        from irbench.features.history.view import history_view

        return result_of_view(f"{self.history.model} over its runs", history_view(self.history), self._figures)

    def _figures(self) -> Iterator[Figure]:
        from irbench.features.history.charts import figures_of_history

        return figures_of_history(self.history)

    def __repr__(self) -> str:
        """Return the model and how many runs there are."""
        return plain(f"<RunHistory {self.history.model}: {len(self.history.runs)} runs>")

    def __rich__(self) -> HistoryView:
        """Return the table as ``irbench history`` prints it; called by rich."""
        from irbench.features.history.view import HistoryView

        return HistoryView(self.history)
