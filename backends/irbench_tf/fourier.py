"""Discrete Fourier transforms of TensorFlow as ONNX's DFT, whose last axis holds the parts of a complex number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irbench.errors import IrbenchError

COMPLEX = {14: 1, 15: 11}
"""ONNX's numbers of complex element types, and those of their parts: complex64 and float, complex128 and double."""
_HINT = "Write that part of the model with real numbers; nothing was exported."


def unsupported(node: Any, why: str = "has no counterpart in ONNX for complex numbers") -> IrbenchError:
    """Return the error for an operation that cannot be converted."""
    return IrbenchError(f"The TensorFlow operation {node.type} ({node.name}) {why}.", hint=_HINT)


@dataclass(frozen=True)
class Parts:
    """A complex tensor.

    Attributes:
        imaginary: That of its imaginary part; ``None`` where it is zero.
    """

    real: str
    imaginary: str | None


class Emitter:
    """Adds nodes to a tf2onnx graph.

    Args:
        graph: A ``tf2onnx.graph.Graph``, not yet mapped.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def shape(self, tensor: str) -> list[int] | None:
        """Return the shape, with -1 for what is unknown; ``None`` where the number of axes is."""
        shape: list[int] | None = self.graph.get_shape(tensor)
        return shape

    def onnx(
        self, operation: str, inputs: Sequence[str], like: str, shape: Sequence[int] | None, **attributes: Any
    ) -> str:
        """Add a node of ONNX and return its output."""
        return self._made(operation, inputs, attributes, self.graph.get_dtype(like), shape, is_mapped=True)

    def tensorflow(self, node: Any, inputs: Sequence[str], like: str) -> str:
        """Add a copy of a node of TensorFlow with other inputs, which tf2onnx maps later, and return its output."""
        shape, dtype = self.shape(node.output[0]), self.graph.get_dtype(like)
        return self._made(node.type, inputs, dict(node.attr), dtype, shape, is_mapped=False)

    def plain(self, operation: str, inputs: Sequence[str]) -> str:
        """Add a node of TensorFlow whose output has the type and shape of its first input."""
        dtype = self.graph.get_dtype(inputs[0])
        return self._made(operation, inputs, {}, dtype, self.shape(inputs[0]), is_mapped=False)

    def cast(self, tensor: str, to: int) -> str:
        """Add a conversion to an element type, given as ONNX's number of it."""
        return self._made("Cast", [tensor], {"to": to}, to, self.shape(tensor), is_mapped=True)

    def zeros(self, like: str) -> str:
        """Add zeros of the type and shape of a tensor."""
        return self.plain("ZerosLike", [like])

    def integers(self, values: Sequence[int] | int) -> str:
        """Add a constant of int64."""
        return self.constant(np.array(values, np.int64))

    def constant(self, values: Any) -> str:
        """Add a constant."""
        from tf2onnx.utils import make_name

        name: str = self.graph.make_const(make_name("parts_const"), values).output[0]
        return name

    def _made(
        self,
        operation: str,
        inputs: Sequence[str],
        attributes: dict[str, Any],
        dtype: int,
        shape: Sequence[int] | None,
        *,
        is_mapped: bool,
    ) -> str:
        node = self.graph.make_node(
            operation,
            list(inputs),
            attr=attributes,
            skip_conversion=is_mapped,
            dtypes=[dtype],
            shapes=None if shape is None else [list(shape)],
            infer_shape_dtype=False,
        )
        name: str = node.output[0]
        return name


FORWARD = {"FFT": 1, "FFT2D": 2, "FFT3D": 3}
"""Number of last axes that are transformed, by operation."""
INVERSE = {"IFFT": 1, "IFFT2D": 2, "IFFT3D": 3}
TO_HALF = {"RFFT": 1, "RFFT2D": 2, "RFFT3D": 3}
"""Real to complex: of the last axis only the half of the frequencies that determines the other is given."""
TO_REAL = {"IRFFT": 1, "IRFFT2D": 2, "IRFFT3D": 3}

_LEAST_OPSET = 17
_INT64 = 7
"""ONNX's number of the element type."""


@dataclass(frozen=True)
class _Length:
    """How many numbers along an axis are transformed: it is cut or padded to that.

    Attributes:
        size: -1 where it depends on the input.
        tensor: The scalar that holds it; ``None`` where it is the size of the axis.
    """

    size: int
    tensor: str | None = None


def transform(emit: Emitter, node: Any, parts: Parts) -> Parts:
    """Return the transform of complex numbers over the last axes."""
    rank = _rank(emit, node, parts.real)
    count = FORWARD.get(node.type) or INVERSE[node.type]
    joined = _joined(emit, parts)
    for axis in range(rank - count, rank):
        joined = _dft(emit, joined, axis, inverse=int(node.type in INVERSE))
    return _split(emit, joined)


def forward_of_real(emit: Emitter, node: Any) -> Parts:
    """Return the half of the transform of real numbers that TensorFlow gives; ``node`` is one of :data:`TO_HALF`.

    DFT gives that half itself (``onesided``), but OpenVINO 2026.4 then drops an axis; so the half is cut out of the
    whole, which ONNX Runtime computes in any case.
    """
    data, lengths = node.input
    rank, count = _rank(emit, node, data), TO_HALF[node.type]
    joined = _joined(emit, Parts(data, None))
    length = _length(emit, node, data, lengths, count - 1, rank - 1)
    joined = _first_half(emit, _dft(emit, joined, rank - 1, length), rank - 1, length)
    for place in range(count - 1):
        axis = rank - count + place
        joined = _dft(emit, joined, axis, _length(emit, node, data, lengths, place, axis))
    return _split(emit, joined)


def inverse_to_real(emit: Emitter, node: Any, parts: Parts) -> str:
    """Return the real numbers whose half transform is given; ``node`` is one of :data:`TO_REAL`.

    ONNX's DFT gives no real numbers back, so the other half is added: it is the conjugate of the first, reversed.
    """
    rank, count = _rank(emit, node, parts.real), TO_REAL[node.type]
    lengths = _known_lengths(node)
    shape = emit.shape(parts.real) or []
    if list(shape[rank - count : -1]) != lengths[:-1]:
        raise unsupported(node, "pads or cuts its input, which is not supported")
    joined = _joined(emit, parts)
    for axis in range(rank - count, rank - 1):
        joined = _dft(emit, joined, axis, inverse=1)
    whole = _with_other_half(emit, node, _split(emit, joined), lengths[-1])
    return _split(emit, _dft(emit, _joined(emit, whole), rank - 1, inverse=1)).real


def _rank(emit: Emitter, node: Any, tensor: str) -> int:
    if emit.graph.opset < _LEAST_OPSET:
        raise IrbenchError(
            f"The model has a Fourier transform ({node.type}), which ONNX has from opset {_LEAST_OPSET} on.",
            hint=f"Export it with --opset {_LEAST_OPSET} or a later one.",
        )
    shape = emit.shape(tensor)
    if shape is None:
        raise unsupported(node, "has an input whose number of axes is unknown")
    return len(shape)


def _joined(emit: Emitter, parts: Parts) -> str:
    """Return a tensor with the real part, and the imaginary part if there is one, along a new last axis."""
    shape = emit.shape(parts.real) or []
    axes = emit.integers([len(shape)])
    present = [part for part in (parts.real, parts.imaginary) if part is not None]
    columns = [emit.onnx("Unsqueeze", [part, axes], parts.real, [*shape, 1]) for part in present]
    if len(columns) == 1:
        return columns[0]
    return emit.onnx("Concat", columns, parts.real, [*shape, 2], axis=len(shape))


def _split(emit: Emitter, joined: str) -> Parts:
    *shape, _ = emit.shape(joined) or [2]
    real, imaginary = (
        emit.onnx("Gather", [joined, emit.integers(place)], joined, shape, axis=len(shape)) for place in (0, 1)
    )
    return Parts(real, imaginary)


def _dft(emit: Emitter, joined: str, axis: int, length: _Length | None = None, **attributes: int) -> str:
    *shape, _ = emit.shape(joined) or [2]
    if length is not None:
        shape[axis] = length.size
    inputs = [joined] if length is None or length.tensor is None else [joined, length.tensor]
    return emit.onnx("DFT", inputs, joined, [*shape, 2], axis=axis, **attributes)


def _first_half(emit: Emitter, joined: str, axis: int, length: _Length) -> str:
    """Return the frequencies from 0 to half of the length, both included."""
    shape = emit.shape(joined) or []
    shape[axis] = length.size // 2 + 1 if length.size >= 0 else -1
    end = emit.integers([shape[axis]]) if length.tensor is None or length.size >= 0 else _half(emit, length.tensor)
    inputs = [joined, emit.integers([0]), end, emit.integers([axis])]
    return emit.onnx("Slice", inputs, joined, shape)


def _half(emit: Emitter, length: str) -> str:
    quotient = emit.onnx("Div", [length, emit.integers(2)], length, [])
    count = emit.onnx("Add", [quotient, emit.integers(1)], length, [])
    return emit.onnx("Unsqueeze", [count, emit.integers([0])], length, [1])


def _length(emit: Emitter, node: Any, data: str, lengths: str, place: int, axis: int) -> _Length:
    size = (emit.shape(data) or [])[axis]
    if node.inputs[1].is_const():
        length = int(node.inputs[1].get_tensor_value(as_list=False)[place])
        return _Length(length, None if length == size else emit.integers(length))
    wide = emit.cast(lengths, _INT64)
    return _Length(-1, emit.onnx("Gather", [wide, emit.integers(place)], wide, [], axis=0))


def _known_lengths(node: Any) -> list[int]:
    if not node.inputs[1].is_const():
        raise unsupported(node, "has a length that depends on its input, which is not supported: give it fft_length")
    return [int(length) for length in node.inputs[1].get_tensor_value(as_list=False)]


def _with_other_half(emit: Emitter, node: Any, parts: Parts, length: int) -> Parts:
    half = length // 2 + 1
    shape = emit.shape(parts.real) or []
    if shape[-1] < half:
        raise unsupported(node, "pads its input, which is not supported")
    assert parts.imaginary is not None
    real, imaginary = (_sliced(emit, part, 0, half, 1) for part in (parts.real, parts.imaginary))
    if length == half:
        return Parts(real, imaginary)
    mirrored = (_sliced(emit, part, length - half, 0, -1) for part in (parts.real, parts.imaginary))
    other_real, other_imaginary = mirrored
    whole = [*shape[:-1], length]
    negated = emit.onnx("Neg", [other_imaginary], real, emit.shape(other_imaginary))
    return Parts(
        emit.onnx("Concat", [real, other_real], real, whole, axis=len(shape) - 1),
        emit.onnx("Concat", [imaginary, negated], real, whole, axis=len(shape) - 1),
    )


def _sliced(emit: Emitter, tensor: str, start: int, end: int, step: int) -> str:
    shape = emit.shape(tensor) or []
    inputs: Sequence[str] = [tensor, *(emit.integers([value]) for value in (start, end, len(shape) - 1, step))]
    return emit.onnx("Slice", inputs, tensor, [*shape[:-1], abs(end - start)])
