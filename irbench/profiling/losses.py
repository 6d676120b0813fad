"""What a cell loses to another one: compared are only parts that both execute, so that a fusion is no loss.

A fused operator moves work from one class to another, so classes cannot be compared as they are. Groups of nodes can:
what any cell computes in one operator is one group. Besides, operators that a runtime adds to move data are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.estimates import estimate
from irbench.profiling.joining import JoinedCell, JoinedOperator
from irbench.profiling.parts import Grouping
from irbench.profiling.report import Excess

_WORTH_TELLING = 0.02
"""The least that a cell loses in a class, as a share of its operators' time, for it to be said in words."""
_INSERTED = ""
"""Key of operators that a runtime added to move data; no node is called so."""
_NEVER_TOLD = (OperatorClass.OTHER, OperatorClass.OVERHEAD)
"""Classes in which runtimes tell different things."""


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
