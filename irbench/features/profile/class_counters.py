"""Counters of classes of work: the counts of the operators that were counted, added up launch by launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irbench.core.counter_row import CountedLaunch, CounterFigure, CounterRow, CounterTable, PhaseCounts
from irbench.core.row import Requested
from irbench.counters import CountedPhase, EventCount, kind_and_share
from irbench.features.profile.joining import JoinedCell
from irbench.features.profile.record import CountedKind, CountedPart, ProfileCounters
from irbench.onnx.operator_classes import OperatorClass
from irbench.stats.counter_figures import derive_counter_table

_PHASE: CountedPhase = "inference"


@dataclass(frozen=True)
class ClassCounters:
    """What counters saw of a class of work in a cell, per inference; or of the whole model, or of an empty call.

    Attributes:
        cell: Id of the cell.
        label: What tables call the cell.
        kind: Whether these are operators of a class, a call, or the whole model.
        operator_class: The class; ``None`` of a call and of the whole model.
        figures: Events of the counted operators, added up; ratios of these sums; and shares of slots, weighted with
            cycles. Shares of one kind of core are left out where several models were counted.
        counted_share: Of the time that the class takes in the profile, how much is in operators that were counted,
            from 0 to 1.
        models: How many models of single operators were counted.
        times: For how many operators of an inference these stand.
        launches: In how many launches all of them were counted.
    """

    cell: str
    label: str
    kind: CountedKind
    operator_class: OperatorClass | None
    figures: tuple[CounterFigure, ...]
    counted_share: float
    models: int
    times: int
    launches: int


def class_counters(cells: Sequence[JoinedCell], counters: ProfileCounters | None) -> tuple[ClassCounters, ...]:
    """Return the counters of each class that was counted, the one that takes longest first, then of call and model.

    Args:
        cells: The cells of a profile.
        counters: What was counted; ``None`` gives nothing.
    """
    if counters is None:
        return ()
    summed = tuple(found for cell in cells for found in _of_cell(cell, counters))
    rows = _table(counters, [_row(place, each) for place, each in enumerate(summed)]).rows
    return tuple(_class_counters(each, row.figures) for each, row in zip(summed, rows, strict=True))


@dataclass(frozen=True)
class _Sum:
    """The models of a class in a cell, a call or a whole model, and what they add up to in each launch."""

    joined: JoinedCell
    operator_class: OperatorClass | None
    parts: Sequence[CountedPart]
    launches: tuple[CountedLaunch, ...]


def _of_cell(joined: JoinedCell, counters: ProfileCounters) -> Iterator[_Sum]:
    parts = [part for part in counters.parts if part.cell == joined.cell.id and part.launches]
    classes: dict[OperatorClass, list[CountedPart]] = {}
    for part in parts:
        if part.operators:
            classes.setdefault(joined.operators[part.operators[0]].operator_class, []).append(part)
    for found in sorted(classes, key=lambda found: -_class_ns(joined, found)):
        yield _sum_of(joined, found, classes[found])
    for kind in ("call", "model"):
        yield from (_sum_of(joined, None, [part]) for part in parts if part.kind == kind)


def _sum_of(joined: JoinedCell, operator_class: OperatorClass | None, parts: Sequence[CountedPart]) -> _Sum:
    return _Sum(joined, operator_class, parts, tuple(_launches(parts)))


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
    cell, asked = summed.joined.cell, Requested(None, 1, "native")
    return CounterRow(
        id=str(place),
        label=cell.label,
        artifact="",
        backend=cell.backend,
        device=cell.device,
        batch=1,
        io="copy",
        requested=asked,
        effective={},
        state="ok",
        launches=summed.launches,
    )


def _class_counters(summed: _Sum, figures: tuple[CounterFigure, ...]) -> ClassCounters:
    joined, found, parts = summed.joined, summed.operator_class, summed.parts
    return ClassCounters(
        cell=joined.cell.id,
        label=joined.cell.label,
        kind=parts[0].kind,
        operator_class=found,
        figures=tuple(figure for figure in figures if len(parts) == 1 or not _is_unweighted(figure)),
        counted_share=1.0 if found is None else _counted_share(joined, found, parts),
        models=len(parts),
        times=sum(part.times for part in parts),
        launches=len(summed.launches),
    )


def _is_unweighted(figure: CounterFigure) -> bool:
    """Whether it is a share of slots of one kind of cores, which :func:`_shares` leaves out."""
    return _is_of_one_kind_of_cores(figure.name) and figure.value is None


def _is_of_one_kind_of_cores(share: str) -> bool:
    kind, _ = kind_and_share(share)
    return bool(kind)


def _counted_share(joined: JoinedCell, operator_class: OperatorClass, parts: Sequence[CountedPart]) -> float:
    counted_ns = sum(joined.operators[place].total_ns for part in parts for place in part.operators)
    return counted_ns / max(1, _class_ns(joined, operator_class))


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
        if _is_of_one_kind_of_cores(name):  # their cycles alone would be the weight
            continue
        values = [each.shares[name] for each in counts if name in each.shares]
        if len(values) == len(counts):
            yield name, sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _class_ns(joined: JoinedCell, operator_class: OperatorClass) -> int:
    return sum(operator.total_ns for operator in joined.operators if operator.operator_class is operator_class)
