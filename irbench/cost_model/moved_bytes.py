"""What a node reads and writes, if each input is read once and each output written once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from irbench.cost_model.tensors import KnownTensor, NodeView
from irbench.onnx.operator_classes import CLASSIFIED_DOMAINS

_VIEWS = frozenset(
    {
        *(
            "Constant",
            "Dropout",
            "ExpandDims",
            "Flatten",
            "Identity",
            "Optional",
            "OptionalGetElement",
            "OptionalHasElement",
        ),
        *("Reshape", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceLength", "Shape"),
        *("Size", "Squeeze", "Unsqueeze"),
    }
)
"""What only describes or renames a tensor, or does nothing in inference; runtimes move nothing for it."""
_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""What their bodies move is told by the nodes in them."""


@dataclass(frozen=True)
class MovedBytes:
    """What one execution of a node moves.

    Attributes:
        by_type: Bytes of activations that are read and written, by element type.
    """

    weights_read: int = 0
    activations_read: int = 0
    written: int = 0
    by_type: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def read(self) -> int:
        """All bytes that are read."""
        return self.weights_read + self.activations_read


_Reads: TypeAlias = Iterator[tuple[KnownTensor, int]]
"""Tensors, and how many elements of them are read."""


def moved_bytes(node: NodeView) -> MovedBytes:
    """Return what a node reads and writes.

    An operator that picks elements reads those that it picks, and its indices, not the whole table.

    Raises:
        UnknownShape: A shape or an element type is unknown.
    """
    name = node.node.op_type
    if name in _BODIES or (name in _VIEWS and node.node.domain in CLASSIFIED_DOMAINS):
        return MovedBytes()
    weights, activations, written = 0, 0, 0
    by_type: Counter[str] = Counter()
    for tensor, elements in _READS.get(name, _all_inputs)(node):
        size = tensor.bytes_of(elements)
        if tensor.is_weight:
            weights += size
        else:
            activations += size
            by_type[tensor.dtype] += size
    for tensor in node.made():
        written += tensor.size_bytes
        by_type[tensor.dtype] += tensor.size_bytes
    return MovedBytes(weights, activations, written, dict(by_type))


def _all_inputs(node: NodeView) -> _Reads:
    seen: set[str] = set()
    for name, tensor in zip(filter(None, node.node.input), node.given(), strict=True):
        if name not in seen:
            seen.add(name)
            yield tensor, tensor.elements


def _picked(node: NodeView) -> _Reads:
    """Yield as many elements of the first input as the output has, and the other inputs."""
    yield node.input(0), node.output_elements()
    yield from ((tensor, tensor.elements) for tensor in list(node.given())[1:])


def _embedded(node: NodeView) -> _Reads:
    """Yield the indices, the rows of the word, position and segment tables that are summed, scale and shift."""
    rows = node.output_elements()
    for place, _ in enumerate(node.node.input):
        if node.has_input(place):
            tensor = node.input(place)
            yield tensor, rows if place in (2, 3, 4) else tensor.elements


_READS: Mapping[str, Callable[[NodeView], _Reads]] = {
    "ArrayFeatureExtractor": _picked,
    "EmbedLayerNormalization": _embedded,
    "Gather": _picked,
    "GatherBlockQuantized": _picked,
    "GatherElements": _picked,
    "GatherND": _picked,
    "Slice": _picked,
    "TorchEmbedding": _picked,
}
