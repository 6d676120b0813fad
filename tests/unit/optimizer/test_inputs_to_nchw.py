"""Inputs that a graph turns into NCHW become NCHW, and what it answers stays."""

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import graph, operations, random
from onnx.reference import ReferenceEvaluator

from irbench.core.feeds import lay_out
from irbench.optimizer.inputs_to_nchw import TO_NCHW, as_nchw, inputs_to_nchw
from irbench.spec import Artifact, TensorSpec

TRANSPOSE = "Transpose <perm = [0, 3, 1, 2]>"
IMAGES = random(2, 4, 5, 3)
WEIGHTS = {
    "kernel": random(6, 3, 1, 1),
    "mean": random(3),
    "half": np.array(0.5, np.float32),
    "rows": random(4, 1, 1),
}


def answers(model, images):
    return ReferenceEvaluator(ir.to_proto(model)).run(None, {"x": images})


def turned(text, outputs="float[batch,6,4,5] y"):
    """Turn the input of a graph, and return its operations after that."""
    model = graph(f"(float[batch,4,5,3] x) => ({outputs}) {{ {text} }}", WEIGHTS)
    before = answers(model, IMAGES)
    assert inputs_to_nchw(model) == ("x",)
    assert list(model.graph.inputs[0].shape) == ["batch", 3, 4, 5]
    onnx.checker.check_model(ir.to_proto(model), full_check=True)
    for answer, two in zip(answers(model, IMAGES.transpose(TO_NCHW)), before, strict=True):
        assert np.allclose(answer, two, atol=1e-5)
    assert inputs_to_nchw(model) == ()
    return operations(model)


def test_rule_1_drops_the_transposition():
    assert turned(f"t = {TRANSPOSE} (x)  y = Conv (t, kernel)") == ["Conv"]


def test_rule_1_drops_it_for_every_reader():
    found = turned(
        f"a = {TRANSPOSE} (x)  b = {TRANSPOSE} (x)  c = Conv (a, kernel)  d = Conv (b, kernel)  y = Add (c, d)"
    )
    assert found == ["Conv", "Conv", "Add"]


@pytest.mark.parametrize(
    "between",
    [
        "m = Sub (x, mean)  m2 = Mul (m, half)",
        "m = Sub (half, x)  m2 = Identity (m)",
        "m2 = Add (x, rows)",
        "m2 = Div (x, half)",
    ],
)
def test_rule_2_turns_what_happens_to_images_before(between):
    found = turned(f"{between}  t = {TRANSPOSE} (m2)  y = Conv (t, kernel)")
    assert "Transpose" not in found
    assert len(found) == between.count("=") + 1


def test_rule_2_turns_constants_that_are_nodes():
    shift = "shift = Constant <value = float[3] {1.0, 2.0, 3.0}> ()"
    assert turned(f"{shift}  m = Sub (x, shift)  t = {TRANSPOSE} (m)  y = Conv (t, kernel)") == ["Sub", "Conv"]


def test_rule_3_asks_the_turned_input_for_its_sizes():
    found = turned(
        f"t = {TRANSPOSE} (x)  y = Conv (t, kernel)  s = Shape (x)  e = Shape <start = 1, end = 3> (x)",
        "float[batch,6,4,5] y, int64[4] s, int64[2] e",
    )
    assert sorted(found) == ["Conv", "Gather", "Gather", "Shape", "Shape"]


def test_rule_4_turns_the_input_back_for_what_needs_it_as_it_was():
    found = turned(
        f"t = {TRANSPOSE} (x)  y = Conv (t, kernel)  z = Softmax (x)",
        "float[batch,6,4,5] y, float[batch,4,5,3] z",
    )
    assert sorted(found) == ["Conv", "Softmax", "Transpose"]


@pytest.mark.parametrize(
    "text",
    [
        "y = Relu (x)",
        "y = Transpose <perm = [0, 2, 1, 3]> (x)",
        f"y = {TRANSPOSE} (x)",
        f"r = Softmax (x)  t = {TRANSPOSE} (r)  y = Relu (t)",
        f"r = Mul (x, x)  t = {TRANSPOSE} (r)  y = Relu (t)",
    ],
)
def test_other_inputs_stay(text):
    model = graph(f"(float[batch,4,4,4] x) => (float[batch,4,4,4] y) {{ {text} }}")
    before = operations(model)
    assert inputs_to_nchw(model) == ()
    assert operations(model) == before


def test_an_input_that_is_a_weight_stays():
    model = graph(
        f"(float[1,4,4,3] x) => (float[1,3,4,4] y) {{ t = {TRANSPOSE} (x)  y = Relu (t) }}", {"x": random(1, 4, 4, 3)}
    )
    assert inputs_to_nchw(model) == ()


OTHER = TensorSpec("scale", "float32", ("batch",))


def artifact(*inputs):
    return Artifact("onnx", Path("model.onnx"), inputs, ())


def test_a_turned_input_is_fed_turned_and_others_are_not():
    image = TensorSpec("image", "float32", ("batch", 4, 5, 3))
    found = as_nchw(artifact(image, OTHER), ["image"])
    assert found.inputs == (TensorSpec("image", "float32", ("batch", 3, 4, 5), (0, 3, 1, 2)), OTHER)
    fed, _ = lay_out((np.zeros((2, 4, 5, 3)), np.zeros(2)), found)
    assert fed.shape == (2, 3, 4, 5)


def test_an_input_that_was_turned_the_other_way_before_is_fed_as_it_is():
    image = TensorSpec("image", "float32", (2, 4, 5, 3), (0, 2, 3, 1))
    assert as_nchw(artifact(image), ["image"]).inputs[0] == TensorSpec("image", "float32", (2, 3, 4, 5))
