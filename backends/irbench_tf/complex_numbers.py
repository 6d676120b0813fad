"""Complex numbers of TensorFlow as pairs of real ones: ONNX has no operators on complex tensors, and runtimes no type.

A rewriter of a tf2onnx graph. Each complex tensor becomes its real and its imaginary part. What computes both parts of
its result alike is copied for each; products, quotients and Fourier transforms have rules of their own.
"""

from __future__ import annotations

from typing import Any

from irbench.spi import Array
from irbench_tf import fourier
from irbench_tf.fourier import COMPLEX, Emitter, Parts, unsupported

_LINEAR = frozenset(
    {
        "BroadcastTo", "ExpandDims", "GatherNd", "GatherV2", "Identity", "Mean", "Neg", "Pad", "Reshape", "ReverseV2",
        "Roll", "Slice", "Snapshot", "Squeeze", "StopGradient", "StridedSlice", "Sum", "Tile", "Transpose",
    }
)  # fmt: skip
"""Operations on one complex input, the first, that treat both parts alike."""
_JOINING = frozenset({"Add", "AddN", "AddV2", "ConcatV2", "Pack", "Select", "SelectV2", "Sub"})
"""Operations on several complex inputs that treat both parts alike."""
_PRODUCTS = frozenset({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "MatMul", "Mul"})
"""Operations that are linear in each of their inputs; an Einsum may have other than two."""
_FACTORS = 2
_QUOTIENTS = frozenset({"Div", "RealDiv"})


def rewrite_complex_numbers(graph: Any, operations: list[Any]) -> list[Any]:
    """Replace what computes real numbers from complex ones, in place; complex nodes are left without consumers."""
    if any(_is_complex(graph, output) for node in operations for output in node.output):
        rewriter = _ComplexRewriter(graph)
        for node in list(operations):  # which grows
            if any(_is_complex(graph, tensor) for tensor in node.input) and not _is_complex(graph, node.output[0]):
                rewriter.replace(node)
    nodes: list[Any] = graph.get_nodes()
    return nodes


def _is_complex(graph: Any, tensor: str) -> bool:
    return graph.get_dtype(tensor) in COMPLEX


class _ComplexRewriter:
    """Finds the parts of complex tensors, each once."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._emit = Emitter(graph)
        self._found: dict[str, Parts] = {}

    def replace(self, node: Any) -> None:
        """Compute the real result of a node from the parts of its complex inputs."""
        result = self._real_result(node)
        (output,), name, shapes, dtypes = node.output, node.name, node.output_shapes, node.output_dtypes
        self._graph.remove_node(name)
        self._graph.make_node("Identity", [result], outputs=[output], name=name, shapes=shapes, dtypes=dtypes)

    def _real_result(self, node: Any) -> str:
        parts, emit = self._parts(node.input[0]), self._emit
        if node.type in fourier.TO_REAL:
            return fourier.inverse_to_real(emit, node, parts)
        match node.type:
            case "Real":
                return parts.real
            case "Cast":
                return emit.cast(parts.real, self._graph.get_dtype(node.output[0]))
            case "Imag":
                return parts.imaginary or emit.zeros(parts.real)
            case "ComplexAbs":
                return self._size(parts)
            case "Angle":
                return emit.plain("Atan2", [parts.imaginary or emit.zeros(parts.real), parts.real])
            case "Shape" | "Size" | "Rank":
                return emit.tensorflow(node, [parts.real], node.output[0])
        raise unsupported(node)

    def _parts(self, tensor: str) -> Parts:
        if tensor not in self._found:
            self._found[tensor] = self._computed(self._graph.get_node_by_output(tensor))
        return self._found[tensor]

    def _computed(self, node: Any) -> Parts:
        emit, kind = self._emit, node.type
        if node.is_const():
            return self._constant(node)
        if kind in _LINEAR or (kind == "Einsum" and len(node.input) == 1):
            return self._each(node, [self._parts(node.input[0])])
        if kind in _JOINING:
            return self._each(node, [self._parts(name) for name in node.input if _is_complex(self._graph, name)])
        if kind in fourier.FORWARD or kind in fourier.INVERSE:
            return fourier.transform(emit, node, self._parts(node.input[0]))
        if kind in fourier.TO_HALF:
            return fourier.forward_of_real(emit, node)
        if kind in _PRODUCTS and len(node.input) == _FACTORS:
            return self._product(node, *map(self._parts, node.input))
        if kind in _QUOTIENTS:
            return self._quotient(node)
        return self._by_rule(node)

    def _by_rule(self, node: Any) -> Parts:
        match node.type:
            case "Complex":
                return self._of_two_reals(node)
            case "Cast":
                return self._cast(node)
            case "Conj":
                return self._conjugate(self._parts(node.input[0]))
            case "Exp":
                return self._exponential(self._parts(node.input[0]))
            case "ZerosLike":
                return Parts(self._emit.zeros(self._parts(node.input[0]).real), None)
        raise unsupported(node)

    def _each(self, node: Any, inputs: list[Parts]) -> Parts:
        """Copy a node for both parts of its complex inputs; those that are not complex stay."""
        real = self._copied(node, [parts.real for parts in inputs])
        if all(parts.imaginary is None for parts in inputs):
            return Parts(real, None)
        return Parts(real, self._copied(node, [parts.imaginary or self._emit.zeros(parts.real) for parts in inputs]))

    def _copied(self, node: Any, replacements: list[str]) -> str:
        left = iter(replacements)
        inputs = [next(left) if _is_complex(self._graph, name) else name for name in node.input]
        return self._emit.tensorflow(node, inputs, replacements[0])

    def _product(self, node: Any, left: Parts, right: Parts) -> Parts:
        left, right = self._adjoint(node, "adj_x", left), self._adjoint(node, "adj_y", right)
        real = self._term(node, left.real, right.real)
        cross = [
            self._term(node, *pair)
            for pair in ((left.real, right.imaginary), (left.imaginary, right.real))
            if None not in pair
        ]
        if left.imaginary is not None and right.imaginary is not None:
            real = self._combined("Sub", node, real, self._term(node, left.imaginary, right.imaginary))
            return Parts(real, self._combined("Add", node, *cross))
        return Parts(real, cross[0] if cross else None)

    def _adjoint(self, node: Any, attribute: str, parts: Parts) -> Parts:
        adjoint = node.get_attr(attribute)
        return self._conjugate(parts) if adjoint is not None and adjoint.i else parts

    def _term(self, node: Any, left: str | None, right: str | None) -> str:
        assert left is not None
        assert right is not None
        return self._emit.tensorflow(node, [left, right], left)

    def _combined(self, operation: str, node: Any, left: str, right: str) -> str:
        return self._emit.onnx(operation, [left, right], left, self._emit.shape(node.output[0]))

    def _quotient(self, node: Any) -> Parts:
        """Return a / b = a conj(b) / (b conj(b))."""
        above, below = map(self._parts, node.input)
        if below.imaginary is None:
            imaginary = None if above.imaginary is None else self._term(node, above.imaginary, below.real)
            return Parts(self._term(node, above.real, below.real), imaginary)
        shape, other = self._emit.shape(node.output[0]), self._conjugate(below)
        assert other.imaginary is not None
        square = self._square_sum(below)
        real = self._multiplied(above.real, other.real, shape)
        cross = self._multiplied(above.real, other.imaginary, shape)
        if above.imaginary is not None:
            product = self._multiplied(above.imaginary, other.imaginary, shape)
            real = self._emit.onnx("Sub", [real, product], real, shape)
            cross = self._emit.onnx("Add", [cross, self._multiplied(above.imaginary, other.real, shape)], real, shape)
        return Parts(*(self._emit.onnx("Div", [part, square], part, shape) for part in (real, cross)))

    def _multiplied(self, left: str, right: str, shape: list[int] | None) -> str:
        return self._emit.onnx("Mul", [left, right], left, shape)

    def _conjugate(self, parts: Parts) -> Parts:
        if parts.imaginary is None:
            return parts
        return Parts(parts.real, self._emit.onnx("Neg", [parts.imaginary], parts.real, self._emit.shape(parts.real)))

    def _square_sum(self, parts: Parts) -> str:
        assert parts.imaginary is not None
        shape = self._emit.shape(parts.real)
        squares = [self._multiplied(part, part, shape) for part in (parts.real, parts.imaginary)]
        return self._emit.onnx("Add", squares, parts.real, shape)

    def _size(self, parts: Parts) -> str:
        shape = self._emit.shape(parts.real)
        if parts.imaginary is None:
            return self._emit.onnx("Abs", [parts.real], parts.real, shape)
        return self._emit.onnx("Sqrt", [self._square_sum(parts)], parts.real, shape)

    def _constant(self, node: Any) -> Parts:
        values: Array = node.get_tensor_value(as_list=False)
        return Parts(self._emit.constant(values.real.copy()), self._emit.constant(values.imag.copy()))

    def _of_two_reals(self, node: Any) -> Parts:
        real, imaginary = node.input
        return Parts(real, None if self._is_zero(node.inputs[1]) else imaginary)

    def _is_zero(self, node: Any) -> bool:
        if node.type == "ZerosLike":
            return True
        value = node.inputs[1] if node.type == "Fill" else node
        return bool(value.is_const()) and not value.get_tensor_value(as_list=False).any()

    def _cast(self, node: Any) -> Parts:
        to = COMPLEX[self._graph.get_dtype(node.output[0])]
        if not _is_complex(self._graph, node.input[0]):
            return Parts(self._emit.cast(node.input[0], to), None)
        parts = self._parts(node.input[0])
        imaginary = None if parts.imaginary is None else self._emit.cast(parts.imaginary, to)
        return Parts(self._emit.cast(parts.real, to), imaginary)

    def _exponential(self, parts: Parts) -> Parts:
        """Return exp(a + ib) = exp(a) cos(b) + i exp(a) sin(b)."""
        shape, size = self._emit.shape(parts.real), self._emit.plain("Exp", [parts.real])
        if parts.imaginary is None:
            return Parts(size, None)
        turned = (self._emit.plain(function, [parts.imaginary]) for function in ("Cos", "Sin"))
        return Parts(*(self._multiplied(size, part, shape) for part in turned))
