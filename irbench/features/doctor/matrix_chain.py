"""Graphs of matrix products one after the other, whose time is that of the products."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

_OPSET, _IR_VERSION = 19, 9
_LARGEST_WEIGHT = 63
"""Of int8 weights: with seven bits, sums of two products fit into the 16 bits of instructions before VNNI."""
_ACTIVATION_STEP, _ACTIVATION_ZERO = 1 / 40, 128
"""Of values with a variance of 1/3, as uniform inputs and all products after them have."""


@dataclass(frozen=True)
class MatrixChain:
    """Products of square matrices, each with the same constant on the right.

    Attributes:
        side: Rows and columns.
        products: How many follow each other, so that copies of the input and the output count for little.
        quantised: Whether factors are int8 and uint8, between quantisers; otherwise they are float32.
    """

    side: int
    products: int
    quantised: bool = False

    @property
    def name(self) -> str:
        """What its file is called, without the suffix."""
        return f"matmul-{'int8' if self.quantised else 'float'}-{self.side}"

    @property
    def operations(self) -> int:
        """Of one inference; a multiply-accumulate is two."""
        return 2 * self.side**3 * self.products


def write_matrix_chain(chain: MatrixChain, folder: Path) -> Path:
    """Write ``y = x @ w @ w ...`` with float32 input and output of shape ``(1, side, side)``, and return its file.

    Values keep their size along the chain. In a quantised one every product is between QuantizeLinear and
    DequantizeLinear, which runtimes replace by a product of integers.
    """
    from onnx import TensorProto, helper

    shape = (1, chain.side, chain.side)
    graph = helper.make_graph(
        _quantised_nodes(chain.products) if chain.quantised else _float_nodes(chain.products),
        "matrix_chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        list(_quantised_weights(chain.side) if chain.quantised else _float_weights(chain.side)),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    path = folder / f"{chain.name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _float_nodes(products: int) -> list[NodeProto]:
    from onnx import helper

    names = ["x", *(f"h{number}" for number in range(1, products)), "y"]
    return [
        helper.make_node("MatMul", [names[number], "w"], [names[number + 1]], name=f"product_{number}")
        for number in range(products)
    ]


def _float_weights(side: int) -> list[TensorProto]:
    return [_tensor("w", _orthogonal(side).astype(np.float32))]


def _orthogonal(side: int) -> NDArray[np.float64]:
    """Return a dense orthogonal matrix, with which products are as large as their left factors however many follow.

    It is the discrete cosine transform, its rows in random order and with random signs, so that no constant part of an
    input meets in one column.
    """
    draw = np.random.default_rng(side)
    frequency, place = np.ogrid[:side, :side]
    transform: NDArray[np.float64] = np.sqrt(2 / side) * np.cos(np.pi / side * frequency * (place + 0.5))
    transform[0] /= np.sqrt(2)
    signs: NDArray[np.float64] = draw.choice((-1.0, 1.0), (side, 1))
    shuffled: NDArray[np.float64] = signs * draw.permutation(transform)
    return shuffled


def _quantised_nodes(products: int) -> list[NodeProto]:
    from onnx import helper

    nodes: list[NodeProto] = []
    for number in range(products):
        before, after = ("x" if number == 0 else f"h{number}"), ("y" if number == products - 1 else f"h{number + 1}")
        names = {name: f"{name}_{number}" for name in ("q", "a", "b")}
        nodes += [
            helper.make_node("QuantizeLinear", [before, "step", "zero"], [names["q"]], name=f"quantize_{number}"),
            helper.make_node("DequantizeLinear", [names["q"], "step", "zero"], [names["a"]], name=f"left_{number}"),
            helper.make_node("DequantizeLinear", ["w", "w_step", "w_zero"], [names["b"]], name=f"right_{number}"),
            helper.make_node("MatMul", [names["a"], names["b"]], [after], name=f"product_{number}"),
        ]
    return [*nodes[:-1], *_quantised_output(nodes[-1])]


def _quantised_output(product: NodeProto) -> list[NodeProto]:
    """Return the last product with quantisers behind it: only between them do runtimes compute in integers."""
    from onnx import helper

    return [
        helper.make_node("MatMul", list(product.input), ["h_last"], name=product.name),
        helper.make_node("QuantizeLinear", ["h_last", "step", "zero"], ["q_last"], name="quantize_last"),
        helper.make_node("DequantizeLinear", ["q_last", "step", "zero"], ["y"], name="dequantize_last"),
    ]


def _quantised_weights(side: int) -> list[TensorProto]:
    weights = _orthogonal(side)
    step = np.abs(weights).max() / _LARGEST_WEIGHT
    return [
        _tensor("w", np.rint(weights / step).astype(np.int8)),
        _tensor("w_step", np.array(step, np.float32)),
        _tensor("w_zero", np.array(0, np.int8)),
        _tensor("step", np.array(_ACTIVATION_STEP, np.float32)),
        _tensor("zero", np.array(_ACTIVATION_ZERO, np.uint8)),
    ]


def _tensor(name: str, values: NDArray[Any]) -> TensorProto:
    from onnx import numpy_helper

    return numpy_helper.from_array(values, name)
