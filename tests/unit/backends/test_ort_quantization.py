"""A quantised graph is one that other runtimes read, with the same signature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import models
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from written_graphs import graph

from irbench.onnx.reading.graph_precision import read_precision
from irbench.system.host import int8_weight_bits
from irbench_ort.quantization.tool import NotANumber, quantize_dynamic, quantize_static, suitable_method


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def pixels() -> Iterator[Mapping[str, np.ndarray]]:
    for seed in range(8):
        yield {"pixels": np.random.default_rng(seed).uniform(-1, 1, (4, 3, 8, 8)).astype(np.float32)}


def operators(path: Path) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load(path).graph.node)


def answers(path: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, dict(feed))[0] for feed in pixels()])


def recurrent(folder: Path, *, constant: bool = True) -> Path:
    random = np.random.default_rng(5)
    shapes = {"w": (1, 32, 8), "r": (1, 32, 8)}
    weights = [
        numpy_helper.from_array(random.normal(0, 0.3, shape).astype("f"), name) for name, shape in shapes.items()
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 1, 8))]
    if not constant:
        inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=8)],
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (5, 1, 1, 8))],
        weights if constant else [],
    )
    path = folder / "lstm.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def product(folder: Path, size: int) -> Path:
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(np.eye(size, dtype=np.float32))),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4, size)) for name in "xy"]
    path = folder / "constant.onnx"
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_static_holds_integers_around_each_layer_and_answers_alike(mlp: Path, tmp_path: Path):
    made = tmp_path / "made.onnx"
    quantize_static(mlp, made, pixels, int8_weight_bits())
    assert read_precision(made).narrowest == "int8"
    assert operators(made)["Relu"] == 0  # a part of the quantiser behind the convolution
    weights = {
        initializer.name: numpy_helper.to_array(initializer) for initializer in onnx.load(made).graph.initializer
    }
    assert weights["kernel_quantized"].dtype == np.int8
    assert weights["kernel_scale"].shape == (8,)  # one for each channel
    np.testing.assert_allclose(answers(made), answers(mlp), atol=0.03 * 2 ** (8 - int8_weight_bits()))


def test_what_a_dense_layer_answers_is_not_rounded(mlp: Path, tmp_path: Path):
    made = tmp_path / "made.onnx"
    quantize_static(mlp, made, pixels, int8_weight_bits())
    graph = onnx.load(made).graph
    (softmax,) = (node for node in graph.node if node.op_type == "Softmax")
    (before,) = (node for node in graph.node if softmax.input[0] in node.output)
    assert before.op_type == "Gemm"


def test_the_signature_stays(mlp: Path, tmp_path: Path):
    made = tmp_path / "made.onnx"
    quantize_static(mlp, made, pixels, int8_weight_bits())
    before, after = (onnx.load(path).graph for path in (mlp, made))
    assert list(after.input) == list(before.input)
    assert [tensor.name for tensor in after.output] == [tensor.name for tensor in before.output]


@pytest.mark.parametrize("method", ["static", "dynamic"])
def test_a_dynamic_dimension_of_an_output_keeps_its_name_where_its_size_follows(method: str, tmp_path: Path):
    source, made = tmp_path / "source.onnx", tmp_path / "made" / "model.onnx"
    made.parent.mkdir()
    text = "(float[batch,4] x, float[2,3] z) => (float[batch,4] y, float[n,3] t) { y = MatMul(x, w) t = Identity(z) }"
    onnx.save(graph(text, opset=17, w=np.eye(4, dtype=np.float32)), source)
    if method == "static":
        quantize_static(source, made, lambda: iter([{"x": np.ones((2, 4), "f"), "z": np.ones((2, 3), "f")}]), 8)
    else:
        quantize_dynamic(source, made, int8_weight_bits())
    before, after = (onnx.load(path).graph for path in (source, made))
    assert list(after.output) == list(before.output)


def test_a_value_that_is_no_number_on_any_input_is_named_as_the_reason(tmp_path: Path):
    source, made = tmp_path / "source.onnx", tmp_path / "made" / "model.onnx"
    made.parent.mkdir()
    text = "(float[2,3,8,8] pixels) => (float[2,4,6,6] y) { n = Sqrt(pixels) y = Conv(n, w) }"
    onnx.save(graph(text, opset=17, w=np.ones((4, 3, 3, 3), np.float32)), source)
    with pytest.raises(NotANumber):
        quantize_static(source, made, lambda: iter([{"pixels": np.full((2, 3, 8, 8), -1, np.float32)}]), 8)


def test_dynamic_needs_no_inputs_and_takes_recurrent_layers_to_the_runtimes_own_operator(tmp_path: Path):
    made = tmp_path / "made.onnx"
    quantize_dynamic(recurrent(tmp_path), made, int8_weight_bits())
    assert operators(made) == {"DynamicQuantizeLSTM": 1}


def test_only_operator_sets_that_are_used_are_imported(mlp: Path, tmp_path: Path):
    static, dynamic = tmp_path / "static.onnx", tmp_path / "dynamic.onnx"
    quantize_static(mlp, static, pixels, int8_weight_bits())
    quantize_dynamic(recurrent(tmp_path), dynamic, int8_weight_bits())
    assert [opset.domain for opset in onnx.load(static).opset_import] == [""]
    assert sorted(opset.domain for opset in onnx.load(dynamic).opset_import) == ["", "com.microsoft"]


def test_weights_in_another_file_stay_there_and_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irbench_ort.quantization.tool.is_large", lambda _: True)
    made = tmp_path / "made.onnx"
    quantize_dynamic(product(tmp_path, 64), made, int8_weight_bits())
    weights = [
        initializer
        for initializer in onnx.load(made, load_external_data=False).graph.initializer
        if initializer.external_data
    ]
    assert {weight.external_data[0].value for weight in weights} == {"made.onnx.data"}
    session = onnxruntime.InferenceSession(str(made), providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, {"x": np.eye(4, 64, dtype=np.float32)})
    np.testing.assert_allclose(answer, np.eye(4, 64), atol=0.02)


def test_weights_may_be_constants_among_the_nodes(tmp_path: Path):
    source, made = product(tmp_path, 8), tmp_path / "made.onnx"
    assert suitable_method(source) == "dynamic"
    quantize_dynamic(source, made, int8_weight_bits())
    assert operators(made)["MatMulInteger"] == 1


def test_the_method_follows_what_holds_the_weights(mlp: Path, tmp_path: Path):
    assert suitable_method(mlp) == "static"
    assert suitable_method(recurrent(tmp_path)) == "dynamic"
    assert suitable_method(recurrent(tmp_path, constant=False)) is None


def sharing(folder: Path) -> Path:
    """Write layers that share a bias, beside a value that is called like the bias with a number behind it."""
    random = np.random.default_rng(5)
    weights = [numpy_helper.from_array(random.normal(0, 0.3, (3, 3, 1, 1)).astype("f"), f"w{n}") for n in range(3)]
    bias = numpy_helper.from_array(random.normal(0, 0.3, 3).astype("f"), "b")
    layers = [helper.make_node("Conv", [x, w, "b"], [y]) for x, w, y in (("pixels", "w0", "b0"), ("b0", "w1", "b1"))]
    graph = helper.make_graph(
        [*layers, helper.make_node("Conv", ["b1", "w2", "b"], ["b2"]), helper.make_node("Neg", ["b2"], ["y"])],
        "g",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, (4, 3, 8, 8))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 3, 8, 8))],
        [*weights, bias],
    )
    path = folder / "sharing.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_layers_that_share_a_bias_are_quantised_each_with_its_own(tmp_path: Path):
    source, target = sharing(tmp_path), tmp_path / "out" / "model.onnx"
    target.parent.mkdir()
    quantize_static(source, target, pixels, int8_weight_bits())
    onnx.checker.check_model(onnx.load(target), full_check=True)
    before, after = answers(source), answers(target)
    assert np.abs(after - before).max() < 0.05 * np.abs(before).max()


@pytest.mark.parametrize("shape", [(1, 3), (1, 1), (1,), (3,)])
@pytest.mark.parametrize("transposed", [0, 1])
def test_the_bias_of_a_dense_layer_may_have_any_shape_that_is_broadcast(shape, transposed, tmp_path: Path):
    random = np.random.default_rng(5)
    weight = random.normal(0, 0.3, (3, 192) if transposed else (192, 3)).astype("f")
    constants = [numpy_helper.from_array(array, name) for name, array in (("w", weight), ("b", np.ones(shape, "f")))]
    flat = helper.make_node("Flatten", ["pixels"], ["rows"])
    graph = helper.make_graph(
        [flat, helper.make_node("Gemm", ["rows", "w", "b"], ["y"], transB=transposed)],
        "g",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, (4, 3, 8, 8))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 3))],
        constants,
    )
    source, target = tmp_path / "dense.onnx", tmp_path / "out" / "model.onnx"
    target.parent.mkdir()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), source)
    quantize_static(source, target, pixels, int8_weight_bits())
    assert operators(target)["DequantizeLinear"] >= 2
    assert "b" not in {initializer.name for initializer in onnx.load(target).graph.initializer}
    before, after = answers(source), answers(target)
    assert np.abs(after - before).max() < 0.05 * np.abs(before).max()
