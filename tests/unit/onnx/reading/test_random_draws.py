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
        (", bool t", "float r = {0.5}", "n = Not(t) y = Dropout(x, r, n)", RandomDraws((TRAINING,), "t", off=1)),
        (", int64 t", "float r = {0.5}", "b = Cast<to = 9>(t) n = Not(b) y = Dropout(x, r, n)",
         RandomDraws((TRAINING,))),
        (", bool t", "float r = {0.5}", "i = Identity(t) n = Not(i) m = Not(n) y = Dropout(x, r, m)",
         RandomDraws((TRAINING,), "t")),
        (", bool t", "float r = {0.5}", "d = Dropout(x, r, t) y = Where(t, d, x)", RandomDraws((TRAINING,), "t")),
        ("", "float r = {0.5}, bool t = {1}, bool c = {0}", "d = Dropout(x, r, t) y = Where(c, d, x)", NONE),
        ("", "float r = {0.5}, bool t = {1}, bool c = {1}", "d = Dropout(x, r, t) y = Where(c, d, x)",
         RandomDraws((TRAINING,))),
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


@pytest.mark.parametrize(
    ("inputs", "weights", "condition", "found"),
    [
        ("", ", bool c = {1}", "i = Identity(c)", RandomDraws(("RandomNormalLike",))),
        ("", ", bool c = {0}", "i = Identity(c)", NONE),
        ("", ", int64 c = {0}", "b = Cast<to = 9>(c) i = Not(b)", RandomDraws(("RandomNormalLike",))),
        ("", "", "i = Constant<value = bool {0}>()", NONE),
        (", bool c", "", "i = Identity(c)", RandomDraws(("RandomNormalLike",), "c")),
        (", bool c", "", "i = Not(c)", RandomDraws(("RandomNormalLike",), "c", off=1)),
        (", int64 c", "", "i = Cast<to = 9>(c)", RandomDraws(("RandomNormalLike",), "c")),
        (", bool[N] c", "", "m = Cast<to = 6>(c) s = ReduceMax(m) i = Cast<to = 9>(s)",
         RandomDraws(("RandomNormalLike",))),
    ],
)  # fmt: skip
def test_only_branches_that_may_run_count(inputs: str, weights: str, condition: str, found: RandomDraws) -> None:
    text = f"""g (float[2,4] x{inputs}) => (float[2,4] y) <float r = {{0.5}}{weights}> {{ {condition}
        y = If (i) <then_branch = a () => (float[2,4] z) {{ n = RandomNormalLike(x) z = Add(x, n) }},
                    else_branch = b () => (float[2,4] w) {{ w = Abs(x) }}> }}"""
    assert draws_of(model(text)) == found


@pytest.mark.parametrize(("condition", "operators"), [("1", (TRAINING,)), ("0", ())])
def test_a_switch_may_be_the_output_of_a_branch(condition: str, operators: tuple[str, ...]) -> None:
    text = f"""g (float[2,4] x) => (float[2,4] y) <float r = {{0.5}}, bool c = {{{condition}}}> {{
        t = If (c) <then_branch = a () => (bool p) {{ p = Constant<value = bool {{1}}>() }},
                    else_branch = b () => (bool q) {{ q = Constant<value = bool {{0}}>() }}>
        y = Dropout(x, r, t) }}"""
    assert draws_of(model(text)).operators == operators


def test_each_output_of_a_branch_counts_for_itself() -> None:
    text = """g (float[2,4] x, bool c) => (float[2,4] y) {
        y, unused = If (c) <then_branch = a () => (float[2,4] z, float[2,4] n) { z = Neg(x) n = RandomNormalLike(x) },
                            else_branch = b () => (float[2,4] w, float[2,4] m) { w = Abs(x) m = Neg(x) }> }"""
    assert draws_of(model(text)) == NONE


@pytest.mark.parametrize(("turns", "operators"), [("0", ()), ("1", ("RandomNormalLike",))])
def test_a_body_that_never_runs_does_not_count(turns: str, operators: tuple[str, ...]) -> None:
    text = f"""g (float[2,4] x) => (float[2,4] y) <int64 n = {{{turns}}}> {{
        y = Loop (n, , x) <body = b (int64 i, bool k, float[2,4] v) => (bool k2, float[2,4] w) {{
            k2 = Identity(k)  r = RandomNormalLike(v)  w = Add(v, r) }}> }}"""
    assert draws_of(model(text)).operators == operators


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


DROPS = """<domain: "my", opset_import: ["" : 17]> drop <train: int = 1, rate: float = 0.5> (a) => (d) {
    i = Constant<value_int : int = @train>()  t = Cast<to = 9>(i)  r = Constant<value_float : float = @rate>()
    d = Dropout(a, r, t) }"""


@pytest.mark.parametrize(
    ("call", "operators"),
    [
        ("y = my.drop(x)", (TRAINING,)),
        ("y = my.drop<train = 0>(x)", ()),
        ("y = my.drop<rate = 0.0>(x)", ()),
        ("y = my.drop<train = 1, rate = 0.1>(x)", (TRAINING,)),
        ("z = my.drop<train = 0>(x) y = my.drop<train = 1>(z)", (TRAINING,)),
        ("z = my.drop<train = 0>(x) y = my.drop<rate = 0.0>(z)", ()),
    ],
)
def test_a_function_has_the_attributes_of_its_call_and_its_own_where_that_has_none(
    call: str, operators: tuple[str, ...]
) -> None:
    text = f"g (float[2,4] x) => (float[2,4] y) {{ {call} }} {DROPS}"
    assert draws_of(model(text, domains=', "my" : 1')).operators == operators


@pytest.mark.parametrize(("training", "operators"), [(1, (TRAINING,)), (0, ())])
def test_attributes_reach_functions_within_functions_and_their_bodies(
    training: int, operators: tuple[str, ...]
) -> None:
    text = f"""g (float[2,4] x, bool c) => (float[2,4] y) {{ y = my.outer<mode = {training}>(x, c) }}
    <domain: "my", opset_import: ["" : 17, "my" : 1]> outer <mode> (a, c) => (d) {{
        d = If (c) <then_branch = p () => (z) {{ z = my.drop<train : int = @mode>(a) }},
                    else_branch = q () => (w) {{ w = Abs(a) }}> }}
    {DROPS}"""
    assert draws_of(model(text, domains=', "my" : 1')).operators == operators


def test_an_argument_that_a_call_leaves_out_is_left_out_within_the_function() -> None:
    text = """g (float[2,4] x) => (float[2,4] y) <float r = {0.5}> { y = my.drop(x, r) }
    <domain: "my", opset_import: ["" : 17]> drop (a, b, c) => (d) { d = Dropout(a, b, c) }"""
    assert draws_of(model(text, domains=', "my" : 1')) == NONE


@pytest.mark.parametrize(("mode", "operators"), [(1, ()), (0, (TRAINING,))])
def test_a_switch_may_be_the_output_of_a_function(mode: int, operators: tuple[str, ...]) -> None:
    text = f"""g (float[2,4] x) => (float[2,4] y) <float r = {{0.5}}, bool t = {{{mode}}}> {{
        n = my.inverse(t)  y = Dropout(x, r, n) }}
    <domain: "my", opset_import: ["" : 17]> inverse (a) => (b) {{ b = Not(a) }}"""
    assert draws_of(model(text, domains=', "my" : 1')).operators == operators


def test_a_function_that_is_never_called_draws_nothing() -> None:
    text = """g (float[2,4] x) => (float[2,4] y) { y = Neg(x) }
    <domain: "my", opset_import: ["" : 17]> noise (a) => (d) { d = RandomNormalLike(a) }"""
    assert draws_of(model(text, domains=', "my" : 1')) == NONE


@pytest.mark.parametrize(("mode", "ratio"), [(True, 0.5), (False, 0.5), (True, 0.0)])
def test_a_mode_in_another_file_is_read(mode: bool, ratio: float, tmp_path: Path) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x", "y")]
    node = helper.make_node("Dropout", ["x", "ratio", "mode"], ["y"])
    weights = [
        numpy_helper.from_array(np.array(ratio, np.float32), "ratio"),
        numpy_helper.from_array(np.array(mode), "mode"),
    ]
    graph = helper.make_graph([node], "g", values[:1], values[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "drop.onnx"
    onnx.save_model(made, path, save_as_external_data=True, location="drop.data", size_threshold=0)
    assert draws_of_file(path).operators == ((TRAINING,) if mode and ratio else ())


def test_operators_of_unknown_vendors_are_not_accused() -> None:
    parsed = model("g (float[2,4] x) => (float[2,4] y) { y = Neg(x) }", domains=', "vendor" : 1')
    parsed.graph.node[0].domain, parsed.graph.node[0].op_type = "vendor", "RandomNormalLike"
    assert draws_of(parsed) == NONE


@pytest.mark.parametrize(("inputs", "bounds"), [
    (", int64 n", "n, , x"), (", bool c", ", c, x"), (", int64 n, bool c", "n, c, x"),
])  # fmt: skip
def test_an_input_that_empties_a_loop_is_no_switch(inputs: str, bounds: str) -> None:
    text = f"""g (float[2,4] x{inputs}) => (float[2,4] y) {{
        y = Loop ({bounds}) <body = b (int64 i, bool go, float[2,4] v) => (bool on, float[2,4] w) {{
            on = Identity(go) r = RandomNormalLike(v) w = Add(v, r) }}> }}"""
    assert draws_of(model(text)) == RandomDraws(("RandomNormalLike",))


def test_a_switch_is_found_in_the_body_of_a_loop_whose_length_is_an_input() -> None:
    text = """g (float[2,4] x, int64 n, bool t) => (float[2,4] y) <float r = {0.5}> {
        y = Loop (n, , x) <body = b (int64 i, bool go, float[2,4] v) => (bool on, float[2,4] w) {
            on = Identity(go) w = Dropout(v, r, t) }> }"""
    assert draws_of(model(text)) == RandomDraws((TRAINING,), "t")


def test_an_input_that_is_a_trip_count_is_no_switch_within_a_function_either() -> None:
    text = """g (float[2,4] x, int64 n) => (float[2,4] y) { y = my.f(x, n) }
        <domain: "my", opset_import: ["" : 17]> f (a, m) => (z) {
            z = Loop (m, , a) <body = b (int64 i, bool go, float[2,4] v) => (bool on, float[2,4] w) {
                on = Identity(go) r = RandomNormalLike(v) w = Add(v, r) }> }"""
    assert draws_of(model(text, domains=', "my" : 1')) == RandomDraws(("RandomNormalLike",))
