"""Shapes of products and recurrences."""

from __future__ import annotations

from irbench.onnx.contributed.context import Dimension, NodeTypes, ShapeRule, ShapeRules, UnknownInputType
from irbench.onnx.contributed.elementwise import broadcast

_MS = "com.microsoft"


def _product(dtype_of: int = 0) -> ShapeRule:
    """Return the rule of a product of matrices, each of which may be transposed."""

    def infer(node: NodeTypes) -> None:
        first, second = node.shape(0), node.shape(1)
        if node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0) or min(len(first), len(second)) < 2:
            raise UnknownInputType
        rows = first[-1] if node.attribute("transA", 0) else first[-2]
        columns = second[-2] if node.attribute("transB", 0) else second[-1]
        node.set_output(0, node.dtype(dtype_of), [*broadcast(first[:-2], second[:-2]), rows, columns])

    return infer


def _integer_product(node: NodeTypes) -> None:
    from onnx import TensorProto

    first, second = node.shape(0), node.shape(1)
    node.set_output(0, TensorProto.INT32, [*broadcast(first[:-2], second[:-2]), first[-2], second[-1]])


def _quantised_gemm(node: NodeTypes) -> None:
    """Infer integers where the output has a zero point, and floating point where it has none."""
    first, second = node.shape(0), node.shape(3)
    rows = first[1] if node.attribute("transA", 0) else first[0]
    columns = second[0] if node.attribute("transB", 0) else second[1]
    node.set_output(0, node.dtype(8 if node.has_input(8) else 1), [rows, columns])


def _packed_weights(node: NodeTypes) -> None:
    columns = int(node.attribute("N", 0))
    if not columns:
        raise UnknownInputType
    node.set_output(0, node.dtype(0), [*node.shape(0)[:-1], columns])


def _dynamically_quantised_lstm(node: NodeTypes) -> None:
    """Infer the outputs of an LSTM whose weights lie transposed."""
    steps, batch, _ = node.shape(0)
    directions: Dimension
    directions, hidden, _ = node.shape(2)
    dtype = node.dtype(0)
    node.set_output(0, dtype, [steps, directions, batch, hidden])
    node.set_output(1, dtype, [directions, batch, hidden])
    node.set_output(2, dtype, [directions, batch, hidden])


PRODUCTS: ShapeRules = {
    (_MS, "DynamicQuantizeLSTM"): _dynamically_quantised_lstm,
    (_MS, "DynamicQuantizeMatMul"): _product(),
    (_MS, "FusedGemm"): _product(),
    (_MS, "FusedMatMul"): _product(),
    (_MS, "FusedMatMulActivation"): _product(),
    (_MS, "GemmFastGelu"): _product(),
    (_MS, "MatMulBnb4"): _packed_weights,
    (_MS, "MatMulInteger16"): _integer_product,
    (_MS, "MatMulIntegerToFloat"): _product(dtype_of=2),
    (_MS, "MatMulNBits"): _packed_weights,
    (_MS, "QGemm"): _quantised_gemm,
    (_MS, "TransposeMatMul"): _product(),
}
