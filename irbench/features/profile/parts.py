"""Rows of a profile: what every cell spends in each class of work, operator type and group of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from irbench.features.profile.estimates import estimate
from irbench.features.profile.joining import JoinedCell, JoinedOperator
from irbench.features.profile.matching import main_node
from irbench.features.profile.record import GraphNode, ProfiledCell
from irbench.features.profile.report import Figures, PartRow
from irbench.onnx.operator_classes import OperatorClass
from irbench.roofline import MachinePeaks
from irbench.stats.intervals import Looks


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are compared as one.

    Attributes:
        key: Name of its first node, which is unique.
        nodes: Names of its nodes, in the order of the graph.
    """

    key: str
    nodes: tuple[str, ...]


def node_groups(fused: Iterable[Sequence[str]], order: Sequence[str]) -> Mapping[str, NodeGroup]:
    """Return the group of each node that some operator computes.

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
    members: dict[str, list[str]] = {}
    for name in sorted(parents, key=lambda name: (places.get(name, len(places)), name)):
        members.setdefault(_root(parents, name), []).append(name)
    groups = (NodeGroup(names[0], tuple(names)) for names in members.values())
    return {name: group for group in groups for name in group.nodes}


def _root(parents: dict[str, str], name: str) -> str:
    while parents[name] != name:
        parents[name] = parents[parents[name]]
        name = parents[name]
    return name


def matrix_peak(cell: ProfiledCell, peaks: MachinePeaks | None) -> float | None:
    """Return the peak of matrix products in a cell's precision with its threads, in operations per second.

    Args:
        cell: That ran on the machine.
        peaks: Of the machine.

    Returns:
        ``None`` on other devices than the CPU, and where no peak is known of the precision with so many threads.
    """
    precision, threads = cell.effective.get("precision"), cell.effective.get("threads")
    if peaks is None or cell.device != "cpu" or not isinstance(threads, int):
        return None
    peak = peaks.compute_peak(str(precision), threads)
    return 1e9 * peak.gflop_per_s if peak is not None and peak.gflop_per_s > 0 else None


def peak_share(operators: Sequence[JoinedOperator], time_ns: float, peak: float | None) -> float | None:
    """Return the share of the peak that operators attain, as a fraction.

    Args:
        operators: All of a part in a cell.
        time_ns: What they take in an inference together.
        peak: From :func:`matrix_peak`.

    Returns:
        ``None`` without a peak, of other classes than matrix products and convolutions, and where the operations of
        some operator are unknown.
    """
    if peak is None or time_ns <= 0 or not all(map(_is_counted_product, operators)):
        return None
    flops = sum(operator.flops or 0 for operator in operators)
    return 1e9 * flops / time_ns / peak if flops else None


def _is_counted_product(operator: JoinedOperator) -> bool:
    """Whether it belongs to the class, and all of its work is counted for it or for another operator."""
    counted = bool(operator.nodes) and all(node.flops is not None for node in operator.nodes)
    return operator.operator_class is OperatorClass.MATRIX and counted


KeyOf: TypeAlias = Callable[[JoinedOperator], str]
"""Says which row an operator belongs to."""


@dataclass(frozen=True)
class Grouping:
    """What rows are made from.

    Attributes:
        cells: All cells.
        looks: At how many launches intervals are looked at.
        groups: The group of each node, by the node's name.
        original: Nodes of the exported graph, in topological order.
        peaks: Of the machine; ``None`` where they are unknown.
    """

    cells: Sequence[JoinedCell]
    looks: Looks
    groups: Mapping[str, NodeGroup]
    original: Sequence[GraphNode]
    peaks: MachinePeaks | None = None

    def key_of_node(self, operator: JoinedOperator) -> str:
        """Return the group of an operator's nodes, or the runtime's own type of an operator without nodes."""
        return self.groups[operator.original[0]].key if operator.original else f"({operator.profile.kind})"


def key_of_class(operator: JoinedOperator) -> str:
    """Return the class of work of an operator."""
    return str(operator.operator_class)


def class_rows(grouping: Grouping) -> tuple[PartRow, ...]:
    """Return a row for each class of work, the largest first."""
    found = _parts(grouping, key_of_class)
    return _largest_first(
        PartRow(key, key, operators[0].operator_class, figures=figures) for key, (operators, figures) in found.items()
    )


def operator_rows(grouping: Grouping) -> tuple[PartRow, ...]:
    """Return a row for all operators that compute nodes of the same types, with the runtimes' own operators in it.

    The largest come first. One type may belong to several classes: a runtime's own operator without nodes does. What
    only moves data is named among the types of an operator if it is always in it.
    """
    parts: dict[str, list[PartRow]] = {}
    for operators, figures in _parts(grouping, _key_of_operator).values():
        first = operators[0]
        always = set(first.op_types).intersection(*(operator.op_types for operator in operators))
        types = tuple(name for name in first.op_types if name in always)
        own = PartRow(_key_of_operator(first), first.profile.kind, first.operator_class, types, figures=figures)
        parts.setdefault(_key_of_types(first), []).append(own)
    return _largest_first(
        _row_of_types(key, operators[0], figures, tuple(_largest_first(parts[key])))
        for key, (operators, figures) in _parts(grouping, _key_of_types).items()
    )


def node_rows(grouping: Grouping) -> tuple[PartRow, ...]:
    """Return a row for each group of nodes, in the order of the graph; what computes no node comes behind."""
    nodes = {node.name: node for node in grouping.original}
    order = {name: place for place, name in enumerate(nodes)}
    rows = [
        _row_of_node(key, operators, figures, grouping.groups, nodes)
        for key, (operators, figures) in _parts(grouping, grouping.key_of_node).items()
    ]
    return tuple(sorted(rows, key=lambda row: (not row.nodes, order.get(row.key, len(order)), -row.most_ns)))


def _key_of_types(operator: JoinedOperator) -> str:
    return f"{' '.join(operator.compared_types)} {operator.operator_class}"


def _key_of_operator(operator: JoinedOperator) -> str:
    """Return the runtime's own type of an operator and the types of nodes that it computes."""
    computed = " ".join(operator.computed_types)
    return f"{operator.profile.kind}: {computed} {operator.operator_class}, {_key_of_types(operator)}"


def _row_of_types(
    key: str, operator: JoinedOperator, figures: Mapping[str, Figures], parts: tuple[PartRow, ...]
) -> PartRow:
    """Return the row of all operators of the same types: called as the only one in it, or as these types."""
    types = operator.compared_types
    if len(types) > 1 and len(parts) == 1:
        return PartRow(key, parts[0].name, operator.operator_class, parts[0].op_types, figures=figures, parts=parts)
    return PartRow(key, ", ".join(types), operator.operator_class, types, figures=figures, parts=parts)


def parts_of(cell: JoinedCell, key_of: KeyOf) -> Mapping[str, Sequence[JoinedOperator]]:
    """Return the operators of a cell by the rows that they belong to."""
    found: dict[str, list[JoinedOperator]] = {}
    for operator in cell.operators:
        found.setdefault(key_of(operator), []).append(operator)
    return found


def _parts(grouping: Grouping, key_of: KeyOf) -> Mapping[str, tuple[Sequence[JoinedOperator], Mapping[str, Figures]]]:
    """Return, by row, the operators of all cells and the figures by cell; of cells that have a launch."""
    operators: dict[str, list[JoinedOperator]] = {}
    figures: dict[str, dict[str, Figures]] = {}
    for cell in grouping.cells:
        for key, own in parts_of(cell, key_of).items() if cell.cell.launches else ():
            operators.setdefault(key, []).extend(own)
            figures.setdefault(key, {})[cell.cell.id] = _figures(cell, own, grouping)
    return {key: (found, figures[key]) for key, found in operators.items()}


def _figures(cell: JoinedCell, operators: Sequence[JoinedOperator], grouping: Grouping) -> Figures:
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
        peak_share=peak_share(operators, time_ns.value, matrix_peak(cell.cell, grouping.peaks)),
    )


def _row_of_node(
    key: str,
    operators: Sequence[JoinedOperator],
    figures: Mapping[str, Figures],
    groups: Mapping[str, NodeGroup],
    nodes: Mapping[str, GraphNode],
) -> PartRow:
    if not operators[0].original:
        kind = operators[0].profile.kind
        return PartRow(key, kind, operators[0].operator_class, (kind,), figures=figures)
    names = groups[key].nodes
    known = [nodes[name] for name in names if name in nodes] or list(operators[0].nodes)
    main, types = main_node(known), tuple(dict.fromkeys(node.op_type for node in known))
    return PartRow(key, main.name, main.operator_class, types, names, figures)


def _largest_first(rows: Iterable[PartRow]) -> tuple[PartRow, ...]:
    return tuple(sorted(rows, key=lambda row: -row.most_ns))
