"""Costs as flat rows: the total, classes, operators and nodes, as numbers or as formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from irbench.cost_model.costs import CostSum, ModelCost, NodeCost
from irbench.cost_model.formulas import CostFormula, ModelFormulas, Polynomial

CostScope = Literal["total", "class", "op", "node"]
Quantity: TypeAlias = int | Polynomial | None
"""A number, or a formula where dimensions are dynamic; ``None`` where it is unknown."""


@dataclass(frozen=True)
class CostRow:
    """What a model, a class of operators, an operator or a node costs in one inference.

    A count is ``None`` where it is unknown for every node, and a lower bound where it is unknown for some.

    Attributes:
        operator: Of a node or an operator; empty for others.
        operator_class: The class of the node or operator, or the class itself; empty for the total.
        executions: How often a node is executed in one inference; 0 where that is unknown, ``None`` for sums
            and where costs are formulas.
        flops: Arithmetic operations, 2 for each multiply-accumulate among them.
        activation_bytes: Bytes read and written, without those of weights.
        flops_per_byte: Arithmetic intensity; ``None`` where it is unknown or a formula.
        without_macs: Nodes whose multiply-accumulates are unknown and not in the sum.
        without_flops: Nodes whose operations are unknown and not in the sum.
        without_bytes: Nodes whose bytes are unknown and not in the sum.
    """

    scope: CostScope
    name: str
    operator: str
    operator_class: str
    nodes: int
    executions: int | None
    macs: Quantity
    flops: Quantity
    parameters: int
    weight_bytes: int
    read_bytes: Quantity
    written_bytes: Quantity
    activation_bytes: Quantity
    flops_per_byte: float | None
    without_macs: int
    without_flops: int
    without_bytes: int

    def at(self, sizes: Mapping[str, int]) -> CostRow:
        """Return the row with numbers in place of formulas, at a size of each dimension that the formulas hold for.

        Raises:
            ValueError: They give no whole numbers there.
        """
        row = replace(
            self,
            macs=_number(self.macs, sizes),
            flops=_number(self.flops, sizes),
            read_bytes=_number(self.read_bytes, sizes),
            written_bytes=_number(self.written_bytes, sizes),
            activation_bytes=_number(self.activation_bytes, sizes),
        )
        return replace(row, flops_per_byte=_intensity(row))


def cost_rows(cost: ModelCost, formulas: ModelFormulas | None, scope: CostScope) -> tuple[CostRow, ...]:
    """Return the rows of one scope."""
    return tuple(_of_formulas(formulas, scope) if formulas is not None else _of_cost(cost, scope))


def _of_cost(cost: ModelCost, scope: CostScope) -> Iterator[CostRow]:
    if scope == "total":
        yield _sum_row(scope, "total", "", "", cost.total)
    elif scope == "class":
        for operators, sums in cost.by_class().items():
            yield _sum_row(scope, operators.value, "", operators.value, sums)
    elif scope == "op":
        classes = _classes(cost)
        for operator, sums in cost.by_operator().items():
            yield _sum_row(scope, operator, operator, classes[operator], sums)
    else:
        yield from map(_node_row, cost.nodes)


def _of_formulas(formulas: ModelFormulas, scope: CostScope) -> Iterator[CostRow]:
    if scope == "total":
        yield _sum_row(scope, "total", "", "", formulas.total)
    elif scope == "class":
        for operators, sums in formulas.by_class.items():
            yield _sum_row(scope, operators.value, "", operators.value, sums)
    elif scope == "op":
        classes = _classes(formulas.example)
        for operator, sums in formulas.by_operator.items():
            yield _sum_row(scope, operator, operator, classes[operator], sums)
    else:
        for node, sums in zip(formulas.example.nodes, formulas.nodes, strict=True):
            yield _formula_row(node, sums)


def _classes(cost: ModelCost) -> dict[str, str]:
    return {node.operator: node.operator_class.value for node in cost.nodes}


def _sum_row(scope: CostScope, name: str, operator: str, operator_class: str, cost: CostSum | CostFormula) -> CostRow:
    return CostRow(
        scope=scope,
        name=name,
        operator=operator,
        operator_class=operator_class,
        nodes=cost.nodes,
        executions=None,
        macs=_known(cost.macs, cost, cost.without_macs),
        flops=_known(cost.flops, cost, cost.without_flops),
        parameters=cost.parameters,
        weight_bytes=cost.weight_bytes,
        read_bytes=_known(cost.read_bytes, cost, cost.without_bytes),
        written_bytes=_known(cost.written_bytes, cost, cost.without_bytes),
        activation_bytes=_known(cost.activation_bytes, cost, cost.without_bytes),
        flops_per_byte=cost.intensity if isinstance(cost, CostSum) else None,
        without_macs=cost.without_macs,
        without_flops=cost.without_flops,
        without_bytes=cost.without_bytes,
    )


def _known(quantity: Quantity, cost: CostSum | CostFormula, missing: int) -> Quantity:
    """Return a sum; ``None`` where no node has a part in it."""
    return None if missing and missing == cost.nodes else quantity


def _node_row(node: NodeCost) -> CostRow:
    return CostRow(
        scope="node",
        name=node.name,
        operator=node.operator,
        operator_class=node.operator_class.value,
        nodes=1,
        executions=node.executions,
        macs=node.macs,
        flops=node.flops,
        parameters=node.parameters,
        weight_bytes=node.weight_bytes,
        read_bytes=node.read_bytes,
        written_bytes=node.written_bytes,
        activation_bytes=node.activation_bytes,
        flops_per_byte=node.intensity,
        without_macs=int(node.macs is None),
        without_flops=int(node.flops is None),
        without_bytes=int(node.moved_bytes is None),
    )


def _formula_row(node: NodeCost, cost: CostFormula) -> CostRow:
    return replace(
        _node_row(node),
        executions=None,
        macs=None if node.macs is None else cost.macs,
        flops=None if node.flops is None else cost.flops,
        read_bytes=None if node.read_bytes is None else cost.read_bytes,
        written_bytes=None if node.written_bytes is None else cost.written_bytes,
        activation_bytes=None if node.activation_bytes is None else cost.activation_bytes,
        flops_per_byte=None,
        without_macs=cost.without_macs,
        without_flops=cost.without_flops,
        without_bytes=cost.without_bytes,
    )


def _number(quantity: Quantity, sizes: Mapping[str, int]) -> int | None:
    if not isinstance(quantity, Polynomial):
        return quantity
    number = quantity.at(sizes)
    if number.denominator > 1:
        raise ValueError(f"The formula does not hold for {dict(sizes)}.")
    return int(number)


def _intensity(row: CostRow) -> float | None:
    if row.without_flops or row.without_bytes:
        return None
    if not isinstance(row.flops, int) or not isinstance(row.read_bytes, int) or not isinstance(row.written_bytes, int):
        return None
    moved = row.read_bytes + row.written_bytes
    return row.flops / moved if moved else None
