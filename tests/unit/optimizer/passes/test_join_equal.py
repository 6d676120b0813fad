"""Rule 5 of ``remove_redundant``: what looks equal and is not stays apart, and outputs keep what is said of them."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from graphs import answered, applied, graph, kept, operations, random
from onnx import helper, numpy_helper

from irbench.optimizer.passes.remove_redundant import remove_redundant

FEED = {"x": random(6)}


def twice(*omitted: tuple[int, int]) -> ir.Model:
    """Return a graph that runs a layer twice; ``omitted`` are outputs: of which layer, and all states or the last."""
    layers = [helper.make_node("GRU", ["x", "w", "r"], [f"all{n}", f"last{n}"], hidden_size=2) for n in range(2)]
    read = ["all0", "last0", "all1", "last1"]
    for layer, output in omitted:
        read.remove(layers[layer].output[output])
        layers[layer].output[output] = ""
    made = helper.make_graph(
        [*layers, helper.make_node("Sum", read, ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, (1, 1, 6))],
        [helper.make_tensor_value_info("y", 1, (1, 1, 1, 2))],
        [numpy_helper.from_array(random(1, 6, 6), "w"), numpy_helper.from_array(random(1, 6, 2), "r")],
    )
    return ir.from_proto(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))


@pytest.mark.parametrize("omitted", [[(0, 1), (1, 0)], [(0, 0), (1, 1)], [(0, 1)], [(1, 0)]])
def test_nodes_that_omit_different_outputs_both_stay(omitted):
    model = twice(*omitted)
    before = answered(model, {"x": random(1, 1, 6)})
    remove_redundant(model)
    assert operations(model).count("GRU") == 2
    for after, expected in zip(answered(model, {"x": random(1, 1, 6)}), before, strict=True):
        np.testing.assert_allclose(after, expected, atol=1e-6)


@pytest.mark.parametrize("omitted", [[], [(0, 1), (1, 1)]])
def test_nodes_that_omit_the_same_outputs_are_joined(omitted):
    assert applied(remove_redundant, twice(*omitted), {"x": random(1, 1, 6)}) == ["GRU", "Sum"]


@pytest.mark.parametrize("slope", [-0.0, 0.0])
def test_zeros_of_another_sign_are_no_equal_attributes(slope):
    body = f"""
        a = LeakyRelu <alpha: float = 0.0> (x)
        b = LeakyRelu <alpha: float = {slope}> (x)
        c = Div (one, b)  d = Div (one, a)  e = Sub (c, d)  f = IsNaN (e)  y = Cast <to: int = 1> (f)
    """
    model = graph(f"(float[6] x) => (float[6] y) {{ {body} }}", {"one": np.float32(1)})
    with np.errstate(all="ignore"):
        before = answered(model, FEED)
        remove_redundant(model)
        after = answered(model, FEED)
    assert operations(model).count("LeakyRelu") == (2 if np.signbit(slope) else 1)
    for made, expected in zip(after, before, strict=True):
        np.testing.assert_array_equal(made, expected)


def test_zeros_of_another_sign_are_no_equal_constants():
    body = "a = Div (x, zero)  b = Div (x, negative)  y = Add (a, b)"
    weights = {"zero": np.float32(0.0), "negative": np.float32(-0.0)}
    assert kept(remove_redundant, graph(f"(float[6] x) => (float[6] y) {{ {body} }}", weights))


def test_constants_of_different_texts_stay_apart():
    body = "".join(f"t{n} = Constant <value_strings: strings = ['{'ab'[n % 2]}']> ()  " for n in range(20))
    body += "".join(f"e{n} = Equal (x, t{n})  c{n} = Cast <to: int = 6> (e{n})  " for n in range(20))
    body += f"y = Sum ({', '.join(f'f{n}' for n in range(20))})"
    body = body.replace("y = Sum", "".join(f"f{n} = Cast <to: int = 1> (c{n})  " for n in range(20)) + "y = Sum")
    model = graph(f"(string[1] x) => (float[1] y) {{ {body.replace(chr(39), chr(34))} }}", opset=19)
    remove_redundant(model)
    for answer in answered(model, {"x": np.array(["a"])}):
        assert answer.tolist() == [10]


@pytest.mark.parametrize("first", ["y", "a"])
def test_an_output_that_is_joined_keeps_its_type_and_its_shape(first):
    nodes = {"y": "y = NonZero (x)", "a": "a = NonZero (x)"}
    body = "  ".join([nodes.pop(first), *nodes.values(), "z = Neg (a)"])
    model = graph(f"(float[6] x) => (int64[1,found] y, int64[1,found] z) {{ {body} }}")
    assert remove_redundant(model)
    assert operations(model) == ["NonZero", "Neg"]
    for output in model.graph.outputs:
        assert output.dtype == ir.DataType.INT64
        assert output.shape is not None
        assert [str(size) for size in output.shape] == ["1", "found"]
