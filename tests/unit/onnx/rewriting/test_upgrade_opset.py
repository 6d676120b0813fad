"""What moving to a later operator set does to Fourier transforms, and what it refuses."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, parser
from onnx.reference import ReferenceEvaluator

from irbench.onnx.rewriting.detached_weights import detach, nodes_of, skeleton
from irbench.onnx.rewriting.upgrade_opset import CannotUpgrade, upgrade_opset

SPECTRUM = "float[2,4,6,1] x) => (float[b,c,d,e] y)"
BRANCHES = """
    y = If (taken) <
        then_branch = then () => (float[2,4,6,2] t) { t = DFT <axis = 2> (x) },
        else_branch = other () => (float[2,4,6,2] e) { e = Concat <axis = 3> (x, x) }
    >
"""
GRAPHS = {
    "the last axis": f"({SPECTRUM} {{ y = DFT <axis = 2> (x) }}",
    "an axis counted from the end": f"({SPECTRUM} {{ y = DFT <axis = -2> (x) }}",
    "the first axis": f"({SPECTRUM} {{ y = DFT <axis = 0, onesided = 1> (x) }}",
    "a length of its own": f"({SPECTRUM} <int64 n = {{4}}> {{ y = DFT <axis = 2> (x, n) }}",
    "two axes": f"({SPECTRUM} {{ z = DFT <axis = 2> (x)  y = DFT <inverse = 1> (z) }}",
    "any sizes": "(float[b,c,d,1] x) => (float[b,c,d,2] y) { y = DFT <axis = 2> (x) }",
    "a branch": f"(bool taken, {SPECTRUM} {{ {BRANCHES} }}",
}
SIGNAL = np.random.default_rng(0).normal(size=(2, 4, 6, 1)).astype(np.float32)


def model(graph: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> g {graph}')


def answer(asked: onnx.ModelProto, signal: np.ndarray = SIGNAL) -> np.ndarray:
    given = {"x": signal, "taken": np.array(True)}
    feed = {tensor.name: given[tensor.name] for tensor in asked.graph.input}
    (found,) = ReferenceEvaluator(asked).run(None, feed)
    return np.asarray(found)


@pytest.mark.parametrize("case", GRAPHS)
def test_it_answers_the_same_along_axis_1(case: str) -> None:
    expected = answer(model(GRAPHS[case]))
    detached = detach(model(GRAPHS[case]), {})
    assert upgrade_opset(detached, 20)
    raised = skeleton(detached)
    onnx.checker.check_model(raised, full_check=True)
    transforms = [node for node in nodes_of(raised) if node.op_type == "DFT"]
    axes = {node.output[0]: node.attribute[0].t for node in nodes_of(raised) if node.op_type == "Constant"}
    weights = {tensor.name: tensor for tensor in raised.graph.initializer}
    given = [onnx.numpy_helper.to_array({**weights, **axes}[node.input[2]]) for node in transforms]
    assert given == [1] * len(transforms)
    np.testing.assert_allclose(answer(raised), expected, atol=1e-5)


def test_an_axis_before_that_of_the_transform_may_be_empty() -> None:
    detached = detach(model(GRAPHS["any sizes"]), {})
    assert upgrade_opset(detached, 20)
    assert answer(skeleton(detached), SIGNAL[:, :0]).shape == (2, 0, 6, 2)


@pytest.mark.parametrize("opset", [19, 20])
def test_where_it_is_along_axis_1_and_below_opset_20_nothing_is_reshaped(opset: int) -> None:
    axis = 2 if opset == 19 else 1
    detached = detach(model(f"({SPECTRUM} {{ y = DFT <axis = {axis}> (x) }}"), {})
    assert upgrade_opset(detached, opset)
    assert not any(node.op_type == "Reshape" for node in nodes_of(detached.model))


@pytest.mark.parametrize("operator", ["SimplifiedLayerNormalization", "LayerNormalization"])
def test_operators_that_onnx_runtime_adds_to_onnx_s_own_domain_are_named_where_they_hinder(operator: str) -> None:
    node = helper.make_node(operator, ["x", "scale"], ["y"], axis=-1)
    tensors = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [2, 4]), ("scale", [4]))]
    graph = helper.make_graph([node], "norm", tensors, [helper.make_tensor_value_info("y", 1, [2, 4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    with pytest.raises(CannotUpgrade) as refused:
        upgrade_opset(detach(model, {}), 23)
    assert operator in refused.value.reason
    assert model.opset_import[0].version == 14
