"""The contents of a graph, and the differences of two graphs, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.core.quantities import plural, significant, size_text
from irbench.cost_model.costs import ModelCost
from irbench.onnx.reading.difference import Fusion, InventoryDifference
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.onnx.reading.signature import Signature
from irbench.onnx.reading.value_shapes import ValueShape
from irbench.render.table import Row, TableColumn, TextTable
from irbench.spec import Bundle, shape_text

if TYPE_CHECKING:
    from irbench.features.inspect.report import GraphInspection

_MOST_NAMES = 10
"""So many nodes are named of each kind; JSON has them all."""


def graph_view(inspection: GraphInspection, file_bytes: int, bundle: Bundle | None) -> Group:
    """Return a graph's description: what it is, its signature, operators, weights and origin."""
    graph = inspection.inventory
    external = sum(weight.size_bytes for weight in graph.weights if weight.external)
    sizes = f"{size_text(file_bytes)}{f' and {size_text(external)} of external weights' if external else ''}"
    opsets = ", ".join(f"{domain} {version}" for domain, version in graph.opsets.items())
    inner = sum(node.inner for node in graph.nodes)
    nodes = f"{plural(len(graph.nodes), 'node')}{f' ({inner} inside other nodes)' if inner else ''}"
    parts = (nodes, f"{graph.parameters:,} parameters", sizes, f"opset {opsets}", f"IR version {graph.ir_version}")
    title = Text.assemble((plain(inspection.name), "bold"), "  ", plain(" · ".join(parts)))
    blocks: list[RenderableType] = [title]
    if inspection.signature is not None:
        blocks += ["", _signature(inspection.signature)]
    if inspection.work is not None:
        blocks += ["", Text(_work(inspection.work))]
    if inspection.values:
        blocks += ["", _values(inspection.values)]
    blocks += ["", _operators(graph), ""]
    blocks += [_weights(graph), ""] if graph.weights else []
    return Group(*blocks, *_origin(graph, bundle))


def difference_view(names: tuple[str, str], graphs: tuple[Inventory, Inventory], changes: InventoryDifference) -> Group:
    """Return what was done to the first graph to make the second."""
    before, after = (len(graph.nodes) for graph in graphs)
    title = Text.assemble((" to ".join(map(plain, names)), "bold"), f"  {before} to {plural(after, 'node')}")
    blocks: list[RenderableType] = [title]
    if not changes.operators and not changes.changed and not changes.added and not changes.removed:
        return Group(title, "", "The nodes are the same.")
    counts = sorted(changes.operators.items())
    rows = (Row((name, str(old), str(new), f"{new - old:+d}")) for name, (old, new) in counts)
    columns = (TableColumn("operator", words=True), TableColumn("before"), TableColumn("after"), TableColumn("change"))
    blocks += ["", TextTable(columns, tuple(rows))]
    if changes.fusions:
        blocks += ["", "Fused:", *(Text(f"  {times} x {_words(fusion)}") for fusion, times in changes.fusions.items())]
    fused = ", fused ones included" if changes.fusions else ""
    for heading, nodes in (
        (f"Added{fused}", [_named(node) for node in changes.added]),
        (f"Removed{fused}", [_named(node) for node in changes.removed]),
        ("Changed", [f"{old.name} ({old.operator} to {new.operator})" for old, new in changes.changed]),
    ):
        blocks += [Text(line) for line in _listing(heading, nodes)]
    return Group(*blocks)


def _values(values: Sequence[ValueShape]) -> Group:
    def elements(value: ValueShape) -> int:
        return prod(size for size in value.shape if isinstance(size, int))

    largest = sorted(values, key=elements, reverse=True)[:_MOST_NAMES]
    columns = tuple(
        TableColumn(heading, words=True, folds=heading in ("largest values", "shape"))
        for heading in ("largest values", "operator", "type", "shape")
    )
    rows = (Row((plain(value.name), value.operator, value.dtype, shape_text(value.shape))) for value in largest)
    more = len(values) - len(largest)
    lines = [Text(f"and {more} more (--format json lists all)")] if more else []
    return Group(TextTable(columns, tuple(rows)), *lines)


def _macs(count: int) -> str:
    """Return ``3.86 GMACs``, ``128 MACs``: in the unit that leaves one to three digits before the point."""
    for unit, factor in (("GMACs", 1e9), ("MMACs", 1e6), ("kMACs", 1e3)):
        if count >= factor:
            return f"{significant(count / factor)} {unit}"
    return f"{count} MACs"


def _named(node: NodeEntry) -> str:
    return f"{node.name or node.outputs[0]} ({node.operator})"


def _words(fusion: Fusion) -> str:
    parts = ", ".join(name if count == 1 else f"{count} {name}" for name, count in fusion.of)
    return f"{fusion.into} from {parts}"


def _listing(heading: str, nodes: Sequence[str]) -> Iterator[str]:
    if not nodes:
        return
    yield ""
    yield f"{heading}:"
    yield from (f"  {plain(node)}" for node in nodes[:_MOST_NAMES])
    if len(nodes) > _MOST_NAMES:
        yield f"  and {len(nodes) - _MOST_NAMES} more (--format json lists all)"


def _signature(signature: Signature) -> TextTable:
    columns = tuple(
        TableColumn(heading, words=True, folds=heading == "shape") for heading in ("", "name", "type", "shape")
    )
    both = (("input", signature.inputs), ("output", signature.outputs))
    rows = (Row((kind, spec.name, spec.dtype, shape_text(spec.shape))) for kind, specs in both for spec in specs)
    return TextTable(columns, tuple(rows))


def _work(work: ModelCost) -> str:
    """Return ``3.86 GMACs for image 1x3x224x224``."""
    inputs = ", ".join(f"{plain(spec.name)} {shape_text(spec.shape)}" for spec in work.inputs)
    counted = f"{_macs(work.macs)} for {inputs}"
    missing = len(work.without_macs)
    return f"at least {counted}; {plural(missing, 'node')} could not be counted" if missing else counted


def _operators(graph: Inventory) -> TextTable:
    columns = (TableColumn("operator", words=True), TableColumn("nodes"), TableColumn("share"))
    total = len(graph.nodes)
    rows = (Row((name, str(count), f"{count / total * 100:.0f} %")) for name, count in graph.operators.items())
    return TextTable(columns, tuple(rows))


def _weights(graph: Inventory) -> TextTable:
    columns = (TableColumn("weights", words=True), TableColumn("tensors"), TableColumn("size"))
    tensors = Counter(weight.dtype for weight in graph.weights)
    rows = (Row((dtype, str(tensors[dtype]), size_text(size))) for dtype, size in graph.weights_bytes.items())
    return TextTable(columns, tuple(rows))


def _origin(graph: Inventory, bundle: Bundle | None) -> Iterator[Text]:
    if graph.producer:
        # tf2onnx writes its commit behind its version, and None where it knows of none
        yield Text(f"written by {plain(graph.producer.removesuffix(' None'))}")
    if bundle is None:
        return
    tools = ", ".join(f"{name} {version}" for name, version in bundle.versions.items())
    yield Text(f"made from {plain(bundle.source)}{f' with {tools}' if tools else ''}")
    for artifact in bundle.artifacts:
        passes = f"after {', '.join(artifact.passes)}" if artifact.passes else "as exported"
        yield Text(f"{artifact.kind}: {passes}, {artifact.path}")
