"""The contents of a graph, and the differences of two graphs, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from rich.console import Group, RenderableType
from rich.text import Text

from irbench.core.plain_text import plain
from irbench.core.quantities import significant, size_text
from irbench.cost_model.costs import ModelCost
from irbench.onnx.reading.difference import Difference, Fusion
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.onnx.reading.signature import Signature
from irbench.onnx.reading.value_shapes import ValueShape
from irbench.render.table import Column, Row, TextTable
from irbench.spec import Bundle, TensorSpec, shape_text

_MOST_NAMES = 10
"""So many nodes are named of each kind; JSON has them all."""


@dataclass(frozen=True)
class Arithmetic:
    """What a graph computes.

    Attributes:
        work: How much it takes; ``None`` where nobody knows.
        values: The shapes of what its nodes compute; empty where no sizes were asked for.
    """

    work: ModelCost | None
    values: Sequence[ValueShape] = ()


def graph_view(
    name: str,
    graph: Inventory,
    signature: Signature | None,
    arithmetic: Arithmetic,
    file_bytes: int,
    bundle: Bundle | None,
) -> Group:
    """Return a graph's description: what it is, its signature, operators, weights and origin.

    Args:
        name: What to call it.
        graph: What the file holds.
        signature: Its inputs and outputs; ``None`` where irbench could not run it.
        arithmetic: How much it takes, and what it computes.
        file_bytes: Size of the file.
        bundle: The bundle it belongs to, if any.
    """
    external = sum(weight.size_bytes for weight in graph.weights if weight.external)
    sizes = f"{size_text(file_bytes)}{f' and {size_text(external)} of external weights' if external else ''}"
    opsets = ", ".join(f"{domain} {version}" for domain, version in graph.opsets.items())
    inner = sum(node.inner for node in graph.nodes)
    nodes = f"{_nodes(len(graph.nodes))}{f' ({inner} inside other nodes)' if inner else ''}"
    parts = (nodes, f"{graph.parameters:,} parameters", sizes, f"opset {opsets}", f"IR version {graph.ir_version}")
    title = Text.assemble((plain(name), "bold"), "  ", plain(" · ".join(parts)))
    blocks: list[RenderableType] = [title]
    if signature is not None:
        blocks += ["", _signature(signature)]
    if arithmetic.work is not None:
        blocks += ["", Text(_work(arithmetic.work))]
    if arithmetic.values:
        blocks += ["", _values(arithmetic.values)]
    blocks += ["", _operators(graph), ""]
    blocks += [_weights(graph), ""] if graph.weights else []
    return Group(*blocks, *_origin(graph, bundle))


def difference_view(names: tuple[str, str], graphs: tuple[Inventory, Inventory], found: Difference) -> Group:
    """Return what was done to the first graph to make the second."""
    before, after = (len(graph.nodes) for graph in graphs)
    title = Text.assemble((" to ".join(map(plain, names)), "bold"), f"  {before} to {_nodes(after)}")
    blocks: list[RenderableType] = [title]
    if not found.operators and not found.changed and not found.added and not found.removed:
        return Group(title, "", "The nodes are the same.")
    rows = (Row((name, str(old), str(new), f"{new - old:+d}")) for name, (old, new) in sorted(found.operators.items()))
    columns = (Column("operator", words=True), Column("before"), Column("after"), Column("change"))
    blocks += ["", TextTable(columns, tuple(rows))]
    if found.fusions:
        blocks += ["", "Fused:", *(Text(f"  {times} x {_words(fusion)}") for fusion, times in found.fusions.items())]
    fused = ", fused ones included" if found.fusions else ""
    for heading, nodes in (
        (f"Added{fused}", [_named(node) for node in found.added]),
        (f"Removed{fused}", [_named(node) for node in found.removed]),
        ("Changed", [f"{old.name} ({old.operator} to {new.operator})" for old, new in found.changed]),
    ):
        blocks += [Text(line) for line in _listing(heading, nodes)]
    return Group(*blocks)


def _values(values: Sequence[ValueShape]) -> Group:
    """Return the largest values of a graph, with their shapes."""
    largest = sorted(values, key=_elements, reverse=True)[:_MOST_NAMES]
    columns = tuple(
        Column(heading, words=True, folds=heading in ("largest values", "shape"))
        for heading in ("largest values", "operator", "type", "shape")
    )
    rows = ((plain(value.name), value.operator, value.dtype, shape_text(value.shape)) for value in largest)
    more = len(values) - len(largest)
    lines = [Text(f"and {more} more (--format json lists all)")] if more else []
    return Group(TextTable(columns, tuple(Row(cells) for cells in rows)), *lines)


def macs_text(count: int) -> str:
    """Return ``3.86 GMACs``, ``128 MACs``: in the unit that leaves one to three digits before the point."""
    for unit, factor in (("GMACs", 1e9), ("MMACs", 1e6), ("kMACs", 1e3)):
        if count >= factor:
            return f"{significant(count / factor)} {unit}"
    return f"{count} MACs"


def _elements(value: ValueShape) -> int:
    """Return how many elements a value has, with 1 for a size that is unknown."""
    return prod(size for size in value.shape if isinstance(size, int))


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


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
    columns = tuple(Column(heading, words=True, folds=heading == "shape") for heading in ("", "name", "type", "shape"))
    both = (("input", signature.inputs), ("output", signature.outputs))
    rows = (_tensor(kind, spec) for kind, specs in both for spec in specs)
    return TextTable(columns, tuple(Row(cells) for cells in rows))


def _tensor(kind: str, spec: TensorSpec) -> tuple[str, ...]:
    return kind, spec.name, spec.dtype, _sizes(spec)


def _sizes(spec: TensorSpec) -> str:
    return shape_text(spec.shape)


def _work(work: ModelCost) -> str:
    """Return ``3.86 GMACs for image 1x3x224x224``."""
    inputs = ", ".join(f"{plain(spec.name)} {_sizes(spec)}" for spec in work.inputs)
    counted = f"{macs_text(work.macs)} for {inputs}"
    missing = len(work.without_macs)
    return f"at least {counted}; {_nodes(missing)} could not be counted" if missing else counted


def _operators(graph: Inventory) -> TextTable:
    columns = (Column("operator", words=True), Column("nodes"), Column("share"))
    total = len(graph.nodes)
    return TextTable(
        columns,
        tuple(Row((name, str(count), f"{count / total * 100:.0f} %")) for name, count in graph.operators.items()),
    )


def _weights(graph: Inventory) -> TextTable:
    columns = (Column("weights", words=True), Column("tensors"), Column("size"))
    tensors: Mapping[str, int] = {
        dtype: sum(weight.dtype == dtype for weight in graph.weights) for dtype in graph.weights_bytes
    }
    rows = ((dtype, str(tensors[dtype]), size_text(size)) for dtype, size in graph.weights_bytes.items())
    return TextTable(columns, tuple(Row(cells) for cells in rows))


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
