"""Let operations on rows work on the grouping of rows that needs the fewest reshapes.

1. Operations on rows between reshapes that only regroup rows     -> the same on the other grouping, without them

:mod:`irbench.optimizer.rewrite.row_regions` says what such operations are. They change to the other grouping only
together with all that they exchange rows with, or with as much of it as saves most, and only where fewer reshapes are
left. Convolutions and attention ask for groupings of their own, and what stands between them can be in either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import product, sizes_of
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.rewrite.edit import clean, insert, insert_reshape, replace
from irbench.optimizer.rewrite.row_regions import Grouping, Region, is_regrouped, neighbours, row_operands
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _settle_reshapes(model: ir.Model) -> bool:
    infer(model)
    changed = False
    while (region := _best(model)) is not None:
        _regroup(region)
        clean(model)
        changed = True
    return changed


def _best(model: ir.Model) -> Region | None:
    """Return the first region that needs fewer reshapes when it is grouped otherwise."""
    places = {node: place for place, node in enumerate(model.graph)}
    seen: set[tuple[ir.Node, Grouping]] = set()
    for start, grouping in _starts(model):
        if (start, grouping) in seen:
            continue
        region = _grown(start, grouping, places)
        seen |= {(node, grouping) for node in region.nodes}
        smaller = _trimmed(region)
        if smaller.cost() < 0:
            return smaller
    return None


def _starts(model: ir.Model) -> Iterator[tuple[ir.Node, Grouping]]:
    """Yield what stands before or behind a change of grouping, and the grouping on its other side."""
    for node in model.graph:
        source, result = node.inputs[0] if node.inputs else None, node.outputs[0]
        before, after = sizes_of(source), sizes_of(result)
        if source is None or not is_regrouped(result) or not before or not after or before[-1] != after[-1]:
            continue
        if product(before[:-1]) != product(after[:-1]) or before == after:
            continue
        forth = Grouping(tuple(after[:-1]), tuple(before[:-1]))
        yield from ((use.node, forth) for use in result.uses() if _works_on(use.node, forth, node))
        back, producer = Grouping(forth.new, forth.old), source.producer()
        if producer is not None and _works_on(producer, back, node):
            yield producer, back


def _works_on(node: ir.Node, grouping: Grouping, beside: ir.Node) -> bool:
    return node.graph is beside.graph and row_operands(node) is not None and grouping.is_old(node.outputs[0])


def _grown(start: ir.Node, grouping: Grouping, places: dict[ir.Node, int]) -> Region:
    found, unseen = {start}, [start]
    while unseen:
        for node in neighbours(unseen.pop()):
            if node in places and node not in found and _works_on(node, grouping, start):
                found.add(node)
                unseen.append(node)
    return Region(tuple(sorted(found, key=places.__getitem__)), grouping)


def _trimmed(region: Region) -> Region:
    """Leave out operations, from the last one on and from the first one on, that no reshape is saved by."""
    for order in (region.nodes[::-1], region.nodes):
        for node in order:
            smaller = region.without(node)
            if smaller.cost_around(node) <= region.cost_around(node):
                region = smaller
    return region


def _regroup(region: Region) -> None:
    """Rule 1."""
    made: dict[ir.Value, ir.Value] = {}
    for value in region.sources:
        made[value] = _regrouped(value, region)
    for node in region.nodes:
        attributes: dict[str, Any] = dict(node.attributes)
        rows = row_operands(node) or ()
        operands = [made[value] if value is not None and value in rows else value for value in node.inputs]
        if "axis" in attributes:
            attributes["axis"] = -1
        result = insert(node, node.op_type, operands, attributes)
        result.type = node.outputs[0].type
        set_sizes(result, region.grouping.after(node.outputs[0]))
        made[node.outputs[0]] = result
    for value in region.results:
        _hand_out(value, made[value], region)


def _regrouped(value: ir.Value, region: Region) -> ir.Value:
    wanted, node = region.grouping.after(value), value.producer()
    source = node.inputs[0] if node is not None and is_regrouped(value) else value
    if source is None:
        return value
    if sizes_of(source) == wanted:
        return source
    first = next(node for node in region.nodes if value in node.inputs)
    made = insert_reshape(first, source, wanted)
    assert made is not None  # otherwise the region has no cost
    return made


def _hand_out(value: ir.Value, made: ir.Value, region: Region) -> None:
    """Let readers outside read a result as it is grouped now, or as they ask for it."""
    reshaping = region.reshaping(value)
    for node in reshaping:
        result = node.outputs[0]
        wanted = sizes_of(result) or ()
        given = made if sizes_of(made) == wanted else insert_reshape(node, made, wanted)
        assert given is not None
        replace(result, given)
    producer = value.producer()
    rest = len(region.readers(value)) > len(reshaping)
    if producer is not None and (rest or value.is_graph_output()):
        again = insert_reshape(producer, made, sizes_of(value) or ())
        assert again is not None
        replace(value, again)


settle_reshapes: Pass = Rewrite(
    "settle_reshapes", "operations on rows grouped so that the fewest reshapes are left", _settle_reshapes
)
"""Behind all fusions: their patterns know reshapes where exporters write them."""
