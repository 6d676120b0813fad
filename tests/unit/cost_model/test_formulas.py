"""Costs as formulas in dynamic dimensions."""

from fractions import Fraction

import numpy as np
import pytest
from written_graphs import graph, ones

from irbench.cost_model.counting import model_cost
from irbench.cost_model.formulas import ModelFormulas, NoFormulas, model_formulas
from irbench.spec import TensorSpec


def attention(width):
    """Return one layer of a Transformer, with a single head and without biases."""
    return graph(
        "(float[batch, length, d] x) => (y) { q = MatMul (x, wq)  k = MatMul (x, wk)  v = MatMul (x, wv)"
        " t = Transpose <perm = [0, 2, 1]> (k)  s = MatMul (q, t)  p = Softmax (s)  a = MatMul (p, v)"
        " o = MatMul (a, wo)  u = MatMul (o, up)  y = MatMul (u, down) }".replace(" d]", f" {width}]"),
        **dict.fromkeys(("wq", "wk", "wv", "wo"), ones(width, width)),
        up=ones(width, 4 * width), down=ones(4 * width, width),
    )  # fmt: skip


def specs(width):
    return [TensorSpec("x", "float32", ("batch", "length", width))]


def test_a_transformer_is_linear_in_the_batch_and_linear_and_quadratic_in_the_sequence():
    d = 16
    found = model_formulas(attention(d), specs(d))
    assert isinstance(found, ModelFormulas)
    assert (found.names, found.multiple_of) == (("batch", "length"), 1)
    assert dict(found.total.macs.terms) == {(1, 2): 2 * d, (1, 1): 12 * d * d}
    assert found.total.parameters == 12 * d * d


def test_a_formula_gives_what_is_counted_at_any_size():
    found = model_formulas(attention(8), specs(8))
    for batch, length in ((1, 1), (3, 17), (64, 512)):
        counted = model_cost(attention(8), [spec.bind({"batch": batch, "length": length}) for spec in specs(8)]).total
        for quantity in ("macs", "flops", "read_bytes", "written_bytes", "activation_bytes"):
            formula = getattr(found.total, quantity)
            assert formula.at({"batch": batch, "length": length}) == getattr(counted, quantity)


def test_classes_operators_and_nodes_add_up_to_the_total():
    found = model_formulas(attention(8), specs(8))
    sizes = {"batch": 5, "length": 7}
    for parts in (found.by_class.values(), found.by_operator.values(), found.nodes):
        assert sum(part.flops.at(sizes) for part in parts) == found.total.flops.at(sizes)


def test_a_dimension_that_has_a_size_is_a_number():
    inputs = [TensorSpec("x", "float32", ("batch", 10, 16))]
    found = model_formulas(attention(16), inputs)
    assert dict(found.total.macs.terms) == {(1,): 2 * 16 * 100 + 12 * 16 * 16 * 10}


def test_layers_of_an_lstm_cost_as_much_as_there_are_and_steps_cost_alike():
    for layers in (1, 2, 4):
        calls = "".join(f"a{n}, h{n} = LSTM <hidden_size = 8> (x{n}, w, r)  x{n + 1} = Squeeze (a{n}, one) "
                        for n in range(layers))  # fmt: skip
        model = graph(
            f"(float[steps, batch, 8] x0) => (x{layers}) {{ {calls} }}",
            w=ones(1, 32, 8), r=ones(1, 32, 8), one=np.array([1]),
        )  # fmt: skip
        found = model_formulas(model, [TensorSpec("x0", "float32", ("steps", "batch", 8))])
        assert dict(found.total.macs.terms) == {(1, 1): layers * 8 * 8 * 8}


def test_a_network_that_halves_its_input_has_a_formula_for_multiples():
    model = graph(
        "(float[batch, 3, h, w] x) => (y) { a = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, k)"
        "  y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (a, l) }",
        k=ones(4, 3, 3, 3), l=ones(4, 4, 3, 3),
    )  # fmt: skip
    found = model_formulas(model, [TensorSpec("x", "float32", ("batch", 3, "h", "w"))])
    assert (found.multiple_of, found.smallest, found.largest["h"]) == (32, 32, 4096)
    assert not found.holds_at({"batch": 32, "h": 225, "w": 224})
    assert dict(found.total.macs.terms) == {(1, 1, 1): Fraction(4 * 27, 4) + Fraction(4 * 36, 16)}


def test_arithmetic_of_dimensions_is_followed():
    model = graph("(float[n, past_and_n] x) => (y) { y = Relu (x) }")
    found = model_formulas(model, [TensorSpec("x", "float32", ("n", "past + n"))])
    assert found.names == ("n", "past")
    assert dict(found.total.flops.terms) == {(1, 1): 1, (2, 0): 1}


def test_formulas_hold_from_a_size_of_1_to_the_largest_that_is_compared():
    found = model_formulas(attention(8), specs(8))
    assert (found.smallest, found.largest) == (1, {"batch": 4096, "length": 4096})
    assert found.holds_at({"batch": 1, "length": 4096})
    assert not found.holds_at({"batch": 1, "length": 4097})
    assert not found.holds_at({"batch": 0, "length": 8})


def test_formulas_of_attention_in_a_window_hold_up_to_its_size():
    model = graph(
        "(float[batch, length, 32] q) => (y) { y = com.microsoft.GroupQueryAttention"
        " <num_heads = 2, kv_num_heads = 2, local_window_size = 64> (q, q, q) }"
    )
    found = model_formulas(model, [TensorSpec("q", "float32", ("batch", "length", 32))])
    assert found.largest == {"batch": 4096, "length": 64}


def test_formulas_of_a_table_of_positions_hold_up_to_its_length():
    model = graph(
        "(float[length, 8] x) => (y) { s = Shape (x)  n = Slice (s, zero, one)  p = Slice (table, zero, n)"
        "  y = Relu (p) }",
        table=ones(512, 8), zero=np.array([0]), one=np.array([1]),
    )  # fmt: skip
    found = model_formulas(model, [TensorSpec("x", "float32", ("length", 8))])
    assert found.largest == {"length": 512}


def test_formulas_hold_until_the_other_branch_costs_more():
    model = graph(
        "(float[n, 8] x, bool c) => (y) { y = If (c) <"
        ' then_branch = small () => (a) { e = Einsum <equation = "ij,kj->ik"> (x, x)'
        "  a = ReduceSum <keepdims = 0> (e) },"
        " else_branch = large () => (b) { f = MatMul (x, w)  b = ReduceSum <keepdims = 0> (f) }> }",
        w=ones(8, 1000),
    )
    found = model_formulas(model, [TensorSpec("x", "float32", ("n", 8)), TensorSpec("c", "bool", ())])
    assert 900 < found.largest["n"] < 1100


def test_what_follows_no_polynomial_of_a_low_degree_is_told():
    model = graph(
        "(float[n] x) => (y) { s = Shape (x)  t = Mul (s, s)  u = Mul (t, t)  v = Mul (u, s)  e = Expand (b, v)"
        "  y = Relu (e) }",
        b=ones(1),
    )
    inputs = [TensorSpec("x", "float32", ("n",))]
    assert model_cost(model, [spec.bind({"n": 3}) for spec in inputs]).flops == 3**5 + 3
    assert model_formulas(model, inputs) == NoFormulas("no-polynomial", ("n",))


def test_too_many_dimensions_are_told():
    names = [f"n{place}" for place in range(8)]
    text = ", ".join(f"float[{name}] x{place}" for place, name in enumerate(names))
    model = graph(f"({text}) => (y0) {{ {' '.join(f'y{n} = Relu (x{n})' for n in range(8))} }}")
    inputs = [TensorSpec(f"x{place}", "float32", (name,)) for place, name in enumerate(names)]
    assert model_formulas(model, inputs) == NoFormulas("too-many-dimensions", tuple(names))


@pytest.mark.parametrize("operator", ["own.Foo", "TopK"])
def test_an_operator_without_a_rule_is_left_out_of_formulas_and_told(operator):
    call = "t, i = TopK (r, k)" if operator == "TopK" else "t = own.Foo (r)"
    model = graph(f"(float[n, 8] x) => (t) {{ r = Relu (x)  {call} }}", k=np.array([2]))
    found = model_formulas(model, [TensorSpec("x", "float32", ("n", 8))])
    assert dict(found.total.flops.terms) == {(1,): 8}
    assert found.total.without_flops == 1
    assert [node.operator for node in found.example.uncounted] == [operator]


def frames(length, every):
    """Return a convolution that begins a window of some length every so many samples."""
    return graph(
        f"(float[batch, 1, time] x) => (y) {{ z = Conv <strides = [{every}]> (x, w)  y = Relu (z) }}",
        w=ones(3, 1, length),
    )


AUDIO = [TensorSpec("x", "float32", ("batch", 1, "time"))]


@pytest.mark.parametrize(
    ("length", "every", "step"), [(64, 32, 32), (256, 128, 128), (1024, 256, 512), (400, 160, 800)]
)
def test_formulas_of_windows_are_of_sizes_that_have_some(length: int, every: int, step: int):
    found = model_formulas(frames(length, every), AUDIO)
    assert isinstance(found, ModelFormulas)
    assert not found.example.empty
    assert found.multiple_of == step
    time = 4 * step
    count = (time - length) // every + 1
    assert found.total.macs.at({"batch": step, "time": time}) == step * 3 * length * count


def test_a_node_that_makes_nothing_of_something_is_named():
    assert model_cost(frames(64, 32), [AUDIO[0].bind({"batch": 1, "time": 32})]).empty == ("Conv of z",)
    assert not model_cost(frames(64, 32), [AUDIO[0].bind({"batch": 1, "time": 64})]).empty
