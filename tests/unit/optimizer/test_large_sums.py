"""Sums that would leave fp16 on the way to a result that fits stay fp32."""

from __future__ import annotations

import onnx
import onnx.parser
import onnx_ir
import pytest

from irbench.optimizer.narrowing import narrow

HALF = onnx_ir.DataType.FLOAT16


def narrowed(nodes: str, shape: str, weights: str = "", precision: str = "fp16", opset: int = 20) -> onnx_ir.Model:
    head = f'<ir_version: 10, opset_import: ["" : {opset}]> g (float[{shape}] x) => (float[a, b] y) <{weights}>'
    model = onnx.parser.parse_model(f"{head} {{ {nodes} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    read = onnx_ir.from_proto(model)
    narrow(read, precision)  # type: ignore[arg-type]
    return read


def computed_in_fp16(model: onnx_ir.Model) -> set[str]:
    return {
        node.op_type
        for node in model.graph
        if node.op_type != "Cast" and any(value.dtype == HALF for value in node.inputs)
    }


@pytest.mark.parametrize(
    ("node", "shape", "is_kept"),
    [
        ("ReduceMean(n, axes)", "1,3,256,256", True),
        ("ReduceMean(n, axes)", "1,3,7,7", False),
        ("ReduceSum(n, axes)", "1,3,32,32", True),
        ("ReduceSum(n, axes)", "1,3,31,33", False),
        ("ReduceSum(n, axes)", "1,3,height,7", True),
        ("ReduceMean(n)", "1,3,20,20", True),
        ("GlobalAveragePool(n)", "1,3,56,56", True),
        ("GlobalAveragePool(n)", "1,3,7,7", False),
        ("GlobalAveragePool(n)", "batch,3,7,7", False),
        ("InstanceNormalization(n, three, three)", "1,3,64,64", True),
        ("AveragePool<kernel_shape = [32, 32]>(n)", "1,3,64,64", True),
        ("AveragePool<kernel_shape = [3, 3]>(n)", "1,3,64,64", False),
        ("LayerNormalization<axis = 1>(n, large)", "1,2048", False),
    ],
)
def test_what_adds_up_many_elements_stays_fp32(node: str, shape: str, is_kept: bool) -> None:
    weights = "int64[2] axes = {2, 3}, float[3] three = {1, 1, 1}"
    if "large" in node:
        weights += ", float[2048] large = {" + ", ".join(["1"] * 2048) + "}"
    operator = node.partition("(")[0].partition("<")[0]
    found = computed_in_fp16(narrowed(f"n = Neg(x) y = {node}", shape, weights))
    assert found == ({"Neg"} if is_kept else {"Neg", operator})


def test_a_reduction_of_old_operator_sets_has_its_axes_as_an_attribute() -> None:
    nodes = "n = Neg(x) y = ReduceMean<axes = [2, 3]>(n)"
    assert computed_in_fp16(narrowed(nodes, "1,3,64,64", opset=17)) == {"Neg"}
    assert computed_in_fp16(narrowed(nodes, "1,3,7,7", opset=17)) == {"Neg", "ReduceMean"}


@pytest.mark.parametrize("square", ["q = Mul(n, n)", "q = Pow(n, two)"])
def test_sums_of_squares_stay_fp32_with_the_root_behind_them_whatever_their_extent(square: str) -> None:
    nodes = f"n = Neg(x) {square} m = ReduceMean(q, last) e = Add(m, eps) r = Sqrt(e) y = Div(n, r)"
    weights = "int64[1] last = {1}, float eps = {0.00001}, float two = {2}"
    assert computed_in_fp16(narrowed(nodes, "4,64", weights)) == {"Neg", "Div"}


def test_a_product_of_two_values_is_no_square() -> None:
    nodes = "n = Neg(x) a = Abs(x) q = Mul(n, a) y = ReduceMean(q, last)"
    assert computed_in_fp16(narrowed(nodes, "4,64", "int64[1] last = {1}")) == {"Neg", "Abs", "Mul", "ReduceMean"}


def test_bf16_has_the_range_of_fp32() -> None:
    model = narrowed("n = Neg(x) y = ReduceMean(n, axes)", "1,3,256,256", "int64[2] axes = {2, 3}", "bf16", opset=22)
    assert not any(value.dtype == onnx_ir.DataType.FLOAT for node in model.graph if node.op_type == "ReduceMean"
                   for value in node.inputs)  # fmt: skip
