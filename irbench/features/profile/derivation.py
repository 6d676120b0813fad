"""The report of a profile, derived from its document: a pure function."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from irbench.features.profile.counters.class_counters import class_counters
from irbench.features.profile.joining import (
    ORIGINAL,
    JoinedCell,
    JoinedOperator,
    MatchedBy,
    joined_cells,
    main_node,
    sum_of_known,
)
from irbench.features.profile.launches import middle_half
from irbench.features.profile.profile_document import GraphNode, LaunchLatencies, ProfiledCell, ProfileDocument
from irbench.features.profile.report import (
    CellSummary,
    Excess,
    Figures,
    GpuParts,
    HeadlineFacts,
    LevelComparison,
    PartChange,
    PartRow,
    ProfileReport,
    estimate,
    looks_at,
)
from irbench.onnx.operator_classes import OperatorClass
from irbench.roofline import MachinePeaks
from irbench.stats.intervals import Looks

_WORTH_TELLING = 0.02
"""The least that a cell loses in a class, as a share of its operators' time, for it to be said in words."""
_TOTAL = PartRow("total", "total", OperatorClass.OTHER)
_INSERTED = ""
"""Key of operators that a runtime added to move data; no node is called so."""
_NEVER_TOLD = (OperatorClass.OTHER, OperatorClass.OVERHEAD)
"""Classes in which runtimes tell different things."""


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
    grouping = RowGrouping(cells, looks, groups, original, document.peaks)
    classes, nodes = class_rows(grouping), node_rows(grouping)
    report = ProfileReport(
        cells=tuple(_summary(cell, looks) for cell in cells),
        classes=classes,
        operators=operator_rows(grouping),
        nodes=nodes,
        comparisons=comparisons(grouping, document.compared, classes, nodes),
        counters=class_counters(cells, document.counters),
    )
    return replace(report, headline=tuple(_headline(report, largest_losses(grouping))))


def _summary(joined: JoinedCell, looks: Looks) -> CellSummary:
    cell = joined.cell
    if not cell.launches:
        return CellSummary(cell.id, cell.label, 0, device=cell.device, failure=cell.failure)
    profiled = [_mean(launch.profiled_ns, launch.counted) for launch in cell.launches]
    plain = [_mean_plain(launch) for launch in cell.launches]
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


def _mean_plain(launch: LaunchLatencies) -> float:
    """Return the latency without profiling: of the calls that count, chosen as those with profiling are."""
    is_mean_of_all = len(launch.counted) == len(launch.profiled_ns)
    counted = range(len(launch.plain_ns)) if is_mean_of_all else [int(place) for place in middle_half(launch.plain_ns)]
    return _mean(launch.plain_ns, counted)


def _mean(latencies_ns: Sequence[int], counted: Sequence[int]) -> float:
    return sum(latencies_ns[place] for place in counted) / len(counted)


def _matched(joined: JoinedCell) -> Mapping[MatchedBy, float]:
    times = Counter[MatchedBy]()
    for operator in joined.operators:
        times[operator.matched_by] += operator.total_ns
    return {matched_by: time / times.total() for matched_by, time in times.items()} if times.total() else {}


def gpu_parts(cell: ProfiledCell, latencies_ns: Sequence[float], looks: Looks) -> GpuParts | None:
    """Return the parts of a cell's inferences; ``None`` of a cell that did not run on a GPU."""
    launches = [launch.gpu for launch in cell.launches if launch.gpu is not None]
    if not launches or len(launches) < len(cell.launches):
        return None
    between = [all_ - gpu.copy_in_ns - gpu.copy_out_ns for all_, gpu in zip(latencies_ns, launches, strict=True)]
    kernels = [gpu.kernels_ns for gpu in launches if gpu.kernels_ns is not None]
    issuing = [gpu.issuing_ns for gpu in launches if gpu.issuing_ns is not None]
    waiting = [all_ - busy for all_, busy in zip(between, kernels, strict=False)]
    has_kernels, has_issuing = len(kernels) == len(launches), len(issuing) == len(launches)
    return GpuParts(
        copy_in_ns=estimate([gpu.copy_in_ns for gpu in launches], looks),
        copy_out_ns=estimate([gpu.copy_out_ns for gpu in launches], looks),
        kernels_ns=estimate(kernels, looks) if has_kernels else None,
        waiting_ns=estimate(waiting, looks) if has_kernels else None,
        between_copies_ns=estimate(between, looks),
        issuing_ns=estimate(issuing, looks) if has_issuing else None,
        on_cpu=estimate([gpu.on_cpu_ns / all_ for all_, gpu in zip(latencies_ns, launches, strict=True)], looks),
        rounding_ns=max(gpu.rounding_ns for gpu in launches),
    )


def _headline(report: ProfileReport, losses: Mapping[str, Excess]) -> Iterator[HeadlineFacts]:
    for cell in report.cells:
        if cell.sum_ns is not None and cell.sum_ns.value > 0:
            own = [row for row in report.classes if cell.id in row.figures]
            largest, *rest = sorted(own, key=lambda row: -row.figures[cell.id].time_ns.value)
            following = rest[0].operator_class if rest else None
            excess = None if cell.is_costly else losses.get(cell.id)
            main = report.main_operators(cell.id, largest.operator_class)
            yield HeadlineFacts(cell.id, largest.operator_class, main, following, excess)


def node_groups(fused: Iterable[Sequence[str]], order: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return, by name, the nodes that are compared as one with it, in the order of the graph.

    Args:
        fused: For each operator of each backend, the names of the nodes that it computes.
        order: Names of all nodes in topological order; others come behind.
    """
    places = {name: place for place, name in enumerate(order)}
    parents: dict[str, str] = {}
    for names in fused:
        for name in names:
            parents.setdefault(name, name)
        roots = [_root(parents, name) for name in names]
        parents.update(dict.fromkeys(roots, roots[0]) if roots else {})
    members: dict[str, list[str]] = defaultdict(list)
    for name in sorted(parents, key=lambda name: (places.get(name, len(places)), name)):
        members[_root(parents, name)].append(name)
    return {name: tuple(group) for group in members.values() for name in group}


def _root(parents: dict[str, str], name: str) -> str:
    while parents[name] != name:
        parents[name] = parents[parents[name]]
        name = parents[name]
    return name


KeyOf: TypeAlias = Callable[[JoinedOperator], str]
"""Says which row an operator belongs to."""


@dataclass(frozen=True)
class RowGrouping:
    """What rows are made from.

    Attributes:
        groups: By the name of a node, the nodes that are compared as one with it; the first one names them.
        original: Nodes of the exported graph, in topological order.
    """

    cells: Sequence[JoinedCell]
    looks: Looks
    groups: Mapping[str, tuple[str, ...]]
    original: Sequence[GraphNode]
    peaks: MachinePeaks | None = None

    def key_of_node(self, operator: JoinedOperator) -> str:
        """Return the group of an operator's nodes, or the runtime's own type of an operator without nodes."""
        return self.groups[operator.original[0]][0] if operator.original else f"({operator.profile.kind})"


def key_of_class(operator: JoinedOperator) -> str:
    """Return the class of work of an operator."""
    return str(operator.operator_class)


def class_rows(grouping: RowGrouping) -> tuple[PartRow, ...]:
    """Return a row for each class of work, the largest first."""
    parts = _figures_by_row(grouping, key_of_class)
    return _largest_first(
        PartRow(key, key, operators[0].operator_class, figures=figures) for key, (operators, figures) in parts.items()
    )


def operator_rows(grouping: RowGrouping) -> tuple[PartRow, ...]:
    """Return a row for all operators that compute nodes of the same types, with the runtimes' own operators in it.

    The largest come first. One type may belong to several classes: a runtime's own operator without nodes does. What
    only moves data is named among the types of an operator if it is always in it.
    """
    parts: dict[str, list[PartRow]] = defaultdict(list)
    for operators, figures in _figures_by_row(grouping, _key_of_operator).values():
        first = operators[0]
        always = set(first.op_types).intersection(*(operator.op_types for operator in operators))
        types = tuple(name for name in first.op_types if name in always)
        part = PartRow(_key_of_operator(first), first.profile.kind, first.operator_class, types, figures=figures)
        parts[_key_of_types(first)].append(part)
    rows: list[PartRow] = []
    for key, (operators, figures) in _figures_by_row(grouping, _key_of_types).items():
        own = _largest_first(parts[key])
        types = operators[0].compared_types
        row = PartRow(key, ", ".join(types), operators[0].operator_class, types, figures=figures, parts=own)
        # a fusion that is the only one of these types is called as its runtime calls it
        is_fusion = len(types) > 1 and len(own) == 1
        rows.append(replace(row, name=own[0].name, op_types=own[0].op_types) if is_fusion else row)
    return _largest_first(rows)


def node_rows(grouping: RowGrouping) -> tuple[PartRow, ...]:
    """Return a row for each group of nodes, in the order of the graph; what computes no node comes behind."""
    nodes = {node.name: node for node in grouping.original}
    order = {name: place for place, name in enumerate(nodes)}
    rows = [
        _row_of_node(key, operators, figures, grouping.groups, nodes)
        for key, (operators, figures) in _figures_by_row(grouping, grouping.key_of_node).items()
    ]
    return tuple(sorted(rows, key=lambda row: (not row.nodes, order.get(row.key, len(order)), -row.most_ns)))


def _key_of_types(operator: JoinedOperator) -> str:
    return f"{' '.join(operator.compared_types)} {operator.operator_class}"


def _key_of_operator(operator: JoinedOperator) -> str:
    """Return the runtime's own type of an operator and the types of nodes that it computes."""
    computed = " ".join(operator.computed_types)
    return f"{operator.profile.kind}: {computed} {operator.operator_class}, {_key_of_types(operator)}"


def parts_of(cell: JoinedCell, key_of: KeyOf) -> Mapping[str, Sequence[JoinedOperator]]:
    """Return the operators of a cell by the rows that they belong to."""
    parts: dict[str, list[JoinedOperator]] = {}
    for operator in cell.operators:
        parts.setdefault(key_of(operator), []).append(operator)
    return parts


def _figures_by_row(
    grouping: RowGrouping, key_of: KeyOf
) -> Mapping[str, tuple[Sequence[JoinedOperator], Mapping[str, Figures]]]:
    """Return, by row, the operators of all cells and the figures by cell; of cells that have a launch."""
    operators: dict[str, list[JoinedOperator]] = {}
    figures: dict[str, dict[str, Figures]] = {}
    for cell in grouping.cells:
        for key, own in parts_of(cell, key_of).items() if cell.cell.launches else ():
            operators.setdefault(key, []).extend(own)
            figures.setdefault(key, {})[cell.cell.id] = _figures(cell, own, grouping)
    return {key: (own, figures[key]) for key, own in operators.items()}


def _figures(cell: JoinedCell, operators: Sequence[JoinedOperator], grouping: RowGrouping) -> Figures:
    times, sums, looks = cell.times_ns(operators), cell.sums_ns, grouping.looks
    time_ns = estimate(times, looks)
    known = [operator.flops for operator in operators if operator.flops is not None]
    worked = [operator for operator in operators if operator.has_known_work]
    inserted = [operator for operator in operators if operator.matched_by == "inserted"]
    shares = [time / total if total else 0.0 for time, total in zip(times, sums, strict=True)]
    return Figures(
        time_ns=time_ns.clamped(0.0, math.inf),
        share=estimate(shares, looks).clamped(0.0, 1.0),
        operators=len(operators),
        executions=sum(operator.profile.executions for operator in operators),
        flops=sum(known) if known else None,
        known_ns=estimate(cell.times_ns(worked), looks) if worked else None,
        inserted_ns=estimate(cell.times_ns(inserted), looks).value,
        moved_bytes=sum_of_known([operator.moved_bytes for operator in operators if operator.flops is not None]),
        peak_share=_peak_share(operators, time_ns.value, _matrix_peak(cell.cell, grouping.peaks)),
    )


def _peak_share(operators: Sequence[JoinedOperator], time_ns: float, peak: float | None) -> float | None:
    """Return the share of the peak that matrix products and convolutions attain; ``None`` of other or unknown work."""
    nodes = [operator.nodes for operator in operators if operator.operator_class is OperatorClass.MATRIX]
    are_counted = all(own and all(node.flops is not None for node in own) for own in nodes)
    if peak is None or time_ns <= 0 or len(nodes) < len(operators) or not are_counted:
        return None
    flops = sum(operator.flops or 0 for operator in operators)
    return 1e9 * flops / time_ns / peak if flops else None


def _matrix_peak(cell: ProfiledCell, peaks: MachinePeaks | None) -> float | None:
    """Return the peak of matrix products on the CPU in a cell's precision with its threads, in operations/s."""
    precision, threads = cell.effective.get("precision"), cell.effective.get("threads")
    if peaks is None or cell.device != "cpu" or not isinstance(threads, int):
        return None
    peak = peaks.compute_peak(str(precision), threads)
    return 1e9 * peak.gflop_per_s if peak is not None and peak.gflop_per_s > 0 else None


def _row_of_node(
    key: str,
    operators: Sequence[JoinedOperator],
    figures: Mapping[str, Figures],
    groups: Mapping[str, tuple[str, ...]],
    nodes: Mapping[str, GraphNode],
) -> PartRow:
    if not operators[0].original:
        kind = operators[0].profile.kind
        return PartRow(key, kind, operators[0].operator_class, (kind,), figures=figures)
    names = groups[key]
    known = [nodes[name] for name in names if name in nodes] or list(operators[0].nodes)
    main, types = main_node(known), tuple(dict.fromkeys(node.op_type for node in known))
    return PartRow(key, main.name, main.operator_class, types, names, figures)


def _largest_first(rows: Iterable[PartRow]) -> tuple[PartRow, ...]:
    return tuple(sorted(rows, key=lambda row: -row.most_ns))


def comparisons(
    grouping: RowGrouping, levels: Sequence[str], classes: Sequence[PartRow], nodes: Sequence[PartRow]
) -> tuple[LevelComparison, ...]:
    """Return what changed between two levels in each backend that has launches of both."""
    return tuple(
        LevelComparison(
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

    def change(self, row: PartRow, before: Sequence[JoinedOperator], after: Sequence[JoinedOperator]) -> PartChange:
        """Return what became of the operators of a row."""
        first, second = _times(self.before, before), _times(self.after, after)
        return PartChange(
            key=row.key,
            name=row.name,
            operator_class=row.operator_class,
            before_ns=estimate(list(first.values()), self.looks) if before else None,
            after_ns=estimate(list(second.values()), self.looks) if after else None,
            change_ns=estimate([second[launch] - first[launch] for launch in self.common], self.looks),
            operators=(len(before), len(after)),
            kinds=(_kinds(before), _kinds(after)),
        )


def _pairs(grouping: RowGrouping, levels: Sequence[str]) -> Iterable[_Pair]:
    cells = {(cell.cell.backend, cell.cell.device, cell.cell.level): cell for cell in grouping.cells}
    for (backend, device, level), before in cells.items() if levels else ():
        after = cells.get((backend, device, levels[1]))
        pair = _Pair(before, after, grouping.looks) if level == levels[0] and after is not None else None
        if pair is not None and pair.common:
            yield pair


def _changes(pair: _Pair, rows: Sequence[PartRow], key_of: KeyOf) -> tuple[PartChange, ...]:
    before, after = parts_of(pair.before, key_of), parts_of(pair.after, key_of)
    executed = (row for row in rows if row.key in before or row.key in after)
    changes = (pair.change(row, before.get(row.key, ()), after.get(row.key, ())) for row in executed)
    return tuple(sorted(changes, key=lambda change: -abs(change.change_ns.value)))


def _kinds(operators: Sequence[JoinedOperator]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(operator.profile.kind for operator in operators))


def _times(cell: JoinedCell, operators: Sequence[JoinedOperator]) -> Mapping[int, int]:
    launches = (launch.launch for launch in cell.cell.launches)
    return dict(zip(launches, cell.times_ns(operators), strict=True))


def largest_losses(grouping: RowGrouping) -> Mapping[str, Excess]:
    """Return, by the id of a cell, where it loses the most to another one, if that is certain and matters."""
    sides = [_Side(cell, _comparable(cell, grouping)) for cell in grouping.cells if cell.cell.launches]
    losses = [loss for own in sides for other in sides if other is not own for loss in _losses(own, other, grouping)]
    largest: dict[str, Excess] = {}
    for loss in sorted(losses, key=lambda loss: -loss.time_ns):
        largest.setdefault(loss.cell, loss)
    return largest


@dataclass(frozen=True)
class _Side:
    """A cell, and its operators that can be compared with those of other cells, by group of nodes."""

    cell: JoinedCell
    parts: Mapping[str, Sequence[JoinedOperator]]

    def class_of(self, key: str) -> OperatorClass:
        """Return in which class the operators of a group take the most time: a third cell may fuse several classes."""
        if key == _INSERTED:
            return OperatorClass.MOVEMENT
        times = Counter[OperatorClass]()
        for operator in self.parts[key]:
            times[operator.operator_class] += operator.total_ns
        return max(times, key=times.__getitem__)


def _comparable(cell: JoinedCell, grouping: RowGrouping) -> Mapping[str, Sequence[JoinedOperator]]:
    parts: dict[str, list[JoinedOperator]] = {_INSERTED: []}
    for operator in cell.operators:
        if operator.original:
            parts.setdefault(grouping.key_of_node(operator), []).append(operator)
        elif operator.matched_by == "inserted":
            parts[_INSERTED].append(operator)
    return parts


def _losses(own: _Side, other: _Side, grouping: RowGrouping) -> Iterator[Excess]:
    classes = {key: own.class_of(key) for key in own.parts if key in other.parts}
    for operator_class in dict.fromkeys(classes.values()):
        if operator_class in _NEVER_TOLD:
            continue
        keys = [key for key, own_class in classes.items() if own_class is operator_class]
        loss = _loss(own, other, keys, operator_class, grouping)
        if loss is not None:
            yield loss


def _loss(
    own: _Side, other: _Side, keys: Sequence[str], operator_class: OperatorClass, grouping: RowGrouping
) -> Excess | None:
    """Return what a cell loses to another in some groups; ``None`` unless that is certain and matters.

    It is certain if both have intervals that do not overlap, even if all that is unknown of the other belongs there.
    """
    mine, theirs = ([operator for key in keys for operator in side.parts[key]] for side in (own, other))
    unknown = [operator for operator in other.cell.operators if operator.matched_by == "unmatched"]
    time = estimate(own.cell.times_ns(mine), grouping.looks)
    against = estimate(other.cell.times_ns(theirs), grouping.looks)
    most = estimate(other.cell.times_ns([*theirs, *unknown]), grouping.looks)
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
