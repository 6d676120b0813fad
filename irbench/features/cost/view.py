"""What a graph costs, for the terminal and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from irbench.core.plain_text import plain
from irbench.core.quantities import NOT_MEASURED, listing, plural, significant
from irbench.cost_model.costs import UNCOUNTED_TEXTS, ModelCost, UncountedNode
from irbench.cost_model.formulas import ModelFormulas, Polynomial
from irbench.features.cost.cost_rows import CostRow, CostScope, Quantity, cost_rows
from irbench.features.cost.formula_texts import bytes_text, count_text, exact_text
from irbench.onnx.operator_classes import OPERATOR_CLASS_TEXTS, OperatorClass
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR, sizes_text
from irbench.render.text_formats import csv_cells
from irbench.render.views import Document
from irbench.spec import BATCH, TensorSpec
from irbench.spec.requested_sizes import with_name_in_file

_MOST_NAMES = 5
_TERMS = " + "
"""Where a formula is folded: not between a number and its unit."""
_FACTORS = "·"
"""Where a term is broken that is too long for a line."""
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
        batch_in_file: What its file calls the batch; empty where that is not known, or no option takes it.
    """

    name: str
    cost: ModelCost
    formulas: ModelFormulas | None
    inputs: tuple[TensorSpec, ...]
    batch_in_file: str = ""

    def rows(self, scope: CostScope) -> tuple[CostRow, ...]:
        """Return the rows of one scope."""
        return cost_rows(self.cost, self.formulas, scope)

    @property
    def total(self) -> CostRow:
        """The row that sums all nodes."""
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
        writer.writerow(csv_cells(_csv_value(getattr(row, name)) for name in _COLUMN_NAMES))
    return buffer.getvalue()


def _csv_value(value: object) -> object:
    return exact_text(value) if isinstance(value, Polynomial) else "" if value is None else value


def _title(costs: GraphCosts) -> str:
    shapes = sizes_text({spec.name: spec.shape for spec in costs.inputs}, names_single=True)
    total = costs.total
    weights = f"{count_text(total.parameters)} parameters ({bytes_text(total.weight_bytes)})"
    return SEPARATOR.join((plain(costs.name), plain(shapes), weights))


def _headline(costs: GraphCosts) -> str:
    total = costs.total
    if costs.formulas is not None:
        flops, macs = _sum(total.flops, total.without_flops), _sum(total.macs, total.without_macs)
        return f"FLOP: {flops}; MACs: {macs}"
    flops, macs = _sum(total.flops, total.without_flops, "FLOP"), _sum(total.macs, total.without_macs, "MAC")
    work = f"{flops} ({macs}){_main_class(costs)}."
    if total.read_bytes is None or total.written_bytes is None:
        return f"{work} The bytes that it reads and writes are unknown."
    read, written = (_sum(size, total.without_bytes, "B") for size in (total.read_bytes, total.written_bytes))
    intensity = "" if total.flops_per_byte is None else f": {significant(total.flops_per_byte)} FLOP per byte"
    return f"{work} It reads {read} and writes {written}{intensity}."


def _sum(quantity: Quantity, missing: int, unit: str = "") -> str:
    if quantity is None:
        return f"unknown {unit}".rstrip()
    return f"at least {count_text(quantity, unit)}" if missing else count_text(quantity, unit)


def _main_class(costs: GraphCosts) -> str:
    """Return ``, 99.5 % of it in matrix products and convolutions``; nothing where the whole is not known."""
    total = costs.cost.flops
    classes = costs.cost.by_class()
    if not total or costs.cost.total.without_flops:
        return ""
    largest = max(classes, key=lambda operators: classes[operators].flops)
    return f", {_share(classes[largest].flops, total)} of it in {OPERATOR_CLASS_TEXTS[largest].phrase}"


def _class_table(costs: GraphCosts) -> ListingTable:
    rows = (_row(costs, row, (OPERATOR_CLASS_TEXTS[OperatorClass(row.name)].heading,)) for row in costs.rows("class"))
    total = _row(costs, costs.total, ("total",))
    return _listing(costs, (TableColumn("class", words=True, folds=True),), _columns(costs), (*rows, total))


def _listing(
    costs: GraphCosts, leading: tuple[TableColumn, ...], figures: tuple[TableColumn, ...], rows: tuple[Row, ...]
) -> ListingTable:
    """Return a table; formulas take so much room that each of their columns is shown, if need be below the others."""
    repeated = 0 if costs.formulas is None else len(leading)
    return ListingTable(TextTable((*leading, *figures), rows), "see --format csv", repeated)


def _detail_table(costs: GraphCosts, scope: CostScope) -> ListingTable:
    if scope == "op":
        rows = tuple(_row(costs, row, (row.name,)) for row in costs.rows(scope))
        return _listing(costs, (TableColumn("operator", words=True, folds=True),), _columns(costs), rows)
    leading = (TableColumn("node", words=True, folds=True), TableColumn("operator", words=True, folds=True))
    rows = tuple(_row(costs, row, (plain(row.name), row.operator)) for row in costs.rows(scope))
    return _listing(costs, leading, _columns(costs, counted="times"), rows)


def _columns(costs: GraphCosts, counted: str = "nodes") -> tuple[TableColumn, ...]:
    if costs.formulas is not None:
        return (
            *([TableColumn(counted)] if counted == "nodes" else []),
            TableColumn("MACs", words=True, folds=True, folds_at=_TERMS, breaks_at=_FACTORS),
            TableColumn("FLOP", words=True, folds=True, folds_at=_TERMS, breaks_at=_FACTORS),
            TableColumn("parameters"),
            TableColumn("bytes read and written", words=True, folds=True, folds_at=_TERMS, breaks_at=_FACTORS),
        )
    return (
        TableColumn(counted, drops=5),
        TableColumn("MACs", drops=6),
        TableColumn("FLOP"),
        TableColumn("of FLOP", drops=1),
        TableColumn("parameters", drops=9),
        TableColumn("weights", drops=8),
        TableColumn("read", drops=2),
        TableColumn("written", drops=3),
        TableColumn("of bytes", drops=4),
        TableColumn("FLOP/byte", drops=7),
    )


def _row(costs: GraphCosts, row: CostRow, leading: tuple[str, ...]) -> Row:
    counted = str(row.nodes) if row.executions is None else str(row.executions or NOT_MEASURED)
    macs, flops = _at_least(row.macs, row.without_macs), _at_least(row.flops, row.without_flops)
    if costs.formulas is not None:
        count = () if row.scope == "node" else (counted,)
        moved = _at_least(_moved(row), row.without_bytes, "B")
        return Row((*leading, *count, macs, flops, count_text(row.parameters), moved))
    total = costs.cost.total
    shares = (
        _share(row.flops, 0 if total.without_flops else total.flops),
        _share(_moved(row), 0 if total.without_bytes else total.moved_bytes),
    )
    intensity = significant(row.flops_per_byte)
    sizes = (count_text(row.parameters), bytes_text(row.weight_bytes))
    read, written = (_at_least(size, row.without_bytes, "B") for size in (row.read_bytes, row.written_bytes))
    return Row((*leading, counted, macs, flops, shares[0], *sizes, read, written, shares[1], intensity))


def _at_least(quantity: Quantity, missing: int, unit: str = "") -> str:
    """Return a cell of a table; a sum from which nodes are missing is marked."""
    text = count_text(quantity, unit)
    return f"≥ {text}" if missing and quantity is not None else text


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
        aliases = {costs.batch_in_file: BATCH} if costs.batch_in_file else {}
        names = (plain(with_name_in_file(name, aliases)) for name in formulas.names)
        yield f"Formulas in {listing(names)}. {_asked_for(formulas.names)}"
        yield _range(formulas)
        yield "Terms that are less than 0.05 % of another one at every size are left out; --format json has them all."
    else:
        yield from _types("Weights", costs.cost.weight_types)
        yield from _types("Activations read and written", costs.cost.activation_types)
    if costs.cost.empty:
        nothing = _first([plain(name) for name in costs.cost.empty])
        yield f"Without elements at these sizes, so that nothing behind it counts: {nothing}. Give a longer input."
    for reason, text in UNCOUNTED_TEXTS.items():
        nodes = [node for node in costs.cost.uncounted if node.reason == reason]
        if nodes:
            yield f"Not counted, {text}: {_named(nodes)}."
    missing = costs.cost.total.without_bytes
    if missing:
        yield f"Bytes do not include {plural(missing, 'node')} of unknown shape or element type."
    yield "1 MAC is 2 FLOP; docs/cost.md says what counts."


def _range(formulas: ModelFormulas) -> str:
    """Return the sizes that formulas hold for: ``The formulas hold for sizes from 1 to 4096``."""
    largest = formulas.largest
    alike = len(set(largest.values())) == 1
    ends = (
        str(next(iter(largest.values()))) if alike else listing(f"{largest[name]} ({plain(name)})" for name in largest)
    )
    step = formulas.multiple_of
    kind, rounded = ("sizes", "") if step == 1 else (f"multiples of {step}", "; sizes between are rounded")
    return f"The formulas hold for {kind} from {formulas.smallest} to {ends}{rounded}."


def _types(what: str, sizes: Mapping[str, int]) -> Iterator[str]:
    largest = sorted(sizes, key=lambda dtype: -sizes[dtype])
    shown = [dtype for dtype in largest if sizes[dtype] > _LEAST_SHARE * sum(sizes.values())]
    if len(shown) > 1:
        yield f"{what}: {listing(f'{bytes_text(sizes[dtype])} of {dtype}' for dtype in shown)}."


def _asked_for(names: Sequence[str]) -> str:
    options = ["--batch N" if name == BATCH else f"--shape {name}=N" for name in map(plain, names)]
    return f"For numbers, give sizes: {' '.join(options)}."


def _named(nodes: Sequence[UncountedNode]) -> str:
    operators: dict[str, list[str]] = {}
    for node in nodes:
        operators.setdefault(node.operator, []).append(plain(node.name))
    return "; ".join(f"{operator} ({_first(names)})" for operator, names in operators.items())


def _first(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join((*names[:_MOST_NAMES], *([f"and {more} more"] if more > 0 else [])))
