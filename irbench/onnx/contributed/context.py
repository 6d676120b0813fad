"""What a node tells of itself while shapes are inferred, and where its outputs' types go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import onnx

Dimension: TypeAlias = int | str | None
"""A size, a name, or neither."""
Sizes: TypeAlias = Sequence[Dimension]


class UnknownInputType(LookupError):
    """The rank or a type of an input is not known."""


class NodeTypes:
    """Types of a node's inputs, its attributes, and the types of its outputs, which are set."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def has_input(self, place: int) -> bool:
        """Whether an input is given and its type is known."""
        return bool(place < self._context.get_num_inputs() and self._context.has_input(place))

    def shape(self, place: int) -> list[Dimension]:
        """Return the sizes of an input."""
        tensor = self._type(place).tensor_type
        if not tensor.HasField("shape"):
            raise UnknownInputType
        return [dimension_of(dimension) for dimension in tensor.shape.dim]

    def dtype(self, place: int) -> int:
        """Return the element type of an input; raises as :meth:`shape` does."""
        return int(self._type(place).tensor_type.elem_type)

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute's value; text as ``str``."""
        from onnx import helper

        attribute = self._context.get_attribute(name)
        if attribute is None:
            return default
        value = helper.get_attribute_value(attribute)
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    def integer(self, place: int) -> int | None:
        """Return an input that is a constant integer, or follows from shapes; ``None`` where it is neither."""
        from onnx import numpy_helper

        if not self.has_input(place):
            return None
        constant = self._context.get_input_data(place)
        if constant is not None and prod(constant.dims) == 1:
            try:
                return int(numpy_helper.to_array(constant).item())
            except ValueError:  # its content was left out
                return None
        computed = self._context.get_symbolic_input(place)
        sizes = [] if computed is None else [dimension_of(size) for size in computed.dim]
        return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], int) else None

    def inputs(self) -> int:
        """Return how many inputs there are."""
        return int(self._context.get_num_inputs())

    def set_output(self, place: int, dtype: int, shape: Sizes) -> None:
        """Set the type of an output; one that the node does not have is left out."""
        from onnx import helper

        if place < self._context.get_num_outputs():
            self._context.set_output_type(place, helper.make_tensor_type_proto(dtype, shape))

    def _type(self, place: int) -> onnx.TypeProto:
        type_ = self._context.get_input_type(place) if self.has_input(place) else None
        if type_ is None or not type_.HasField("tensor_type"):
            raise UnknownInputType
        described: onnx.TypeProto = type_
        return described


ShapeRule: TypeAlias = Callable[[NodeTypes], None]
"""Sets the types of a node's outputs; raises :class:`UnknownInputType`, or a ``LookupError``, where it cannot."""

ShapeRules: TypeAlias = Mapping[tuple[str, str], ShapeRule]
"""Rules by domain and operator."""


def plus(first: Dimension, second: Dimension) -> Dimension:
    """Return the sum of two sizes; ``None`` where it is not known."""
    return first + second if isinstance(first, int) and isinstance(second, int) else None


def times(first: Dimension, second: Dimension) -> Dimension:
    """Return the product of two sizes; ``None`` where it is not known."""
    return first * second if isinstance(first, int) and isinstance(second, int) else None


def dimension_of(dimension: onnx.TensorShapeProto.Dimension) -> Dimension:
    """Return the size of an axis, or its name; ``None`` without either."""
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value)
    return str(dimension.dim_param) or None
