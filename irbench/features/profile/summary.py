"""The report of a profile, derived from its document: a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.features.profile.class_counters import class_counters
from irbench.features.profile.estimates import Estimate, estimate, looks_at
from irbench.features.profile.gpu import gpu_parts
from irbench.features.profile.joining import ORIGINAL, JoinedCell, JoinedOperator, joined_cells
from irbench.features.profile.launches import middle_half
from irbench.features.profile.matching import MatchedBy
from irbench.features.profile.parts import (
    Grouping,
    KeyOf,
    class_rows,
    key_of_class,
    node_groups,
    node_rows,
    operator_rows,
    parts_of,
)
from irbench.features.profile.record import LaunchLatencies, ProfileDocument
from irbench.features.profile.report import (
    CellSummary,
    Change,
    Comparison,
    Excess,
    HeadlineFacts,
    PartRow,
    ProfileReport,
)
from irbench.onnx.operator_classes import OperatorClass
from irbench.stats.intervals import Looks

_TOTAL = "total"

_WORTH_TELLING = 0.02
"""The least that a cell loses in a class, as a share of its operators' time, for it to be said in words."""
_INSERTED = ""
"""Key of operators that a runtime added to move data; no node is called so."""
_NEVER_TOLD = (OperatorClass.OTHER, OperatorClass.OVERHEAD)
"""Classes in which runtimes tell different things."""


def comparisons(
    grouping: Grouping, levels: Sequence[str], classes: Sequence[PartRow], nodes: Sequence[PartRow]
) -> tuple[Comparison, ...]:
    """Return what changed between two levels in each backend that has launches of both.

    Args:
        grouping: All cells.
        levels: The two levels; none where nothing is compared.
        classes: Rows by class of work.
        nodes: Rows by group of nodes.
    """
    return tuple(
        Comparison(
            before=pair.before.cell.id,
            after=pair.after.cell.id,
            total=pair.change(_TOTAL, pair.before.operators, pair.after.operators),
            classes=_changes(pair, classes, key_of_class),
            nodes=_changes(pair, nodes, grouping.key_of_node),
        )
        for pair in _pairs(grouping, levels)
    )


@dataclass(frozen=True)
class _Pair:
    """Two cells of one backend, whose launches are compared by their numbers."""

    before: JoinedCell
    after: JoinedCell
    looks: Looks

    @property
    def common(self) -> list[int]:
        """Numbers of the launches that both have."""
        first, second = ({launch.launch for launch in side.cell.launches} for side in (self.before, self.after))
        return sorted(first & second)

    def change(self, row: PartRow | str, before: Sequence[JoinedOperator], after: Sequence[JoinedOperator]) -> Change:
        """Return what became of the operators of a row."""
        first, second = _times(self.before, before), _times(self.after, after)
        return Change(
            key=row if isinstance(row, str) else row.key,
            name=row if isinstance(row, str) else row.name,
            operator_class=OperatorClass.OTHER if isinstance(row, str) else row.operator_class,
            before_ns=self._estimate(first, before),
            after_ns=self._estimate(second, after),
            change_ns=estimate([second[launch] - first[launch] for launch in self.common], self.looks),
            operators=(len(before), len(after)),
            kinds=(_kinds(before), _kinds(after)),
        )

    def _estimate(self, times: Mapping[int, int], operators: Sequence[JoinedOperator]) -> Estimate | None:
        return estimate(list(times.values()), self.looks) if operators else None


def _pairs(grouping: Grouping, levels: Sequence[str]) -> Iterable[_Pair]:
    cells = {(cell.cell.backend, cell.cell.device, cell.cell.level): cell for cell in grouping.cells}
    for (backend, device, level), before in cells.items():
        after = cells.get((backend, device, levels[1])) if len(levels) == 2 and level == levels[0] else None
        pair = None if after is None else _Pair(before, after, grouping.looks)
        if pair is not None and pair.common:
            yield pair


def _changes(pair: _Pair, rows: Sequence[PartRow], key_of: KeyOf) -> tuple[Change, ...]:
    before, after = parts_of(pair.before, key_of), parts_of(pair.after, key_of)
    executed = (row for row in rows if row.key in before or row.key in after)
    found = (pair.change(row, before.get(row.key, ()), after.get(row.key, ())) for row in executed)
    return tuple(sorted(found, key=lambda change: -abs(change.change_ns.value)))


def _times(cell: JoinedCell, operators: Sequence[JoinedOperator]) -> Mapping[int, int]:
    launches = (launch.launch for launch in cell.cell.launches)
    return dict(zip(launches, cell.times_ns(operators), strict=True))


def _kinds(operators: Sequence[JoinedOperator]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(operator.profile.kind for operator in operators))


def derive_report(document: ProfileDocument) -> ProfileReport:
    """Return all figures of a profile.

    Operators are joined with nodes, and counted by class of work, by operator type and by node. The time of an operator
    in a launch is its mean over the inferences that count, as is the latency, so parts add up in each launch; figures
    are medians over launches.
    """
    cells, looks = joined_cells(document), looks_at(document.launches)
    original = document.graphs.get(ORIGINAL, ())
    fused = (operator.original for cell in cells for operator in cell.operators)
    groups = node_groups(fused, [node.name for node in original])
    grouping = Grouping(cells, looks, groups, original, document.peaks)
    classes, nodes = class_rows(grouping), node_rows(grouping)
    summaries = tuple(_summary(cell, looks) for cell in cells)
    found = ProfileReport(
        cells=summaries,
        classes=classes,
        operators=operator_rows(grouping),
        nodes=nodes,
        comparisons=comparisons(grouping, document.compared, classes, nodes),
        counters=class_counters(cells, document.counters),
    )
    return replace(found, headline=tuple(_headline(found, largest_losses(grouping))))


def _summary(joined: JoinedCell, looks: Looks) -> CellSummary:
    cell = joined.cell
    if not cell.launches:
        return CellSummary(cell.id, cell.label, 0, device=cell.device, failure=cell.failure)
    profiled = [_mean(launch.profiled_ns, launch.counted) for launch in cell.launches]
    plain = [_mean(launch.plain_ns, _counted_plain(launch)) for launch in cell.launches]
    between = [all_ - part for all_, part in zip(profiled, joined.sums_ns, strict=True)]
    known = [operator.flops for operator in joined.operators if operator.flops is not None]
    return CellSummary(
        id=cell.id,
        label=cell.label,
        launches=len(cell.launches),
        sum_ns=estimate(joined.sums_ns, looks) if joined.operators else None,
        latency_ns=estimate(profiled, looks),
        between_ns=estimate(between, looks) if joined.operators else None,
        plain_ns=estimate(plain, looks),
        slowdown=estimate([with_ / without for with_, without in zip(profiled, plain, strict=True)], looks),
        flops=sum(known) if known else None,
        matched=_matched(joined),
        device=cell.device,
        uncertainty_ns=max(launch.uncertainty_ns for launch in cell.launches),
        failure=cell.failure,
        gpu=gpu_parts(cell, profiled, looks),
    )


def _counted_plain(launch: LaunchLatencies) -> Sequence[int]:
    """Return the places of the calls without profiling that count: chosen as those with profiling are."""
    is_mean_of_all = len(launch.counted) == len(launch.profiled_ns)
    return range(len(launch.plain_ns)) if is_mean_of_all else [int(place) for place in middle_half(launch.plain_ns)]


def _mean(latencies_ns: Sequence[int], counted: Sequence[int]) -> float:
    return sum(latencies_ns[place] for place in counted) / len(counted)


def _matched(joined: JoinedCell) -> Mapping[MatchedBy, float]:
    times: dict[MatchedBy, int] = {}
    for operator in joined.operators:
        times[operator.matched_by] = times.get(operator.matched_by, 0) + operator.total_ns
    total = sum(times.values())
    return {matched_by: time / total for matched_by, time in times.items()} if total else {}


def _headline(report: ProfileReport, losses: Mapping[str, Excess]) -> Iterator[HeadlineFacts]:
    for cell in report.cells:
        if cell.sum_ns is not None and cell.sum_ns.value > 0:
            own = [row for row in report.classes if cell.id in row.figures]
            largest, *rest = sorted(own, key=lambda row: -row.figures[cell.id].time_ns.value)
            following = rest[0].operator_class if rest else None
            excess = None if cell.is_costly else losses.get(cell.id)
            main = report.main_operators(cell.id, largest.operator_class)
            yield HeadlineFacts(cell.id, largest.operator_class, main, following, excess)


def largest_losses(grouping: Grouping) -> Mapping[str, Excess]:
    """Return, by the id of a cell, where it loses the most to another one, if that is certain and matters."""
    sides = [_Side(cell, _parts(cell, grouping)) for cell in grouping.cells if cell.cell.launches]
    found: dict[str, Excess] = {}
    for own in sides:
        others = (other for other in sides if other is not own)
        losses = [loss for other in others for loss in _losses(own, other, grouping)]
        if losses:
            found[own.cell.cell.id] = max(losses, key=lambda loss: loss.time_ns)
    return found


@dataclass(frozen=True)
class _Side:
    """A cell, and its operators that can be compared with those of other cells, by group of nodes."""

    cell: JoinedCell
    parts: Mapping[str, Sequence[JoinedOperator]]

    def class_of(self, key: str) -> OperatorClass:
        """Return in which class the operators of a group take the most time: a third cell may fuse several classes."""
        if key == _INSERTED:
            return OperatorClass.MOVEMENT
        times: dict[OperatorClass, int] = {}
        for operator in self.parts[key]:
            times[operator.operator_class] = times.get(operator.operator_class, 0) + operator.total_ns
        return max(times, key=times.__getitem__)

    @property
    def unknown(self) -> list[JoinedOperator]:
        """Operators that may compute any node."""
        return [operator for operator in self.cell.operators if operator.matched_by == "unmatched"]


def _parts(cell: JoinedCell, grouping: Grouping) -> Mapping[str, Sequence[JoinedOperator]]:
    found: dict[str, list[JoinedOperator]] = {_INSERTED: []}
    for operator in cell.operators:
        if operator.original:
            found.setdefault(grouping.key_of_node(operator), []).append(operator)
        elif operator.matched_by == "inserted":
            found[_INSERTED].append(operator)
    return found


def _losses(own: _Side, other: _Side, grouping: Grouping) -> Iterator[Excess]:
    classes = {key: own.class_of(key) for key in own.parts if key in other.parts}
    for operator_class in dict.fromkeys(classes.values()):
        if operator_class in _NEVER_TOLD:
            continue
        keys = [key for key, found in classes.items() if found is operator_class]
        loss = _loss(own, other, keys, operator_class, grouping)
        if loss is not None:
            yield loss


def _loss(
    own: _Side, other: _Side, keys: Sequence[str], operator_class: OperatorClass, grouping: Grouping
) -> Excess | None:
    """Return what a cell loses to another in some groups; ``None`` unless that is certain and matters.

    It is certain if both have intervals that do not overlap, even if all that is unknown of the other belongs there.
    """
    mine, theirs = ([operator for key in keys for operator in side.parts[key]] for side in (own, other))
    time = estimate(own.cell.times_ns(mine), grouping.looks)
    against = estimate(other.cell.times_ns(theirs), grouping.looks)
    most = estimate(other.cell.times_ns([*theirs, *other.unknown]), grouping.looks)
    whole = estimate(own.cell.sums_ns, grouping.looks)
    loss_ns = time.value - against.value
    if time.confidence is None or most.confidence is None:
        return None
    if time.low <= most.high or loss_ns < _WORTH_TELLING * whole.value:
        return None
    inserted = own.cell.times_ns(own.parts[_INSERTED]) if _INSERTED in keys else (0,)
    return Excess(
        cell=own.cell.cell.id,
        operator_class=operator_class,
        time_ns=loss_ns,
        against=other.cell.cell.id,
        inserted_ns=estimate(inserted, grouping.looks).value,
    )
