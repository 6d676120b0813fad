"""Counters of classes of work: the counts of the operators that were counted, added up launch by launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irbench.core.counter_row import CountedLaunch, CounterFigure, CounterRow, CounterTable, PhaseCounts
from irbench.core.row import Requested
from irbench.features.profile.joining import JoinedCell
from irbench.features.profile.profile_document import CountedPart, ProfileCounters
from irbench.features.profile.report import ClassCounters
from irbench.onnx.operator_classes import OperatorClass
from irbench.perf_events.perf_output import CountedPhase, EventCount
from irbench.perf_events.topdown import kind_and_share
from irbench.stats.counter_figures import derive_counter_table

_PHASE: CountedPhase = "inference"


def class_counters(cells: Sequence[JoinedCell], counters: ProfileCounters | None) -> tuple[ClassCounters, ...]:
    """Return the counters of each class that was counted, the one that takes longest first, then of call and model."""
    if counters is None:
        return ()
    sums = [summed for cell in cells for summed in _of_cell(cell, counters)]
    rows = _table(counters, [_row(place, summed) for place, summed in enumerate(sums)]).rows
    return tuple(summed.with_figures(row.figures) for summed, row in zip(sums, rows, strict=True))


@dataclass(frozen=True)
class _Sum:
    """The models of a class in a cell, a call or a whole model, and what they add up to in each launch."""

    joined: JoinedCell
    operator_class: OperatorClass | None
    parts: Sequence[CountedPart]
    launches: tuple[CountedLaunch, ...]

    def with_figures(self, figures: Sequence[CounterFigure]) -> ClassCounters:
        """Return the counters; of several models without shares of one kind of core, as :func:`_shares`."""
        is_single = len(self.parts) == 1
        known = (
            figure for figure in figures if is_single or figure.value is not None or not kind_and_share(figure.name)[0]
        )
        counted_ns = sum(self.joined.operators[place].total_ns for part in self.parts for place in part.operators)
        whole_ns = 0 if self.operator_class is None else _class_ns(self.joined, self.operator_class)
        return ClassCounters(
            cell=self.joined.cell.id,
            label=self.joined.cell.label,
            kind=self.parts[0].kind,
            operator_class=self.operator_class,
            figures=tuple(known),
            counted_share=1.0 if self.operator_class is None else counted_ns / max(1, whole_ns),
            models=len(self.parts),
            times=sum(part.times for part in self.parts),
            launches=len(self.launches),
        )


def _of_cell(joined: JoinedCell, counters: ProfileCounters) -> Iterator[_Sum]:
    parts = [part for part in counters.parts if part.cell == joined.cell.id and part.launches]
    classes: dict[OperatorClass, list[CountedPart]] = {}
    for part in parts:
        if part.operators:
            classes.setdefault(joined.operators[part.operators[0]].operator_class, []).append(part)
    for operator_class in sorted(classes, key=lambda each: -_class_ns(joined, each)):
        own = classes[operator_class]
        yield _Sum(joined, operator_class, own, tuple(_launches(own)))
    for kind in ("call", "model"):
        yield from (_Sum(joined, None, [part], tuple(_launches([part]))) for part in parts if part.kind == kind)


def _table(counters: ProfileCounters, rows: Sequence[CounterRow]) -> CounterTable:
    """Return a table as ``irbench run --counters`` has them, with the figures of its rows."""
    return derive_counter_table(
        CounterTable(
            table=0,
            model="",
            batch=1,
            shapes={},
            asked=counters.asked,
            events=counters.events,
            perf_version=counters.perf_version,
            rounds=counters.planned,
            preview=True,
            confidence=counters.confidence,
            stopped_by=counters.stopped_by,
            seconds=counters.seconds,
            topdown=counters.topdown,
            rows=tuple(rows),
        )
    )


def _row(place: int, summed: _Sum) -> CounterRow:
    cell = summed.joined.cell
    return CounterRow(
        id=str(place),
        label=cell.label,
        artifact="",
        backend=cell.backend,
        device=cell.device,
        batch=1,
        io="copy",
        requested=Requested(None, 1, "native"),
        effective={},
        state="ok",
        launches=summed.launches,
    )


def _launches(parts: Sequence[CountedPart]) -> Iterator[CountedLaunch]:
    """Yield the rounds in which every part was counted, with what the parts add up to in one inference."""
    by_round = [{launch.round: launch.phases for launch in part.launches if _PHASE in launch.phases} for part in parts]
    for number in sorted(set[int]().union(*by_round)):
        if all(number in rounds for rounds in by_round):
            counts = [rounds[number][_PHASE] for rounds in by_round]
            yield CountedLaunch(number, {_PHASE: _sum(counts, [part.times for part in parts])})


def _sum(counts: Sequence[PhaseCounts], times: Sequence[int]) -> PhaseCounts:
    """Return what several parts come to in an inference that consists of each of them so many times."""
    names = dict.fromkeys(name for each in counts for name in each.events)
    factors = [number / max(1, each.inferences) for number, each in zip(times, counts, strict=True)]
    events = {name: _event([each.events.get(name) for each in counts], factors) for name in names}
    shares = counts[0].shares if len(counts) == 1 else dict(_shares(counts, factors))
    return PhaseCounts(events, shares, 1)


def _event(counts: Sequence[EventCount | None], factors: Sequence[float]) -> EventCount:
    """Return a sum; it has no value where one part has none, because no sum may pass for the whole."""
    known = [count for count in counts if count is not None]
    values = [count.value for count in known if count.value is not None]
    running = min((count.running_share for count in known), default=1.0)
    if len(values) < len(counts):
        return EventCount(None, running, any(count.is_supported for count in known))
    return EventCount(sum(value * factor for value, factor in zip(values, factors, strict=True)), running)


def _shares(counts: Sequence[PhaseCounts], factors: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Yield the shares of slots of several parts together: each part has slots in proportion to its cycles."""
    cycles = [each.events.get("cycles") for each in counts]
    weights = [
        factor * count.value
        for count, factor in zip(cycles, factors, strict=True)
        if count is not None and count.value is not None
    ]
    if len(weights) < len(counts) or not sum(weights):
        return
    for name in dict.fromkeys(name for each in counts for name in each.shares):
        if kind_and_share(name)[0]:  # their cycles alone would be the weight
            continue
        values = [each.shares[name] for each in counts if name in each.shares]
        if len(values) == len(counts):
            yield name, sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _class_ns(joined: JoinedCell, operator_class: OperatorClass) -> int:
    return sum(operator.total_ns for operator in joined.operators if operator.operator_class is operator_class)
