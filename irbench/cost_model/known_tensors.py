"""What is known of the tensors of a graph where a node stands: shapes, element types, weights, small integers."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from irbench.onnx.reading.element_types import NAMES, bits_of
from irbench.onnx.reading.small_values import SmallValues

if TYPE_CHECKING:
    import onnx

_MAX_INTEGERS = 64
"""Axes, sizes and trip counts are shorter; longer constants are weights."""


class UnknownShape(LookupError):
    """A shape, an element type or a constant is needed and not known."""


@dataclass(frozen=True)
class KnownTensor:
    """What is known of one tensor.

    Attributes:
        dtype: Its element type; empty where it is unknown.
        shape: Sizes of its axes; ``None`` where one of them is unknown.
    """

    dtype: str
    shape: tuple[int, ...] | None
    is_weight: bool = False

    @property
    def elements(self) -> int:
        """How many values it has."""
        if self.shape is None:
            raise UnknownShape
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """How many bytes its values take; 4-bit types take half a byte each."""
        return self.bytes_of(self.elements)

    @property
    def stored_bytes(self) -> int:
        """How many bytes a file holds of it; 0 for strings, whose size depends on their content."""
        return (self.elements * bits_of(self.dtype) + 7) // 8

    def bytes_of(self, elements: int) -> int:
        """Return how many bytes so many of its values take; raises as :attr:`size_bytes` does."""
        bits = bits_of(self.dtype)
        if not bits:
            raise UnknownShape
        return (elements * bits + 7) // 8


_UNKNOWN = KnownTensor("", None)


@dataclass(frozen=True)
class Scope:
    """The tensors and small constant integers that a node can see, by name."""

    tensors: Mapping[str, KnownTensor]
    integers: Mapping[str, tuple[int, ...]]


def scope_of(graph: onnx.GraphProto, outer: Scope | None = None, values: SmallValues | None = None) -> Scope:
    """Return what the nodes of a graph see."""
    tensors = {value.name: _described(value) for value in (*graph.input, *graph.output, *graph.value_info)}
    integers: dict[str, tuple[int, ...]] = {
        name: tuple(int(number) for number in value.reshape(-1))
        for name, value in (values or {}).items()
        if value.dtype.kind in "iu"
    }
    integers |= dict(_listed_integers(graph))
    for name, content in _contents(graph):
        tensors[name] = KnownTensor(NAMES.get(content.data_type, ""), tuple(content.dims), is_weight=True)
        if (numbers := _integers(content)) is not None:
            integers[name] = numbers
    if outer is None:
        return Scope(tensors, integers)
    return Scope(ChainMap(tensors, *_maps(outer.tensors)), ChainMap(integers, *_maps(outer.integers)))


class NodeView:
    """A node with what is known of its tensors: what rules are given.

    Whatever is asked of a tensor that is not there, or that is not known, raises :class:`UnknownShape`.
    """

    def __init__(self, node: onnx.NodeProto, scope: Scope) -> None:
        self.node = node
        self.scope = scope
        self._attributes = {attribute.name: attribute for attribute in node.attribute}

    def has_input(self, place: int) -> bool:
        """Whether an optional input is given."""
        return place < len(self.node.input) and bool(self.node.input[place])

    def input(self, place: int) -> KnownTensor:
        """Return an input."""
        return self._tensor(self.node.input, place)

    def output(self, place: int) -> KnownTensor:
        """Return an output; raises as :meth:`input` does."""
        return self._tensor(self.node.output, place)

    def input_shape(self, place: int) -> tuple[int, ...]:
        """Return the sizes of an input; raises as :meth:`input` does."""
        return _known(self.input(place).shape)

    def output_shape(self, place: int = 0) -> tuple[int, ...]:
        """Return the sizes of an output; raises as :meth:`input` does."""
        return _known(self.output(place).shape)

    def input_elements(self, place: int = 0) -> int:
        """Return how many values an input has; raises as :meth:`input` does."""
        return prod(self.input_shape(place))

    def output_elements(self, place: int = 0) -> int:
        """Return how many values an output has; raises as :meth:`input` does."""
        return prod(self.output_shape(place))

    def integers(self, place: int) -> tuple[int, ...]:
        """Return the elements of an input that is a small constant."""
        name = self.node.input[place] if self.has_input(place) else ""
        if name not in self.scope.integers:
            raise UnknownShape
        return self.scope.integers[name]

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute's value; text as ``str``."""
        from onnx import helper

        if name not in self._attributes:
            return default
        value = helper.get_attribute_value(self._attributes[name])
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    def input_tensors(self) -> Iterator[KnownTensor]:
        """Yield the inputs that are given; nothing is known of some."""
        for name in self.node.input:
            if name:
                yield self.scope.tensors.get(name, _UNKNOWN)

    def output_tensors(self) -> Iterator[KnownTensor]:
        """Yield the outputs that have names; nothing is known of some."""
        for name in self.node.output:
            if name:
                yield self.scope.tensors.get(name, _UNKNOWN)

    def _tensor(self, names: Sequence[str], place: int) -> KnownTensor:
        name = names[place] if place < len(names) else ""
        if not name or name not in self.scope.tensors:
            raise UnknownShape
        return self.scope.tensors[name]


def _maps(seen: Mapping[str, Any]) -> list[Any]:
    """Return what a graph sees, innermost first; to copy it for each of its bodies would take quadratic time."""
    return seen.maps if isinstance(seen, ChainMap) else [seen]


def _known(shape: tuple[int, ...] | None) -> tuple[int, ...]:
    if shape is None:
        raise UnknownShape
    return shape


def _described(value: onnx.ValueInfoProto) -> KnownTensor:
    described = value.type.tensor_type
    dtype = NAMES.get(described.elem_type, "")
    if not described.HasField("shape"):
        return KnownTensor(dtype, None)
    sizes = [dimension.dim_value if dimension.HasField("dim_value") else -1 for dimension in described.shape.dim]
    return KnownTensor(dtype, tuple(sizes) if all(size >= 0 for size in sizes) else None)


def _contents(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    for initializer in graph.initializer:
        yield initializer.name, initializer
    for name, attribute in _constants(graph):
        if attribute.HasField("t"):
            yield name, attribute.t


def _listed_integers(graph: onnx.GraphProto) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, attribute in _constants(graph):
        if attribute.name == "value_int":
            yield name, (attribute.i,)
        elif attribute.name == "value_ints":
            yield name, tuple(attribute.ints)


def _constants(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.AttributeProto]]:
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            for attribute in node.attribute:
                yield node.output[0], attribute


def _integers(tensor: onnx.TensorProto) -> tuple[int, ...] | None:
    from onnx import TensorProto, numpy_helper

    if tensor.data_type not in (TensorProto.INT64, TensorProto.INT32) or prod(tensor.dims) > _MAX_INTEGERS:
        return None
    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    try:
        return tuple(int(number) for number in numpy_helper.to_array(tensor).reshape(-1))
    except ValueError:  # its content was left out
        return None


LINEAR_SAMPLE = 7
"""Four products and three sums interpolate between four neighbours."""


class Work(NamedTuple):
    """What a node computes."""

    macs: int = 0
    others: int = 0

    @property
    def flops(self) -> int:
        """All operations: two for each multiply-accumulate."""
        return 2 * self.macs + self.others


Rule: TypeAlias = Callable[[NodeView], Work]
"""Counts the work of a node; raises :class:`~irbench.cost_model.known_tensors.UnknownShape` where it cannot."""

Rules: TypeAlias = Mapping[str, Rule]
"""Rules by operator; a name means the same in every domain that is classified."""
