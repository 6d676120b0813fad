"""A graph computes in a narrower float as far as ONNX's schemas allow, and its signature stays."""

from __future__ import annotations

from pathlib import Path

import models
import numpy as np
import onnx
import onnx_ir
import onnxruntime
import pytest
import written_graphs
from onnx import TensorProto, helper, numpy_helper

from irbench.onnx.reading.difference import Fusion, difference
from irbench.onnx.reading.graph_precision import read_precision
from irbench.onnx.reading.inventory import take_inventory
from irbench.optimizer.narrowing import narrow

FEED = {"x": np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)}


def graph(*nodes: onnx.NodeProto, opset: int = 18, **weights: np.ndarray) -> onnx_ir.Model:
    """Return a model from "x" (2, 4) to "y", a matrix, with constants by name."""
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", "m"))],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx_ir.from_proto(model)


def operators(model: onnx_ir.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def answers(model: onnx_ir.Model) -> np.ndarray:
    proto = onnx_ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, FEED)[0]


def test_what_can_be_narrow_is_and_inputs_and_outputs_stay(tmp_path: Path):
    model = onnx_ir.load(models.mlp(tmp_path).path)
    assert narrow(model, "fp16")
    assert operators(model) == ["Cast", "Conv", "Relu", "MaxPool", "Flatten", "Gemm", "Softmax", "Cast"]
    assert [value.name for value in (*model.graph.inputs, *model.graph.outputs)] == ["pixels", "scores"]
    assert {value.dtype for value in (*model.graph.inputs, *model.graph.outputs)} == {onnx_ir.DataType.FLOAT}
    assert {value.dtype for value in model.graph.initializers.values()} == {onnx_ir.DataType.FLOAT16}
    onnx.checker.check_model(onnx_ir.to_proto(model), full_check=True)


def test_half_the_bytes_are_left(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    model = onnx_ir.load(artifact.path)
    narrow(model, "bf16")
    onnx_ir.save(model, tmp_path / "narrow.onnx")
    assert set(read_precision(tmp_path / "narrow.onnx").weights) <= {"bf16", "fp32"}


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    ("order", "stays"), [((1, 0, 2), True), ((1, 2, 0), True), ((0, 2, 1), False), ((2, 1, 0), False)]
)
def test_a_transpose_that_onnx_runtime_crashes_at_before_a_product_stays_wide(precision, order, stays):
    text = f"(float[2,2,2] x) => (float[2,2,2] y) {{ r = Relu(x) t = Transpose<perm=[{','.join(map(str, order))}]>(r) "
    model = onnx_ir.from_proto(written_graphs.graph(text + "y = MatMul(t, w) }", opset=22, w=np.ones((2, 2), "f")))
    assert narrow(model, precision)
    (transpose,) = (node for node in model.graph if node.op_type == "Transpose")
    assert (transpose.outputs[0].dtype == onnx_ir.DataType.FLOAT) == stays
    onnx.checker.check_model(onnx_ir.to_proto(model), full_check=True)


def test_such_a_transpose_is_narrow_where_no_product_reads_it():
    text = "(float[2,3,4] x) => (float[3,2,4] y) { t = Transpose<perm=[1,0,2]>(x) y = Relu(t) }"
    model = onnx_ir.from_proto(written_graphs.graph(text, opset=22))
    narrow(model, "fp16")
    assert operators(model) == ["Cast", "Transpose", "Relu", "Cast"]


def test_an_operation_that_the_type_is_not_defined_for_stays_behind_casts():
    model = graph(
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("CumSum", ["r", "axis"], ["s"]),
        helper.make_node("Neg", ["s"], ["y"]),
        axis=np.array(1, np.int64),
    )
    assert narrow(model, "fp16")
    assert operators(model) == ["Cast", "Relu", "Cast", "CumSum", "Cast", "Neg", "Cast"]
    np.testing.assert_allclose(answers(model), -np.cumsum(np.maximum(FEED["x"], 0), axis=1), rtol=1e-2)


def test_convolutions_stay_wide_where_the_operator_set_has_no_bf16_for_them(tmp_path: Path):
    model = onnx_ir.load(models.mlp(tmp_path).path)
    assert narrow(model, "bf16")
    kernel = next(node for node in model.graph if node.op_type == "Conv").inputs[1]
    assert kernel is not None
    assert kernel.dtype == onnx_ir.DataType.FLOAT


def test_a_value_is_converted_once_for_all_its_readers():
    model = graph(
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Neg", ["x"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    )
    narrow(model, "fp16")
    assert operators(model).count("Cast") == 2


def test_an_output_that_is_read_inside_too_keeps_its_name():
    model = graph(helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["unused"]))
    narrow(model, "fp16")
    assert model.graph.outputs[0].name == "y"
    np.testing.assert_allclose(answers(model), np.maximum(FEED["x"], 0), rtol=1e-3)


def test_integers_made_of_floats_are_made_of_wide_ones():
    large = np.full(4, 4097, np.float32)  # no number of fp16
    model = graph(
        helper.make_node("Cast", ["large"], ["index"], to=TensorProto.INT64),
        helper.make_node("Cast", ["index"], ["back"], to=TensorProto.FLOAT),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("CumSum", ["r", "axis"], ["s"]),
        helper.make_node("Mul", ["s", "zero"], ["z"]),
        helper.make_node("Cast", ["z"], ["wide"], to=TensorProto.DOUBLE),
        helper.make_node("Cast", ["back"], ["back_wide"], to=TensorProto.DOUBLE),
        helper.make_node("Add", ["wide", "back_wide"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["y"], to=TensorProto.FLOAT),
        large=large,
        axis=np.array(1, np.int64),
        zero=np.zeros(1, np.float32),
    )
    assert narrow(model, "fp16")
    assert (answers(model) == 4097).all()


def test_a_weight_beyond_the_range_becomes_the_last_number_before_the_largest():
    model = graph(helper.make_node("Min", ["x", "mask"], ["y"]), mask=np.full(4, 1e9, np.float32))
    narrow(model, "fp16")
    assert np.isfinite(answers(model)).all()
    (weight,) = model.graph.initializers.values()
    assert weight.const_value is not None
    assert (
        weight.const_value.numpy() == 65472
    ).all()  # the largest marks, for ONNX Runtime, a mask that hides a whole row


@pytest.mark.parametrize("sign", [1, -1])
def test_a_weight_too_small_for_the_type_does_not_become_zero(sign: int):
    least = np.full(4, sign * 1e-12, np.float32)
    model = graph(
        helper.make_node("Mul", ["x", "zero"], ["none"]),
        helper.make_node("Add", ["none", "least"], ["sum"]),
        helper.make_node("Div", ["none", "sum"], ["y"]),
        zero=np.zeros(4, np.float32),
        least=least,
    )
    narrow(model, "fp16")
    assert (answers(model) == 0).all()
    held = {name: value.const_value.numpy() for name, value in model.graph.initializers.items() if value.const_value}
    assert (held["zero_narrow"] == 0).all()
    assert (held["least_narrow"] == sign * np.finfo(np.float16).smallest_subnormal).all()


def test_no_name_is_given_twice():
    taken = [f"{item}_{form}" for item in ("x", "w", "y") for form in ("narrow", "wide")]
    chain = [helper.make_node("Add", [item, "w"], [two]) for item, two in zip(["x", *taken], taken, strict=False)]
    model = graph(*chain, helper.make_node("Neg", [taken[-1]], ["y"]), w=np.ones(4, np.float32))
    assert narrow(model, "fp16")
    np.testing.assert_allclose(answers(model), -FEED["x"] - 6, rtol=1e-2)


def test_bodies_stay_as_they_are_and_read_what_they_read():
    body = helper.make_graph(
        [helper.make_node("Add", ["outer", "outer"], ["inner"])],
        "then",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, (2, 4))],
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["outer"], ["negative"])],
        "else",
        [],
        [helper.make_tensor_value_info("negative", TensorProto.FLOAT, (2, 4))],
    )
    model = graph(
        helper.make_node("Relu", ["x"], ["outer"]),
        helper.make_node("If", ["yes"], ["chosen"], then_branch=body, else_branch=other),
        helper.make_node("Neg", ["chosen"], ["y"]),
        yes=np.array(True),
    )
    assert narrow(model, "fp16")
    np.testing.assert_allclose(answers(model), -2 * np.maximum(FEED["x"], 0), rtol=1e-3)


@pytest.mark.parametrize("operation", ["EyeLike", "Bernoulli", "RandomNormalLike", "RandomUniformLike"])
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_an_operation_whose_output_only_follows_the_type_of_its_input_stays_wide(operation: str, precision: str):
    model = graph(
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Sigmoid", ["r"], ["s"]),
        helper.make_node(operation, ["s"], ["e"]),
        helper.make_node("Add", ["r", "e"], ["y"]),
        opset=22,
    )
    assert narrow(model, precision)
    onnx.checker.check_model(onnx_ir.to_proto(model), full_check=True)
    kept = next(node for node in model.graph if node.op_type == operation)
    assert [value.dtype for value in (*kept.inputs, *kept.outputs)] == [onnx_ir.DataType.FLOAT] * 2


SEQUENCES = {
    "splits and joins": [
        helper.make_node("SplitToSequence", ["r", "one"], ["s"], axis=0),
        helper.make_node("ConcatFromSequence", ["s"], ["j"], axis=0),
    ],
    "puts in and takes out": [
        helper.make_node("SequenceConstruct", ["x"], ["s"]),
        helper.make_node("Identity", ["s"], ["t"]),
        helper.make_node("SequenceInsert", ["t", "r"], ["u"]),
        helper.make_node("SequenceAt", ["u", "one"], ["j"]),
    ],
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_sequences_stay_wide(case: str):
    model = graph(
        helper.make_node("Relu", ["x"], ["r"]),
        *SEQUENCES[case],
        helper.make_node("Neg", ["j"], ["y"]),
        one=np.array(1),
    )
    assert narrow(model, "fp16")
    np.testing.assert_allclose(answers(model), -np.maximum(FEED["x"], 0), rtol=1e-3)


def test_a_graph_without_floats_is_left_alone():
    model = graph(helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT))
    assert not narrow(model, "fp16")
    assert operators(model) == ["Shape", "Cast"]


@pytest.mark.parametrize("scales", [(1.0, 2.0)])
def test_an_input_whose_type_is_fixed_stays_wide(scales: tuple[float, ...]):
    model = graph(
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Resize", ["r", "", "scales"], ["y"], mode="nearest"),
        scales=np.array(scales, np.float32),
    )
    assert narrow(model, "fp16")
    resize = next(node for node in model.graph if node.op_type == "Resize")
    assert [value.dtype.name for value in resize.inputs if value is not None] == ["FLOAT16", "FLOAT"]
    assert answers(model).shape == (2, 8)


def test_the_casts_of_a_narrow_graph_hide_no_fusion_from_a_reader(tmp_path: Path):
    header = '<ir_version: 9, opset_import: ["": 18]> g (float[2, 4] x) => (float[2, 4] y)'
    weights = "<float two = {2}, float[4] one = {1, 1, 1, 1}>"
    parts = "{ d = Sub (x, x)  s = Pow (d, two)  t = Sqrt (s)  n = Div (d, t)  y = Mul (n, one) }"
    before = onnx.parser.parse_model(f"{header} {weights} {parts}")
    after = onnx_ir.from_proto(onnx.parser.parse_model(f"{header} {weights} {{ y = LayerNormalization (x, one) }}"))
    assert narrow(after, "fp16")
    assert operators(after) == ["Cast", "LayerNormalization", "Cast"]
    onnx.save(before, tmp_path / "before.onnx")
    onnx_ir.save(after, tmp_path / "after.onnx")
    found = difference(take_inventory(tmp_path / "before.onnx"), take_inventory(tmp_path / "after.onnx"))
    parts_of = tuple((operator, 1) for operator in ("Div", "Mul", "Pow", "Sqrt", "Sub"))
    assert found.fusions == {Fusion("LayerNormalization", parts_of): 1}
