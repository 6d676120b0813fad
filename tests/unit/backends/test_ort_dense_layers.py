"""Dense layers are quantised in whichever form a graph writes them, and shared weights stay what they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import onnxruntime
import pytest
from combinations import every_pair
from onnx import TensorProto, helper, numpy_helper

from irbench.system.host import int8_weight_bits
from irbench_ort.quantization.tool import quantize_dynamic, quantize_static, suitable_method

WIDTH, ROWS = 8, 4
RANDOM = np.random.default_rng(3)
ARRAYS = {
    "w": RANDOM.normal(0, 0.4, (WIDTH, WIDTH)).astype("f"),
    "up": RANDOM.normal(0, 0.4, (3 * WIDTH, WIDTH)).astype("f"),
    "down": RANDOM.normal(0, 0.4, (WIDTH, 3 * WIDTH)).astype("f"),
    "gates": RANDOM.normal(0, 0.4, (1, 4 * WIDTH, WIDTH)).astype("f"),
    "number": np.float32(1.5).reshape(()),
    "single": np.full(1, 1.5, np.float32),
    "vector": RANDOM.normal(size=WIDTH).astype("f"),
    "row": RANDOM.normal(size=(1, WIDTH)).astype("f"),
    "column": RANDOM.normal(size=(ROWS, 1)).astype("f"),
    "whole": RANDOM.normal(size=(ROWS, WIDTH)).astype("f"),
    "steps": np.array([ROWS, 1, WIDTH]),
    "rows": np.array([ROWS, WIDTH]),
    "single_column": np.array([ROWS, 1]),
    "stack": RANDOM.normal(0, 0.4, (1, WIDTH, WIDTH)).astype("f"),
    "zero": np.array([0]),
    "none": np.float32(0).reshape(()),
}
ARRAYS["half_gates"] = ARRAYS["gates"] / 2
BIASES = ("", "number", "single", "vector", "row", "column", "whole", "x")


def feeds() -> Iterator[Mapping[str, np.ndarray]]:
    for seed in range(8):
        yield {"x": np.random.default_rng(seed).normal(size=(ROWS, WIDTH)).astype("f")}


def gemm(source: str, weight: str, output: str, bias: str = "", **attributes: float) -> onnx.NodeProto:
    return helper.make_node("Gemm", [source, weight, *([bias] if bias else [])], [output], **attributes)


def saved(folder: Path, *nodes: onnx.NodeProto, opset: int = 18) -> Path:
    """Write a graph from "x" to "y", both (ROWS, WIDTH), as the optimiser writes one: shapes of weights are stated."""
    read = {name for node in nodes for name in node.input} | {"vector"}
    read |= {"w"} if any(node.op_type == "If" for node in nodes) else set()
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (ROWS, WIDTH))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (ROWS, WIDTH))],
        [numpy_helper.from_array(array, name) for name, array in ARRAYS.items() if name in read],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    path = folder / "graph.onnx"
    onnx_ir.save(onnx_ir.from_proto(model), path)
    return path


def quantized(source: Path, method: str) -> Path:
    target = source.parent / method / "model.onnx"
    target.parent.mkdir()
    if method == "static":
        quantize_static(source, target, feeds, int8_weight_bits())
    else:
        quantize_dynamic(source, target, int8_weight_bits())
    onnx.checker.check_model(onnx.load(target), full_check=method == "static")
    return target


def operators(path: Path) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load(path).graph.node)


def answers(path: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, dict(feed))[0] for feed in feeds()])


def error(source: Path, made: Path) -> float:
    """Return the largest difference between two graphs' answers, relative to the largest answer."""
    before = answers(source)
    return float(np.abs(answers(made) - before).max() / np.abs(before).max())


@pytest.mark.parametrize(
    ("bias", "transposed", "scales", "method"),
    every_pair(BIASES, (0, 1), ({}, {"alpha": 0.5, "beta": 2.0}), ("static", "dynamic")),
)
def test_a_bias_may_have_any_shape(bias, transposed, scales, method, tmp_path):
    source = saved(tmp_path, gemm("x", "w", "y", bias, transB=transposed, **scales))
    made = quantized(source, method)
    assert read_by_integers(made, method) or bias == "x"
    assert error(source, made) < 0.06


@pytest.mark.parametrize("method", ["static", "dynamic"])
def test_weights_may_be_stored_transposed_as_those_of_pytorch_are(method, tmp_path):
    layers = [gemm("x", "up", "a", transB=1), helper.make_node("Relu", ["a"], ["r"])]
    source = saved(tmp_path, *layers, gemm("r", "down", "y", "vector", transB=1))
    made = quantized(source, method)
    assert read_by_integers(made, method)
    assert error(source, made) < 0.06


def read_by_integers(path: Path, method: str) -> bool:
    return operators(path)["MatMulInteger" if method == "dynamic" else "DequantizeLinear"] > 0


@pytest.mark.parametrize("method", ["static", "dynamic"])
def test_a_product_of_computed_matrices_keeps_its_scale_and_its_bias(method, tmp_path):
    turned = helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0])
    square = gemm("x", "t", "s", "column", alpha=0.5)
    source = saved(tmp_path, turned, square, helper.make_node("MatMul", ["s", "x"], ["y"]))
    assert error(source, quantized(source, method)) < 0.06


@pytest.mark.parametrize("method", ["static", "dynamic"])
@pytest.mark.parametrize("weight", ["stack", "vector"])
def test_weights_that_are_no_matrix_stay_in_fp32(weight, method, tmp_path):
    product = helper.make_node("MatMul", ["h", weight], ["p"])
    rows = helper.make_node("Reshape", ["p", "rows" if weight == "stack" else "single_column"], ["q"])
    source = saved(tmp_path, gemm("x", "w", "h"), product, rows, helper.make_node("Add", ["q", "x"], ["y"]))
    made = quantized(source, method)
    (kept,) = (node for node in onnx.load(made).graph.node if weight in node.input)
    assert kept.op_type == "MatMul"
    assert error(source, made) < 0.06


def test_a_graph_whose_only_weights_are_no_matrix_cannot_be_quantised(tmp_path):
    product = helper.make_node("MatMul", ["x", "stack"], ["p"])
    source = saved(tmp_path, product, helper.make_node("Reshape", ["p", "rows"], ["y"]))
    assert suitable_method(source) is None


@pytest.mark.parametrize("method", ["static", "dynamic"])
def test_layers_that_share_a_weight_read_it_each_in_its_own_way(method, tmp_path):
    layers = [gemm("x", "w", "a", "vector", transB=1), gemm("a", "w", "b", "row"), gemm("b", "w", "c", transB=1)]
    source = saved(tmp_path, *layers, helper.make_node("MatMul", ["c", "w"], ["y"]))
    assert error(source, quantized(source, method)) < 0.06


def branches(*names: str) -> onnx.NodeProto:
    """Return an If whose branches hold a dense layer of a weight from outside."""
    graphs = [
        helper.make_graph(
            [gemm("a", "w", name, bias, transB=1)],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, (ROWS, WIDTH))],
        )
        for name, bias in zip(names, ("vector", ""), strict=True)
    ]
    return helper.make_node("If", ["positive"], ["y"], then_branch=graphs[0], else_branch=graphs[1])


def test_a_branch_reads_the_weight_of_the_main_graph_as_it_was(tmp_path):
    total = helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0)
    positive = helper.make_node("Greater", ["total", "none"], ["positive"])
    source = saved(tmp_path, gemm("x", "w", "a", "vector", transB=1), total, positive, branches("one", "two"))
    made = quantized(source, "dynamic")
    assert operators(made)["MatMulInteger"] == 1
    assert error(source, made) < 0.06


@pytest.mark.parametrize("sharing", [("gates", "gates"), ("gates", "half_gates")])
def test_recurrent_layers_that_share_weights_are_quantised_each_with_its_own(sharing, tmp_path):
    nodes = [helper.make_node("Reshape", ["x", "steps"], ["x0"])]
    for number in range(2):
        nodes.append(helper.make_node("LSTM", [f"x{number}", *sharing], [f"h{number}"], hidden_size=WIDTH))
        nodes.append(helper.make_node("Reshape", [f"h{number}", "steps"], [f"x{number + 1}"]))
    source = saved(tmp_path, *nodes, helper.make_node("Reshape", ["x2", "rows"], ["y"]))
    made = quantized(source, "dynamic")
    assert operators(made)["DynamicQuantizeLSTM"] == 2
    assert error(source, made) < 0.06


def test_attention_of_onnx_is_not_taken_for_that_of_the_runtime(tmp_path):
    nodes = [
        gemm("x", "w", "q", "vector"),
        helper.make_node("Unsqueeze", ["q", "zero"], ["q3"]),
        helper.make_node("Attention", ["q3", "q3", "q3"], ["a"], q_num_heads=2, kv_num_heads=2),
        helper.make_node("Squeeze", ["a", "zero"], ["y"]),
    ]
    source = saved(tmp_path, *nodes, opset=23)
    assert suitable_method(source) == "dynamic"
    made = quantized(source, "dynamic")
    assert operators(made)["Attention"] == operators(made)["MatMulInteger"] == 1
    assert error(source, made) < 0.06
