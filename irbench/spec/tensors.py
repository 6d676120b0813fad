"""Tensors: names, element types and shapes."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

_Number: TypeAlias = Fraction
_LONGEST = 200
"""Characters of an expression that is read; no exporter writes longer ones."""
_LARGEST = 2**62

_OPERATORS: Mapping[type[ast.operator], Callable[[_Number, _Number], _Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
    ast.Mod: operator.mod,
}
_FUNCTIONS: Mapping[str, Callable[..., _Number]] = {
    "ceil": lambda value: Fraction(math.ceil(value)),
    "ceiling": lambda value: Fraction(math.ceil(value)),
    "floor": lambda value: Fraction(math.floor(value)),
    "floordiv": lambda left, right: Fraction(left // right),
    "max": max,
    "min": min,
    "mod": operator.mod,
}
"""By their names in small letters: PyTorch writes those of SymPy, ``Max`` for example, and JAX ``floordiv(a, 2)``."""


def size_of(dimension: int | str, sizes: Mapping[str, int]) -> int | None:
    """Return the size of a dimension, or ``None`` where it is not known.

    Args:
        dimension: A number, a name, or arithmetic of names and numbers: ``+ - * / // %``, brackets, ``floor``,
            ``ceil``, ``floordiv``, ``mod``, ``min`` and ``max``. Division is exact.
        sizes: By name; a name may be the text of an arithmetic expression.
    """
    if isinstance(dimension, int):
        return dimension
    if dimension in sizes:
        return sizes[dimension]
    tree = _parsed(dimension)
    if tree is None:
        return None
    try:
        value = _value(tree, sizes)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        return None
    return int(value) if value.denominator == 1 and 0 <= value <= _LARGEST else None


def names_in(dimension: int | str) -> tuple[str, ...]:
    """Return the names that a dimension is computed from: itself, where it is not an arithmetic expression."""
    tree = _parsed(dimension) if isinstance(dimension, str) else None
    if tree is None:
        return (dimension,) if isinstance(dimension, str) else ()
    return tuple(dict.fromkeys(node.id for node in _identifiers(tree)))


def renamed(dimension: int | str, names: Mapping[str, str]) -> int | str:
    """Return a dimension with other names in it."""
    if isinstance(dimension, int) or dimension in names:
        return names[dimension] if isinstance(dimension, str) else dimension
    tree = _parsed(dimension)
    if tree is None:
        return dimension
    text = dimension.encode()  # offsets are those of bytes
    for node in reversed(_identifiers(tree)):
        text = text[: node.col_offset] + names.get(node.id, node.id).encode() + text[node.end_col_offset :]
    return text.decode()


def shape_text(shape: Sequence[int | str]) -> str:
    """Return ``1x3x224x224``; ``batch x 3 x (length + 1)`` where a dimension has a name; ``scalar`` without axes."""
    if not any(isinstance(size, str) for size in shape):
        return "x".join(map(str, shape)) or "scalar"
    return " x ".join(f"({size})" if " " in str(size) else str(size) for size in shape)


@lru_cache(maxsize=1024)
def _parsed(dimension: str) -> ast.expr | None:
    """Return the tree of an arithmetic expression; ``None`` for a plain name, and for what is not arithmetic."""
    if len(dimension) > _LONGEST or dimension.isidentifier() or "\n" in dimension:
        return None
    try:
        tree = ast.parse(dimension, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if _is_arithmetic(tree) and _identifiers(tree) else None


def _is_arithmetic(tree: ast.expr) -> bool:
    match tree:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.BinOp(left=left, op=symbol, right=right):
            return type(symbol) in _OPERATORS and _is_arithmetic(left) and _is_arithmetic(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_arithmetic(operand)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return name.lower() in _FUNCTIONS and bool(arguments) and all(map(_is_arithmetic, arguments))
    return False


def _value(tree: ast.expr, sizes: Mapping[str, int]) -> _Number:
    match tree:
        case ast.Name(id=name):
            return Fraction(sizes[name])
        case ast.Constant(value=int(value)):
            return Fraction(value)
        case ast.BinOp(left=left, op=symbol, right=right):
            return _OPERATORS[type(symbol)](_value(left, sizes), _value(right, sizes))
        case ast.UnaryOp(operand=operand):
            return -_value(operand, sizes)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name.lower()](*(_value(argument, sizes) for argument in arguments))
    raise TypeError(tree)


def _identifiers(tree: ast.expr) -> Sequence[ast.Name]:
    """Return the names in a tree that stand for sizes, not for functions, as they are written."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called)
    return sorted(nodes, key=lambda node: node.col_offset)


Scalar: TypeAlias = str | int | float | bool | None
Shape: TypeAlias = tuple[int | str, ...]
"""A size per axis; a name stands for a size that is bound later, as does arithmetic of names: ``past_length + 1``."""


def only_axis(shape: Shape) -> int | None:
    """Return the one axis besides the first whose size is not 1; ``None`` where there is none, or several."""
    places = [place for place, size in enumerate(shape) if place and size != 1]
    return places[0] if len(places) == 1 else None


BATCH = "batch"
"""The name every exported artifact gives its free leading dimension."""
BATCH_IN_FILE = "batch_in_file"
"""Of a bundle's details: what an ONNX file itself calls the batch."""

RANDOM_DRAWS = "random_draws"
"""Of a bundle's details: what draws random numbers in the model, so that no two answers are equal."""
RANDOM_SWITCH = "random_switch"
"""Of a bundle's details: the input that can turn off all that is drawn."""
RANDOM_SWITCH_OFF = "random_switch_off"
"""Of a bundle's details: the value of that input with which nothing is drawn; 0 where it is missing."""

_PADDING_NAME = re.compile(
    r"(.*[_.])?((key|src|tgt|memory)_padding|(src_|tgt_|memory_)?(key_)?pad)_mask([_.]?\d+)?(:\d+)?",
    re.IGNORECASE | re.DOTALL,
)
"""Names of PyTorch's attention, whose masks say what to leave out; Keras's ``padding_mask`` says what counts."""
_BOOLEAN_PADDING_NAME = re.compile(r"(.*[_.])?padding_mask([_.]?\d+)?(:\d+)?", re.IGNORECASE | re.DOTALL)
_MASK_NAME = re.compile(r".*mask([_.]?\d+)?(:\d+)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype and shape of one input or output.

    Attributes:
        name: The name inside the artifact.
        dtype: A NumPy dtype name such as ``float32`` or ``int64``.
        shape: Axis sizes; a string names a free dimension.
        permutation: Axes of the logical tensor in the artifact's order: the artifact
            receives ``logical.transpose(permutation)``. ``None`` where both agree.
    """

    name: str
    dtype: str
    shape: Shape
    permutation: tuple[int, ...] | None = None

    @property
    def dynamic_dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions that are still to be bound, in axis order."""
        return tuple(size for size in self.shape if isinstance(size, str))

    def bind(self, sizes: Mapping[str, int]) -> TensorSpec:
        """Return this spec with every free dimension concrete that ``sizes`` names, or that follows from them."""

        def bound(dimension: int | str) -> int | str:
            size = size_of(dimension, sizes)
            return dimension if size is None else size

        return TensorSpec(self.name, self.dtype, tuple(map(bound, self.shape)), self.permutation)


@dataclass(frozen=True)
class InputSpec:
    """A logical input with the range its generated values are drawn from.

    Values are uniform in ``[low, high)``, integers too: a vocabulary of V tokens is ``low=0, high=V``.

    Attributes:
        tensor: Name, dtype and shape.
        low: The least value.
        high: Above the largest value.
        is_mask: Whether each row is ones followed by zeros instead, as of a padded sequence; rows are along the last
            axis that is longer than one.
        marks_padding: Whether the ones of a mask are the positions that do not count: zeros followed by ones.
    """

    tensor: TensorSpec
    low: float = 0.0
    high: float = 1.0
    is_mask: bool = False
    marks_padding: bool = False


def is_named_as_mask(name: str) -> bool:
    """Return whether an input of this name says which positions count: ``mask``, ``attention_mask``, ``mask_2:0``."""
    return _MASK_NAME.fullmatch(name) is not None


def is_named_as_padding(name: str, dtype: str) -> bool:
    """Return whether the ones of a mask of this name are the positions that do not count.

    So are ``key_padding_mask``, ``src_padding_mask`` and ``pad_mask``, as PyTorch calls them, and a boolean
    ``padding_mask`` of a file of unknown origin; integers of that name are Keras's, whose ones count.
    """
    is_boolean = dtype == "bool" and _BOOLEAN_PADDING_NAME.fullmatch(name) is not None
    return is_boolean or _PADDING_NAME.fullmatch(name) is not None
