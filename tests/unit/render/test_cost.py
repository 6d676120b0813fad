"""What ``irbench cost`` prints."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest
from golden_files import check_golden
from rich.console import Console
from written_graphs import graph, ones

from irbench.cost_model import model_cost
from irbench.cost_model.formulas import ModelFormulas, model_formulas
from irbench.cost_model.polynomials import Polynomial
from irbench.onnx.operator_classes import OperatorClass
from irbench.render.cost import GraphCosts, cost_csv, cost_view
from irbench.render.cost_quantities import bytes_text, count_text, exact_text
from irbench.render.operator_class_texts import OPERATOR_CLASS_TEXTS
from irbench.spec import TensorSpec

TEXT = (
    "(float[batch, 3, 32, 32] image) => (scores) { [conv] c = Conv <pads = [1, 1, 1, 1]> (image, w, b)"
    "  [relu] r = Relu (c)  [pool] p = GlobalAveragePool (r)  [flat] f = Flatten (p)  [dense] scores = MatMul (f, v) }"
)
WEIGHTS = {"w": ones(64, 3, 3, 3), "b": ones(64), "v": ones(64, 10)}
MODEL = graph(TEXT, **WEIGHTS)
FREE = TensorSpec("image", "float32", ("batch", 3, 32, 32))
_MORE = "(f, v)  best, at = TopK (scores, two)  z = own.Rank (best) }"
LACKING = graph(TEXT.replace("(f, v) }", _MORE), **WEIGHTS, two=np.array([2]))


def at_batch(model, batch):
    inputs = (FREE.bind({"batch": batch}),)
    return GraphCosts("net", model_cost(model, inputs), None, inputs)


def as_formulas(model):
    found = model_formulas(model, (FREE,))
    assert isinstance(found, ModelFormulas)
    return GraphCosts("net", found.example, found, (FREE,))


def shown(costs, width, *, per_node=False):
    console = Console(width=width, no_color=True, color_system=None)
    with console.capture() as capture:
        console.print(cost_view(costs, per_node=per_node), highlight=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


@pytest.mark.parametrize("width", [80, 140])
def test_costs_are_shown_by_class_and_operator(width):
    check_golden(f"cost-{width}", shown(at_batch(MODEL, 8), width))


def test_costs_are_shown_by_node():
    check_golden("cost-nodes", shown(at_batch(MODEL, 8), 140, per_node=True))


def test_costs_of_dynamic_dimensions_are_formulas():
    check_golden("cost-formulas", shown(as_formulas(MODEL), 140))


def test_what_is_not_counted_is_named_and_sums_say_that_they_are_a_lower_bound():
    text = shown(at_batch(LACKING, 1), 140)
    assert "\nat least 3.74 MFLOP" in text
    assert "Not counted, no rule for the operator: TopK (TopK of best); own.Rank (Rank of z)." in text
    assert "Bytes do not include 1 node of unknown shape or element type." in text


def test_bytes_of_several_element_types_are_told_apart():
    text = "(float[batch, 3, 32, 32] image) => (y) { q = QuantizeLinear (image, s, z)  y = DequantizeLinear (q, s, z) }"
    model = graph(text, s=np.float32(1), z=np.int8(0))
    assert "Activations read and written: 24.6 kB of float32 and 6.14 kB of int8." in shown(at_batch(model, 1), 140)
    assert "of float32" not in shown(at_batch(MODEL, 1), 140)


def test_a_table_for_programs_has_every_digit_and_no_unit():
    rows = list(csv.DictReader(cost_csv(at_batch(MODEL, 1), per_node=True).splitlines()))
    assert {row["scope"] for row in rows} == {"total", "class", "op", "node"}
    (conv,) = [row for row in rows if row["name"] == "conv"]
    assert (conv["operator"], conv["operator_class"], conv["macs"]) == ("Conv", "matrix", str(64 * 32 * 32 * 27))
    assert rows[0]["flops_per_byte"]


def test_formulas_in_a_table_for_programs_can_be_evaluated():
    total, *_ = csv.DictReader(cost_csv(as_formulas(MODEL)).splitlines())
    assert eval(total["macs"], {"batch": 5}) == at_batch(MODEL, 5).cost.macs


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.00 k"), (999_600, "1.00 M"), (25_636_712, "25.6 M"), (4 * 10**12, "4.00 T")],
)
def test_a_count_has_three_digits_and_a_prefix(count, text):
    assert count_text(count) == text


def test_an_unknown_count_is_not_zero():
    assert (count_text(None), bytes_text(None), exact_text(None)) == ("-", "-", "")


def terms(*factors):
    return Polynomial(("n", "a + b"), tuple((powers, Fraction(factor)) for powers, factor in factors))


@pytest.mark.parametrize(
    ("formula", "text", "exact"),
    [
        (terms(((2, 0), 1), ((0, 1), 3000)), "n² + 3.00 k·(a + b)", "1*n**2 + 3000*(a + b)"),
        (terms(((1, 0), "1/2"), ((0, 0), -7)), "0.500·n - 7", "1/2*n + -7"),
        (terms(((1, 0), 10_000), ((0, 0), 4)), "10.0 k·n", "10000*n + 4"),
        (terms(((1, 0), 10_000), ((0, 1), 4)), "10.0 k·n + 4·(a + b)", "10000*n + 4*(a + b)"),
        (terms(), "0", "0"),
    ],
)
def test_a_formula_leaves_out_what_does_not_show_and_has_it_for_programs(formula, text, exact):
    assert (count_text(formula), exact_text(formula)) == (text, exact)


def test_bytes_have_their_unit_in_every_term():
    assert bytes_text(terms(((1, 0), 2_000_000), ((0, 0), 900_000))) == "2.00 MB·n + 900 kB"


def test_every_class_of_operators_has_words():
    assert set(OPERATOR_CLASS_TEXTS) == set(OperatorClass)


def test_a_name_cannot_steer_a_terminal():
    costs = GraphCosts("net\x1b[31m", at_batch(MODEL, 1).cost, None, (FREE.bind({"batch": 1}),))
    assert "\x1b" not in shown(costs, 100)


def test_formulas_of_nodes_have_no_number_of_executions():
    header = next(
        line for line in shown(as_formulas(MODEL), 140, per_node=True).splitlines() if line.startswith("node")
    )
    assert header.split() == ["node", "operator", "MACs", "FLOP", "parameters", "bytes", "read", "and", "written"]
