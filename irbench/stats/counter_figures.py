"""Figures of counters: medians over launches with exact intervals, from counts of the same launch and phase.

As for cold starts, the number of launches follows from what was asked for and from the time there is, never from what
they showed, so an interval needs to hold at that number alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from irbench.core.counter_row import CountedLaunch, CounterFigure, CounterRow, CounterTable, PhaseCounts
from irbench.perf_events.perf_output import PHASES, RATIOS, CountedPhase, figures_of, of_kind, unit_of
from irbench.perf_events.topdown import LEVEL_1, SHARES, kind_and_share
from irbench.stats.intervals import FEWEST_LAUNCHES, Looks, interval_at


def derive_counter_table(table: CounterTable) -> CounterTable:
    """Return a table whose figures follow from the launches of its rows; what figures it has are ignored."""
    fewest = min((len(row.launches) for row in table.rows if row.launches), default=0)
    return replace(
        table,
        preview=fewest < FEWEST_LAUNCHES,
        rows=tuple(_with_figures(row, table) for row in table.rows),
    )


def _with_figures(row: CounterRow, table: CounterTable) -> CounterRow:
    figures = tuple(figure for phase in PHASES for figure in _of_phase(row.launches, phase, table))
    inferences = sum(counts.inferences for launch in row.launches for counts in launch.phases.values())
    return replace(row, figures=figures, inferences=inferences)


def _of_phase(launches: Sequence[CountedLaunch], phase: CountedPhase, table: CounterTable) -> Iterator[CounterFigure]:
    """Yield all that was asked for, without a value where perf never had it on a counter."""
    counted = [launch.phases[phase] for launch in launches if phase in launch.phases]
    if not counted:
        return
    by_launch = [figures_of(counts.events, counts.shares, counts.inferences, table.events) for counts in counted]
    asked_shares = _asked_shares(table)
    shares = {*asked_shares, *(name for counts in counted for name in counts.shares)}
    for name in dict.fromkeys((*table.events, *(name for figures in by_launch for name in figures), *asked_shares)):
        values = [figures[name] for figures in by_launch if name in figures]
        figure = CounterFigure(phase, name, unit_of(name, is_share=name in shares))
        yield _over_launches(figure, values, counted, table.confidence) if values else figure


def _asked_shares(table: CounterTable) -> tuple[str, ...]:
    """Return the shares that are figures even without a value: those of level 1, for each kind of core that ran."""
    if table.topdown is None:
        return ()
    phases = (phase for row in table.rows for launch in row.launches for phase in launch.phases.values())
    pairs = (kind_and_share(name) for phase in phases for name in phase.shares)
    kinds = {kind for kind, share in pairs if share in SHARES}
    return tuple(of_kind(share, kind) for kind in sorted(kinds or {""}) for share in LEVEL_1)


def _over_launches(
    figure: CounterFigure, values: Sequence[float], counted: Sequence[PhaseCounts], confidence: float
) -> CounterFigure:
    count = max(len(values), FEWEST_LAUNCHES)
    span = interval_at(values, Looks(count, count), confidence)
    return replace(
        figure,
        value=span.value,
        **span.ends(),
        confidence=span.confidence,
        launches=len(values),
        running_share=min((_running_share(figure.name, counts) for counts in counted), default=1.0),
    )


def _running_share(name: str, counts: PhaseCounts) -> float:
    """Return for what share of a phase the events of a figure were on counters; shares of slots need all of perf's.

    Deeper nodes are those of toplev, which scales by itself and does not tell.
    """
    kind, share = kind_and_share(name)
    needed: Iterable[str] = counts.events if share in SHARES else RATIOS.get(name, (name,))
    counted = (event for event in needed if event in counts.events and event.startswith(f"{kind}/" if kind else ""))
    shares = [counts.events[event].running_share for event in counted]
    return min(shares, default=1.0)
