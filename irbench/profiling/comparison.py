"""One backend at two levels of optimisation: what became of each class of work and each group of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.estimates import Estimate, estimate
from irbench.profiling.joining import JoinedCell, JoinedOperator
from irbench.profiling.parts import Grouping, KeyOf, key_of_class, parts_of
from irbench.profiling.report import Change, Comparison, PartRow
from irbench.stats.intervals import Looks

_TOTAL = "total"


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
