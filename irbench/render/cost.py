"""What a graph costs, for the terminal and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from irbench.cost_model.costs import ModelCost, UncountedNode, UncountedReason
from irbench.cost_model.formulas import ModelFormulas
from irbench.cost_model.polynomials import Polynomial
from irbench.cost_model.rows import CostRow, CostScope, Quantity, cost_rows
from irbench.onnx.operator_classes import OperatorClass
from irbench.render.cost_quantities import bytes_text, count_text, exact_text
from irbench.render.figures import NOT_MEASURED, significant
from irbench.render.line_wrapping import plain
from irbench.render.operator_class_texts import OPERATOR_CLASS_TEXTS
from irbench.render.quantities import listing, plural
from irbench.render.table import Column, Row, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.verification import Document
from irbench.spec import TensorSpec, shape_text

__all__ = ["UNCOUNTED_TEXTS", "GraphCosts", "cost_csv", "cost_view"]

UNCOUNTED_TEXTS: Mapping[UncountedReason, str] = {
    "no-rule": "no rule for the operator",
    "unknown-shape": "a shape is unknown",
    "unknown-trip-count": "how often the loop turns is unknown",
}
_MOST_NAMES = 5
_LEAST_SHARE = 0.001
"""Of all bytes: element types of sizes and axes are not named."""
_COLUMN_NAMES = tuple(column.name for column in fields(CostRow))


@dataclass(frozen=True)
class GraphCosts:
    """A graph's costs, and what it is called.

    Attributes:
        name: Its name.
        cost: What it costs; at an example's sizes where there are formulas.
        formulas: Costs in its dynamic dimensions; ``None`` where every dimension has a size.
        inputs: Its inputs, with the sizes that were asked for.
    """

    name: str
    cost: ModelCost
    formulas: ModelFormulas | None
    inputs: tuple[TensorSpec, ...]

    def rows(self, scope: CostScope) -> tuple[CostRow, ...]:
        """Return the rows of one scope."""
        return cost_rows(self.cost, self.formulas, scope)

    @property
    def total(self) -> CostRow:
        """The row of all nodes."""
        return self.rows("total")[0]


def cost_view(costs: GraphCosts, *, per_node: bool = False) -> Document:
    """Return what a graph costs: in one sentence, by class, by operator or by node, and what could not be counted."""
    detail = _detail_table(costs, "node" if per_node else "op")
    return Document((_title(costs), _headline(costs), _class_table(costs), detail, *_notes(costs)))


def cost_csv(costs: GraphCosts, *, per_node: bool = False) -> str:
    """Return comma-separated rows: the total, the classes, the operators and, where asked for, the nodes."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_COLUMN_NAMES)
    scopes: tuple[CostScope, ...] = ("total", "class", "op", *(("node",) if per_node else ()))
    for row in (row for scope in scopes for row in costs.rows(scope)):
        writer.writerow(_csv_cell(getattr(row, name)) for name in _COLUMN_NAMES)
    return buffer.getvalue()


def _csv_cell(value: object) -> object:
    return exact_text(value) if isinstance(value, Polynomial) else "" if value is None else value


def _title(costs: GraphCosts) -> str:
    shapes = ", ".join(f"{spec.name} {shape_text(spec.shape)}" for spec in costs.inputs)
    total = costs.total
    weights = f"{count_text(total.parameters)} parameters ({bytes_text(total.weight_bytes)})"
    return SEPARATOR.join((plain(costs.name), plain(shapes), weights))


def _headline(costs: GraphCosts) -> str:
    """Return the sums in a sentence, and what most of the arithmetic is; the table has the formulas of bytes."""
    total = costs.total
    least = "at least " if total.without_flops else ""
    if costs.formulas is not None:
        return f"FLOP: {least}{count_text(total.flops)}; MACs: {count_text(total.macs)}"
    work = f"{least}{count_text(total.flops, 'FLOP')} ({count_text(total.macs, 'MAC')})"
    main = _main_class(costs)
    moved = f"It reads {bytes_text(total.read_bytes)} and writes {bytes_text(total.written_bytes)}"
    intensity = "" if total.flops_per_byte is None else f": {significant(total.flops_per_byte)} FLOP per byte"
    return f"{work}{main}. {moved}{intensity}."


def _main_class(costs: GraphCosts) -> str:
    """Return ``, 99.5 % of it in matrix products and convolutions``."""
    total = costs.cost.flops
    classes = costs.cost.by_class()
    if not total:
        return ""
    largest = max(classes, key=lambda operators: classes[operators].flops)
    return f", {_share(classes[largest].flops, total)} of it in {OPERATOR_CLASS_TEXTS[largest]}"


def _class_table(costs: GraphCosts) -> TextTable:
    rows = (_row(costs, row, (OPERATOR_CLASS_TEXTS[OperatorClass(row.name)],)) for row in costs.rows("class"))
    total = _row(costs, costs.total, ("total",))
    return TextTable((Column("class", words=True, folds=True), *_columns(costs)), (*rows, total))


def _detail_table(costs: GraphCosts, scope: CostScope) -> TextTable:
    """Return a row for each operator, or for each node with its operator."""
    if scope == "op":
        rows = tuple(_row(costs, row, (row.name,)) for row in costs.rows(scope))
        return TextTable((Column("operator", words=True, folds=True), *_columns(costs)), rows)
    leading = (Column("node", words=True, folds=True), Column("operator", words=True, folds=True))
    rows = tuple(_row(costs, row, (plain(row.name), row.operator)) for row in costs.rows(scope))
    return TextTable((*leading, *_columns(costs, counted="times")), rows)


def _columns(costs: GraphCosts, counted: str = "nodes") -> tuple[Column, ...]:
    if costs.formulas is not None:
        return (
            *([Column(counted, drops=3)] if counted == "nodes" else []),
            Column("MACs", words=True, folds=True),
            Column("FLOP", words=True, folds=True),
            Column("parameters", drops=2),
            Column("bytes read and written", words=True, folds=True, drops=1),
        )
    return (
        Column(counted),
        Column("MACs"),
        Column("FLOP"),
        Column("of FLOP"),
        Column("parameters", drops=3),
        Column("weights", drops=2),
        Column("read"),
        Column("written"),
        Column("of bytes"),
        Column("FLOP/byte", drops=1),
    )


def _row(costs: GraphCosts, row: CostRow, leading: tuple[str, ...]) -> Row:
    counted = str(row.nodes) if row.executions is None else str(row.executions or NOT_MEASURED)
    macs, flops = (_at_least(row, count_text(quantity)) for quantity in (row.macs, row.flops))
    if costs.formulas is not None:
        count = () if row.scope == "node" else (counted,)
        return Row((*leading, *count, macs, flops, count_text(row.parameters), bytes_text(_moved(row))))
    total = costs.cost.total
    shares = _share(row.flops, total.flops), _share(_moved(row), total.moved_bytes)
    intensity = significant(row.flops_per_byte)
    sizes = (count_text(row.parameters), bytes_text(row.weight_bytes))
    moved = (bytes_text(row.read_bytes), bytes_text(row.written_bytes))
    return Row((*leading, counted, macs, flops, shares[0], *sizes, *moved, shares[1], intensity))


def _at_least(row: CostRow, text: str) -> str:
    """Mark a sum from which nodes are missing."""
    return f"≥ {text}" if row.without_flops and row.scope != "node" and text != NOT_MEASURED else text


def _moved(row: CostRow) -> Quantity:
    read, written = row.read_bytes, row.written_bytes
    if isinstance(read, Polynomial) and isinstance(written, Polynomial):
        return read + written
    return read + written if isinstance(read, int) and isinstance(written, int) else None


def _share(part: Quantity, whole: int) -> str:
    if not isinstance(part, int) or not whole:
        return NOT_MEASURED
    return f"{100 * part / whole:.1f} %"


def _notes(costs: GraphCosts) -> Iterator[str]:
    formulas = costs.formulas
    if formulas is not None:
        yield f"Formulas in {listing(map(plain, formulas.names))}. {_asked_for(formulas.names)}"
        yield "Terms that no size makes 0.05 % of another are left out; json and csv have them."
        if formulas.multiple_of > 1:
            yield f"They hold where each of these is a multiple of {formulas.multiple_of}; sizes between are rounded."
    else:
        yield from _types("Weights", costs.cost.weight_types)
        yield from _types("Activations read and written", costs.cost.activation_types)
    for reason, text in UNCOUNTED_TEXTS.items():
        nodes = [node for node in costs.cost.uncounted if node.reason == reason]
        if nodes:
            yield f"Not counted, {text}: {_named(nodes)}."
    missing = costs.cost.total.without_bytes
    if missing:
        yield f"Bytes do not include {plural(missing, 'node')} of unknown shape or element type."
    yield "1 MAC is 2 FLOP; docs/cost.md says what counts."


def _types(what: str, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the bytes of each element type, where there are several that show."""
    largest = sorted(sizes, key=lambda dtype: -sizes[dtype])
    shown = [dtype for dtype in largest if sizes[dtype] > _LEAST_SHARE * sum(sizes.values())]
    if len(shown) > 1:
        yield f"{what}: {listing(f'{bytes_text(sizes[dtype])} of {dtype}' for dtype in shown)}."


def _asked_for(names: Sequence[str]) -> str:
    options = ["--batch N" if name == "batch" else f"--shape {name}=N" for name in map(plain, names)]
    return f"For numbers, give sizes: {' '.join(options)}."


def _named(nodes: Sequence[UncountedNode]) -> str:
    """Return operators with the names of their nodes, the first few of each."""
    operators: dict[str, list[str]] = {}
    for node in nodes:
        operators.setdefault(node.operator, []).append(plain(node.name))
    return "; ".join(f"{operator} ({_first(names)})" for operator, names in operators.items())


def _first(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join((*names[:_MOST_NAMES], *([f"and {more} more"] if more > 0 else [])))
