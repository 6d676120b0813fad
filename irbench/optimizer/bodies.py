"""The branches of If and the bodies of Loop and Scan: which there are, and which a graph still has after a pass.

Passes change graphs in place, so each body is numbered once, before the first pass, in memory that no file holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irbench.onnx.body_shapes import bodies_of
from irbench.optimizer.rewrite.edit import weight
from irbench.optimizer.rewrite.randomness import is_random

if TYPE_CHECKING:
    import onnx_ir as ir

_KEY = "irbench_body"
_TRACED = ("If", "Loop", "Scan")
_OF_SHAPES = ("Shape", "Size")

Sources = Mapping["ir.Value", Sequence["ir.Value | None"]]
"""What the inputs of bodies are computed from."""


@dataclass(frozen=True)
class Body:
    """A branch of an If, or the body of a Loop or Scan.

    Attributes:
        number: Its place in the order of the graph, from 0.
        operator: ``If``, ``Loop`` or ``Scan``.
        node: The node's name, or that of its first output where it has none.
        part: The attribute that holds it, ``then_branch`` for example.
        outer: Numbers of the bodies that it is inside of, outermost first.
        data_decides: Whether values of inputs, not only their shapes, decide if or how often it is executed.
        never: Whether a constant condition excludes it.
    """

    number: int
    operator: str
    node: str
    part: str
    outer: tuple[int, ...] = ()
    data_decides: bool = True
    never: bool = False


def number_bodies(model: ir.Model) -> tuple[Body, ...]:
    """Number the bodies of a model's If, Loop and Scan, and return what they are; those inside functions have none."""
    found: list[Body] = []
    sources = _sources(model)

    def visit(graph: ir.Graph, outer: tuple[int, ...]) -> None:
        for node in graph:
            for part, body in parts_of(node):
                number = len(found)
                body.meta[_KEY] = number
                found.append(_described(node, part, number, outer, sources))
                visit(body, (*outer, number))

    visit(model.graph, ())
    return tuple(found)


def number_of(body: ir.Graph) -> int | None:
    """Return the number that a body was given, ``None`` for one that a pass has written."""
    number: int | None = body.meta.get(_KEY)
    return number


def bodies_in(model: ir.Model) -> Iterator[int]:
    """Yield the number of each numbered body that a model still has; outer ones come first."""
    for node in model.graph.all_nodes():
        for _, body in parts_of(node):
            number = number_of(body)
            if number is not None:
                yield number


def parts_of(node: ir.Node) -> Iterator[tuple[str, ir.Graph]]:
    """Yield the bodies of an If, Loop or Scan of ONNX's own, each with the attribute that holds it."""
    if node.domain == "" and node.op_type in _TRACED:
        names = [name for name, attribute in node.attributes.items() if attribute.type.name == "GRAPH"]
        yield from zip(names, bodies_of(node), strict=True)


def _described(node: ir.Node, part: str, number: int, outer: tuple[int, ...], sources: Sources) -> Body:
    condition = weight(node.inputs[0]) if node.op_type == "If" else None
    never = condition is not None and bool(condition.all()) != (part == "then_branch")
    decides = _depend_on_data(_deciding(node), sources)
    name = node.name or str(node.outputs[0].name)
    return Body(number, node.op_type, name, part, outer, decides, never)


def _deciding(node: ir.Node) -> Sequence[ir.Value | None]:
    if node.op_type == "If":
        return node.inputs[:1]
    return (*node.inputs[:2], node.attributes["body"].as_graph().outputs[0]) if node.op_type == "Loop" else ()


def _sources(model: ir.Model) -> Sources:
    """Return what each state of a Loop or Scan, and each step of a sequence, is computed from."""
    sources: dict[ir.Value, Sequence[ir.Value | None]] = {}
    for node in model.graph.all_nodes():
        for _, body in parts_of(node):
            if node.op_type == "Loop":
                sources |= dict.fromkeys(body.inputs[:2], ())
                states = zip(body.inputs[2:], node.inputs[2:], body.outputs[1:], strict=False)
                sources |= {value: (start, after) for value, start, after in states}
            elif node.op_type == "Scan":
                sources |= dict.fromkeys(body.inputs, node.inputs)
    return sources


def _depend_on_data(values: Sequence[ir.Value | None], sources: Sources) -> bool:
    """Whether values of an input of the model lead to some values, other than through shapes."""
    waiting = list(values)
    seen: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value is None or value.const_value is not None or value in seen:
            continue
        seen.add(value)
        node = value.producer()
        before = sources.get(value) if node is None else _read_by(node)
        if before is None:
            return True
        waiting.extend(before)
    return False


def _read_by(node: ir.Node) -> Sequence[ir.Value | None] | None:
    """Return the values that decide what a node gives; ``None`` where chance does."""
    if is_random(node):
        return None
    if node.domain == "" and node.op_type in _OF_SHAPES:
        return ()
    return (*node.inputs, *(output for body in bodies_of(node) for output in body.outputs))
