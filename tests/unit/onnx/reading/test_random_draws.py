"""What draws random numbers is found wherever it is in a file, and only where an output depends on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from irbench.onnx.reading.random_draws import RandomDraws, draws_of, draws_of_file

TRAINING = "Dropout in training mode"
NONE = RandomDraws()


def model(text: str, opset: int = 17, domains: str = "") -> onnx.ModelProto:
    parsed = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{domains}]> {text}')
    onnx.checker.check_model(parsed)
    return parsed


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ("r = RandomNormalLike(x) y = Add(x, r)", ("RandomNormalLike",)),
        ("r = RandomNormal<shape = [2, 4]>() y = Add(x, r)", ("RandomNormal",)),
        ("r = RandomUniformLike<seed = 1.0>(x) y = Add(x, r)", ("RandomUniformLike",)),
        ("b = Bernoulli(x) r = RandomUniformLike(x) y = Add(b, r)", ("Bernoulli", "RandomUniformLike")),
        ("m = Multinomial<sample_size = 4>(x) y = Cast<to = 1>(m)", ("Multinomial",)),
        ("r = RandomNormalLike(x) s = Shape(r) y = Expand(x, s)", ()),
        ("r = RandomNormalLike(x) y = Neg(x)", ()),
        ("r = ai.onnx.RandomNormalLike(x) y = Add(x, r)", ("RandomNormalLike",)),
    ],
)
def test_operators_that_draw_count_where_an_output_depends_on_them(node: str, found: tuple[str, ...]) -> None:
    text = f"g (float[2,4] x) => (float[2,4] y) {{ {node.replace('ai.onnx.', '')} }}"
    parsed = model(text)
    for each in parsed.graph.node if "ai.onnx" in node else ():
        each.domain = "ai.onnx"
    assert draws_of(parsed) == RandomDraws(found)


@pytest.mark.parametrize(
    ("inputs", "weights", "nodes", "found"),
    [
        ("", "float r = {0.5}, bool t = {1}", "y = Dropout(x, r, t)", RandomDraws((TRAINING,))),
        ("", "float r = {0.5}, bool t = {0}", "y = Dropout(x, r, t)", NONE),
        ("", "float r = {0}, bool t = {1}", "y = Dropout(x, r, t)", NONE),
        ("", "float r = {0.5}", "y = Dropout(x, r)", NONE),
        ("", "bool t = {1}", "y = Dropout(x, , t)", RandomDraws((TRAINING,))),
        ("", "float r = {0.5}, int64 t = {0}", "f = Cast<to = 9>(t) n = Not(f) y = Dropout(x, r, n)",
         RandomDraws((TRAINING,))),
        ("", "float r = {0.5}", "t = Constant<value = bool {1}>() y = Dropout(x, r, t)", RandomDraws((TRAINING,))),
        (", bool t", "float r = {0.5}", "y = Dropout(x, r, t)", RandomDraws((TRAINING,), "t")),
        (", int64 t", "float r = {0.5}", "b = Cast<to = 9>(t) y = Dropout(x, r, b)", RandomDraws((TRAINING,), "t")),
        (", bool t", "float r = {0.5}", "n = Not(t) y = Dropout(x, r, n)", RandomDraws((TRAINING,))),
        (", bool t", "float r = {0.5}", "d = Dropout(x, r, t) n = RandomNormalLike(x) y = Add(d, n)",
         RandomDraws((TRAINING, "RandomNormalLike"))),
    ],
)  # fmt: skip
def test_dropout_counts_where_it_is_or_may_be_in_training_mode(
    inputs: str, weights: str, nodes: str, found: RandomDraws
) -> None:
    assert draws_of(model(f"g (float[2,4] x{inputs}) => (float[2,4] y) <{weights}> {{ {nodes} }}")) == found


@pytest.mark.parametrize(
    ("opset", "node", "found"), [
        (11, "y = Dropout<ratio = 0.5>(x)", ()),
        (6, "y = Dropout<ratio = 0.5, is_test = 1>(x)", ()),
        (6, "y = Dropout<ratio = 0.5>(x)", (TRAINING,)),
    ],
)  # fmt: skip
def test_dropout_of_old_operator_sets_draws_where_its_attribute_says_so(
    opset: int, node: str, found: tuple[str, ...]
) -> None:
    assert draws_of(model(f"g (float[2,4] x) => (float[2,4] y) {{ {node} }}", opset)).operators == found


@pytest.mark.parametrize("mode", [True, False])
def test_bodies_know_what_the_graphs_around_them_know(mode: bool) -> None:
    text = f"""g (float[2,4] x, bool c) => (float[2,4] y) <float r = {{0.5}}, bool t = {{{int(mode)}}}> {{
        y = If (c) <then_branch = a () => (float[2,4] z) {{ z = Dropout(x, r, t) }},
                    else_branch = b () => (float[2,4] w) {{ w = Abs(x) }}> }}"""
    assert draws_of(model(text)).operators == ((TRAINING,) if mode else ())


def test_a_loop_hands_what_its_body_draws_to_every_output() -> None:
    text = """g (float[2,4] x, int64 n, bool c) => (float[2,4] y) {
        y = Loop (n, c, x) <body = b (int64 i, bool k, float[2,4] v) => (bool k2, float[2,4] w) {
            k2 = Identity(k)  r = RandomNormalLike(v)  w = Add(v, r) }> }"""
    assert draws_of(model(text)).operators == ("RandomNormalLike",)


@pytest.mark.parametrize(("mode", "found"), [(1, (TRAINING,)), (0, ())])
def test_functions_are_looked_into_with_their_arguments(mode: int, found: tuple[str, ...]) -> None:
    text = f"""g (float[2,4] x) => (float[2,4] y) <float r = {{0.5}}, bool t = {{{mode}}}> {{ y = my.outer(x, r, t) }}
    <domain: "my", opset_import: ["" : 17, "my" : 1]> outer (a, b, c) => (d) {{ d = my.inner(a, b, c) }}
    <domain: "my", opset_import: ["" : 17]> inner (a, b, c) => (d) {{ e = Dropout(a, b, c)  d = Neg(e) }}"""
    assert draws_of(model(text, domains=', "my" : 1')).operators == found


def test_a_switch_is_known_within_a_function() -> None:
    text = """g (float[2,4] x, bool t) => (float[2,4] y) <float r = {0.5}> { y = my.drop(x, r, t) }
    <domain: "my", opset_import: ["" : 17]> drop (a, b, c) => (d) { d = Dropout(a, b, c) }"""
    assert draws_of(model(text, domains=', "my" : 1')) == RandomDraws((TRAINING,), "t")


def test_a_function_that_is_never_called_draws_nothing() -> None:
    text = """g (float[2,4] x) => (float[2,4] y) { y = Neg(x) }
    <domain: "my", opset_import: ["" : 17]> noise (a) => (d) { d = RandomNormalLike(a) }"""
    assert draws_of(model(text, domains=', "my" : 1')) == NONE


@pytest.mark.parametrize("mode", [True, False])
def test_a_mode_in_another_file_is_read(mode: bool, tmp_path: Path) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x", "y")]
    node = helper.make_node("Dropout", ["x", "ratio", "mode"], ["y"])
    weights = [
        numpy_helper.from_array(np.array(0.5, np.float32), "ratio"),
        numpy_helper.from_array(np.array(mode), "mode"),
    ]
    graph = helper.make_graph([node], "g", values[:1], values[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "drop.onnx"
    onnx.save_model(made, path, save_as_external_data=True, location="drop.data", size_threshold=0)
    assert draws_of_file(path).operators == ((TRAINING,) if mode else ())


def test_operators_of_unknown_vendors_are_not_accused() -> None:
    parsed = model("g (float[2,4] x) => (float[2,4] y) { y = Neg(x) }", domains=', "vendor" : 1')
    parsed.graph.node[0].domain, parsed.graph.node[0].op_type = "vendor", "RandomNormalLike"
    assert draws_of(parsed) == NONE
