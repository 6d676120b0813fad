from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from irbench.errors import IrbenchError
from irbench.onnx.rewriting.detached_weights import DetachedModel, detach, opset_of, write
from irbench.onnx.rewriting.fold_constants import drop_unused, fold_affine, fold_constants
from irbench.onnx.rewriting.upgrade_opset import upgrade_opset

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(2, 3, 6, 6)).astype(np.float32)


def make(nodes, weights, output_shape=("batch", None, None, None), opset=18) -> DetachedModel:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return detach(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), {})


def run(detached: DetachedModel, tmp_path):
    write(detached, tmp_path / "m.onnx")
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    return ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": X})[0]


def operations(detached: DetachedModel) -> list[str]:
    return [node.op_type for node in detached.model.graph.node]


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


CONV = helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1])
CONV_BIAS = helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1])
NORM = helper.make_node("BatchNormalization", ["c", "gamma", "beta", "mean", "var"], ["y"], epsilon=0.01)

AFFINE = {
    "a scale": ([CONV, helper.make_node("Mul", ["c", "s"], ["y"])], {"s": floats(1, 4, 1, 1)}),
    "a scale on the left": ([CONV, helper.make_node("Mul", ["s", "c"], ["y"])], {"s": floats(4, 1, 1)}),
    "a scalar": ([CONV, helper.make_node("Mul", ["c", "s"], ["y"])], {"s": np.float32(2.5)}),
    "a shift": ([CONV, helper.make_node("Add", ["c", "s"], ["y"])], {"s": floats(1, 4, 1, 1)}),
    "a shift onto a bias": ([CONV_BIAS, helper.make_node("Add", ["c", "s"], ["y"])], {"s": floats(1, 4, 1, 1)}),
    "a subtraction": ([CONV_BIAS, helper.make_node("Sub", ["c", "s"], ["y"])], {"s": floats(1, 4, 1, 1)}),
    "scale and shift": (
        [CONV_BIAS, helper.make_node("Mul", ["c", "s"], ["m"]), helper.make_node("Add", ["m", "t"], ["y"])],
        {"s": floats(1, 4, 1, 1), "t": floats(1, 4, 1, 1)},
    ),
    "batch normalisation": (
        [CONV_BIAS, NORM],
        {"gamma": floats(4), "beta": floats(4), "mean": floats(4), "var": np.abs(floats(4)) + 0.1},
    ),
}


@pytest.mark.parametrize("case", AFFINE, ids=str)
def test_folds_into_the_convolution(case, tmp_path):
    nodes, weights = AFFINE[case]
    detached = make(nodes, {"w": floats(4, 3, 3, 3), "b": floats(4), **weights})
    before = run(detached, tmp_path)
    assert fold_affine(detached)
    assert drop_unused(detached)
    assert operations(detached) == ["Conv"]
    assert set(detached.weights) == set(detached.model.graph.node[0].input[1:])
    assert np.allclose(run(detached, tmp_path), before, rtol=1e-5, atol=1e-5)


NOT_AFFINE = {
    "differs by pixel": ([CONV, helper.make_node("Mul", ["c", "s"], ["y"])], {"s": floats(1, 1, 6, 6)}),
    "would broadcast to more channels": (
        [helper.make_node("Conv", ["x", "w1"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Mul", ["c", "s"], ["y"])],
        {"w1": floats(1, 3, 3, 3), "s": floats(1, 4, 1, 1)},
    ),
    "is subtracted from": ([CONV, helper.make_node("Sub", ["s", "c"], ["y"])], {"s": floats(1, 4, 1, 1)}),
    "is no constant": ([CONV, helper.make_node("Mul", ["c", "c"], ["y"])], {}),
    "is read by another node too": (
        [CONV, helper.make_node("Mul", ["c", "s"], ["m"]), helper.make_node("Add", ["c", "m"], ["y"])],
        {"s": floats(1, 4, 1, 1)},
    ),
    "normalises in training mode": (
        [CONV, helper.make_node("BatchNormalization", [*NORM.input], ["y", "m", "v"], training_mode=1)],
        {"gamma": floats(4), "beta": floats(4), "mean": floats(4), "var": np.abs(floats(4)) + 0.1},
    ),
}


@pytest.mark.parametrize("case", NOT_AFFINE, ids=str)
def test_stays_where_it_cannot_be_folded_because_it(case):
    nodes, weights = NOT_AFFINE[case]
    detached = make(nodes, {"w": floats(4, 3, 3, 3), **weights})
    before = operations(detached)
    assert not fold_affine(detached)
    assert operations(detached) == before


def test_a_convolution_that_is_an_output_keeps_what_follows_it():
    detached = make(
        [CONV, helper.make_node("Mul", ["c", "s"], ["y"])], {"w": floats(4, 3, 3, 3), "s": floats(1, 4, 1, 1)}
    )
    detached.model.graph.output.append(helper.make_tensor_value_info("c", TensorProto.FLOAT, None))
    assert not fold_affine(detached)


def test_two_convolutions_that_share_weights_are_scaled_apart(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c1"]),
        helper.make_node("Conv", ["x", "w"], ["c2"]),
        helper.make_node("Mul", ["c1", "s"], ["m1"]),
        helper.make_node("Add", ["c2", "m1"], ["y"]),
    ]
    detached = make(nodes, {"w": floats(4, 3, 3, 3), "s": floats(1, 4, 1, 1)})
    before = run(detached, tmp_path)
    assert fold_affine(detached)
    assert np.allclose(run(detached, tmp_path), before, rtol=1e-5, atol=1e-5)


def test_a_folded_weight_takes_no_name_that_is_taken(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "a_weight"], ["a"]),
        helper.make_node("Conv", ["x", "a_weight"], ["a_bias"]),
        helper.make_node("Mul", ["a", "s"], ["m"]),
        helper.make_node("Sub", ["m", "a_bias"], ["y"]),
    ]
    detached = make(nodes, {"a_weight": floats(4, 3, 3, 3), "s": floats(1, 4, 1, 1)})
    before = run(detached, tmp_path)
    assert fold_affine(detached)
    assert np.allclose(run(detached, tmp_path), before, rtol=1e-5, atol=1e-5)


def test_a_rearranged_weight_is_computed_once(tmp_path):
    nodes = [
        helper.make_node("Transpose", ["hwio"], ["t"], perm=[3, 2, 0, 1]),
        helper.make_node("Constant", [], ["shape"], value=numpy_helper.from_array(np.array([4, 3, 3, 3]))),
        helper.make_node("Reshape", ["t", "shape"], ["w"]),
        CONV,
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    detached = make(nodes, {"hwio": floats(3, 3, 3, 4)})
    before = run(detached, tmp_path)
    assert fold_constants(detached)
    drop_unused(detached)
    assert operations(detached) == ["Conv", "Relu"]
    assert set(detached.weights) == {"w"}
    assert np.array_equal(run(detached, tmp_path), before)
    assert not fold_constants(detached)


@pytest.mark.ci
def test_a_result_much_larger_than_its_inputs_stays_a_node():
    nodes = [helper.make_node("Expand", ["one", "shape"], ["big"]), helper.make_node("Add", ["x", "big"], ["y"])]
    detached = make(nodes, {"one": np.float32(1), "shape": np.array([1024, 1024, 1, 6, 6])})
    assert not fold_constants(detached)


@pytest.mark.parametrize("operation", ["RandomNormalLike", "Bernoulli"])
def test_random_nodes_are_never_folded(operation):
    nodes = [helper.make_node(operation, ["w"], ["r"]), helper.make_node("Mul", ["x", "r"], ["y"])]
    assert not fold_constants(make(nodes, {"w": floats(6)}))


@pytest.mark.parametrize("training", [True, False])
def test_a_dropout_is_folded_unless_it_trains(training):
    nodes = [helper.make_node("Dropout", ["w", "half", "on"], ["r"]), helper.make_node("Mul", ["x", "r"], ["y"])]
    assert fold_constants(make(nodes, {"w": floats(6), "half": np.float32(0.5), "on": np.array(training)})) != training


def test_a_sequence_of_weights_stays_one(tmp_path):
    nodes = [
        helper.make_node("SequenceConstruct", ["w", "w"], ["s"]),
        helper.make_node("SequenceAt", ["s", "zero"], ["m"]),
        helper.make_node("Mul", ["x", "m"], ["y"]),
    ]
    detached = make(nodes, {"w": floats(6), "zero": np.array(0)})
    before = run(detached, tmp_path)
    assert not fold_constants(detached)
    assert np.array_equal(run(detached, tmp_path), before)


def test_dequantised_weights_keep_their_integers():
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale"], ["w"]),
        helper.make_node("Conv", ["x", "w"], ["y"]),
    ]
    detached = make(nodes, {"q": np.ones((4, 3, 3, 3), np.int8), "scale": np.float32(0.5)})
    assert not fold_constants(detached)


def test_what_the_evaluator_does_not_know_stays():
    nodes = [
        helper.make_node("Magic", ["w"], ["m"], domain="com.example"),
        helper.make_node("Mul", ["x", "m"], ["y"]),
    ]
    assert not fold_constants(make(nodes, {"w": floats(6)}))


def test_dead_nodes_and_weights_go_and_inputs_stay():
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["dead1"]),
        helper.make_node("Relu", ["dead1"], ["dead2"]),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    detached = make(nodes, {"w": floats(6)})
    assert drop_unused(detached)
    assert operations(detached) == ["Relu"]
    assert detached.weights == {}
    assert [tensor.name for tensor in detached.model.graph.input] == ["x"]
    assert not drop_unused(detached)


@pytest.mark.parametrize("opset", range(19, 24))
def test_later_opsets_compute_the_same_from_the_same_weights(opset, tmp_path):
    weights = {"w": floats(4, 3, 3, 3), "b": floats(4)}
    detached = make([CONV_BIAS, helper.make_node("Relu", ["c"], ["y"])], weights)
    before = run(detached, tmp_path)
    assert upgrade_opset(detached, opset)
    assert opset_of(detached.model) == opset
    assert (
        next(dimension.dim_param for dimension in detached.model.graph.input[0].type.tensor_type.shape.dim) == "batch"
    )
    assert np.array_equal(run(detached, tmp_path), before)


def test_an_opset_that_is_already_reached_changes_nothing():
    assert not upgrade_opset(make([CONV], {"w": floats(4, 3, 3, 3)}), 18)


def test_a_vendors_operations_are_moved_as_they_are():
    magic = helper.make_node("Magic", ["x"], ["m"], domain="com.example")
    detached = make([magic, helper.make_node("Relu", ["m"], ["y"])], {})
    detached.model.opset_import.append(helper.make_opsetid("com.example", 1))
    assert upgrade_opset(detached, 21)
    assert {opset.domain: opset.version for opset in detached.model.opset_import} == {"": 21, "com.example": 1}
    assert detached.model.ir_version >= helper.find_min_ir_version_for([helper.make_opsetid("", 21)])
    assert [node.domain for node in detached.model.graph.node] == ["com.example", ""]


def test_an_operation_the_converter_cannot_move_is_one_clear_error():
    nodes = [helper.make_node("Magic", ["x"], ["y"])]
    with pytest.raises(IrbenchError, match="cannot be converted from opset 18 to 21") as caught:
        upgrade_opset(make(nodes, {}), 21)
    assert caught.value.hint == "Use --opset 18."
