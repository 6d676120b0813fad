"""What ``irbench cost`` prints, also on terminals of many widths."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cost_tables import FREE, LACKING, MODEL, TEXT, WEIGHTS, as_formulas, at_batch, shown
from golden_files import check_golden
from written_graphs import graph, ones

from irbench.cost_model.counting import model_cost
from irbench.cost_model.formulas import Polynomial, model_formulas
from irbench.features.cost.formula_texts import bytes_text, count_text, exact_text
from irbench.features.cost.view import GraphCosts, cost_csv
from irbench.onnx.operator_classes import OPERATOR_CLASS_TEXTS, OperatorClass
from irbench.spec import TensorSpec


@pytest.mark.parametrize("width", [80, 140])
def test_costs_are_shown_by_class_and_operator(width):
    check_golden(f"cost-{width}", shown(at_batch(MODEL, 8), width))


def test_costs_are_shown_by_node():
    check_golden("cost-nodes", shown(at_batch(MODEL, 8), 140, per_node=True))


def test_costs_of_dynamic_dimensions_are_formulas():
    check_golden("cost-formulas", shown(as_formulas(MODEL), 140))


def test_an_operator_and_a_class_have_their_class():
    costs = at_batch(MODEL, 1)
    assert {row.name: row.operator_class for row in costs.rows("op")}["Conv"] == "matrix"
    assert all(row.operator_class == row.name for row in costs.rows("class"))
    assert costs.total.operator_class == ""
    assert {row.executions for row in costs.rows("node")} == {1}
    assert {row.executions for row in as_formulas(MODEL).rows("node")} == {None}


def test_formulas_say_for_which_sizes_they_hold():
    window = graph(
        "(float[batch, length, 32] q) => (y) { y = com.microsoft.GroupQueryAttention"
        " <num_heads = 2, kv_num_heads = 2, local_window_size = 64> (q, q, q) }"
    )
    inputs = (TensorSpec("q", "float32", ("batch", "length", 32)),)
    found = model_formulas(window, inputs)
    text = shown(GraphCosts("net", found.example, found, inputs), 140)
    assert "\nThe formulas hold for sizes from 1 to 4096 (batch) and 64 (length).\n" in text
    pooled = graph("(float[batch, 1, h, 8] x) => (y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }")
    inputs = (TensorSpec("x", "float32", (1, 1, "h", 8)),)
    found = model_formulas(pooled, inputs)
    text = shown(GraphCosts("net", found.example, found, inputs), 140)
    assert "\nThe formulas hold for multiples of 32 from 32 to 4096; sizes between are rounded.\n" in text


def test_what_is_not_counted_is_named_and_sums_say_that_they_are_a_lower_bound():
    text = shown(at_batch(LACKING, 1), 140)
    assert "\nat least 3.74 MFLOP (at least 1.77 MMAC). It reads at least " in text
    assert "Not counted, no rule for the operator: TopK (TopK of best); own.Rank (Rank of z)." in text
    assert "Bytes do not include 1 node of unknown shape or element type." in text


def cells(text, label):
    """Return the cells of the row of a table that begins with a label, those of the first such row."""
    line = next(line for line in text.splitlines() if line.startswith(label))
    return re.split(r" {2,}", line)


def test_what_is_unknown_is_neither_zero_nor_a_share():
    text = shown(at_batch(LACKING, 1), 140)
    heading = cells(text, "operator")
    sorting, ranking = (dict(zip(heading, cells(text, name), strict=True)) for name in ("TopK", "own.Rank"))
    assert (sorting["MACs"], sorting["FLOP"], sorting["of FLOP"]) == ("0", "-", "-")
    assert (ranking["MACs"], ranking["read"], ranking["written"], ranking["of bytes"]) == ("-", "-", "-", "-")
    assert "%" not in text
    (other,) = (row for row in at_batch(LACKING, 1).rows("op") if row.name == "own.Rank")
    assert (other.macs, other.flops, other.read_bytes, other.without_macs) == (None, None, None, 1)


def test_only_the_sums_that_lack_nodes_are_marked():
    sorting = graph(TEXT.replace("(f, v) }", "(f, v)  best, at = TopK (scores, two) }"), **WEIGHTS, two=np.array([2]))
    text = shown(at_batch(sorting, 1), 140)
    assert "\nat least 3.74 MFLOP (1.77 MMAC). It reads " in text
    heading, total = cells(text, "class"), cells(text, "total")
    figures = dict(zip(heading, total, strict=True))
    assert (figures["MACs"], figures["FLOP"], figures["of FLOP"]) == ("1.77 M", "≥ 3.74 M", "-")
    assert figures["of bytes"] == "100.0 %"


def test_formulas_say_what_the_file_calls_the_batch():
    costs = as_formulas(MODEL)
    assert "\nFormulas in batch. For numbers" in shown(costs, 140)
    assert "\nFormulas in batch (tokens in the file). For numbers" in shown(replace(costs, batch_in_file="tokens"), 140)


def test_formulas_mark_what_lacks_nodes():
    text = shown(as_formulas(LACKING), 140)
    assert "\nFLOP: at least 3.74 M·batch; MACs: at least 1.77 M·batch\n" in text
    assert cells(text, "total")[-1].startswith("≥ ")
    assert cells(text, "own.Rank")[2:] == ["-", "-", "0", "-"]


def test_a_graph_of_which_nothing_is_known_has_unknown_costs():
    model = graph("(float[2, 3] x) => (y) { y = own.Foo (x) }")
    inputs = (TensorSpec("x", "float32", (2, 3)),)
    text = shown(GraphCosts("net", model_cost(model, inputs), None, inputs), 140)
    assert "\nunknown FLOP (unknown MAC). The bytes that it reads and writes are unknown.\n" in text


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


def test_the_headline_says_what_most_of_the_work_is_as_a_noun():
    text = "(float[s, 1, 4] x) => (y) { y, h = GRU <hidden_size = 8> (x, w, r) }"
    model = graph(text, w=ones(1, 24, 4), r=ones(1, 24, 8))
    inputs = (TensorSpec("x", "float32", (3, 1, 4)),)
    printed = shown(GraphCosts("net", model_cost(model, inputs), None, inputs), 140)
    assert "100.0 % of it in recurrent layers. It reads" in printed


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


def attention_formulas():
    text = (
        "(float[batch, length, 96] x) => (y) { t = Transpose <perm = [0, 2, 1]> (x)  s = MatMul (x, t)"
        "  a = MatMul (s, x)  y = MatMul (a, w) }"
    )
    inputs = (TensorSpec("x", "float32", ("batch", "length", 96)),)
    found = model_formulas(graph(text, w=ones(96, 8000)), inputs)
    return GraphCosts("net", found.example, found, inputs)


def test_formulas_are_folded_between_their_terms():
    printed = shown(attention_formulas(), 80)
    assert re.search(r"^total +4 +192·batch·length² \+ +384·batch·length² \+ +\d", printed, re.MULTILINE)
    assert re.search(r"^ +768 k·batch·length +1.54 M·batch·length( |$)", printed, re.MULTILINE)
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("width", [60, 80])
def test_every_formula_is_shown_on_a_narrow_terminal(width, per_node):
    costs = attention_formulas()
    printed = shown(costs, width, per_node=per_node)
    assert max(map(len, printed.splitlines())) <= width
    assert "too narrow" not in printed
    wide = shown(costs, 300, per_node=per_node)
    assert terms_of_tables(printed) == terms_of_tables(wide)
    headings = [line.removeprefix("class").split() for line in printed.splitlines() if line.startswith("class ")]
    assert len(headings) > 1
    shown_columns = " ".join(word for heading in headings for word in heading)
    assert shown_columns == "nodes MACs FLOP parameters bytes read and written"


LONG = "/model/decoder/layers.2/encoder_attention/"


def long_names():
    text = (
        "(float[batch, sequence_length, 384] x, float[batch, past_sequence_length, 384] past) => (y)"
        " { q = MatMul (x, w)  k = Transpose <perm = [0, 2, 1]> (past)  s = MatMul (q, k)  p = Softmax (s)"
        "  a = MatMul (p, past)  y = LayerNormalization (a, g) }"
    )
    shapes = {"x": ("batch", "sequence_length", 384), "past": ("batch", "past_sequence_length", 384)}
    inputs = tuple(TensorSpec(name, "float32", shape) for name, shape in shapes.items())
    made = graph(text, w=ones(384, 384), g=ones(384))
    for node in made.graph.node:
        node.name = f"{LONG}{node.output[0]}_projection/{node.op_type}"
    found = model_formulas(made, inputs)
    return GraphCosts("net", found.example, found, inputs)


@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("width", [60, 70, 72, 80])
def test_formulas_of_long_names_are_nowhere_cut_and_keep_their_units(width, per_node):
    printed = shown(long_names(), width, per_node=per_node)
    assert max(map(len, printed.splitlines())) <= width
    assert "cut at column" not in printed
    wide = shown(long_names(), 400, per_node=per_node)
    for heading in ("MACs", "FLOP", "bytes read and written"):
        lines = lines_of_columns(printed, heading)
        assert "".join(lines).replace(" ", "") == "".join(lines_of_columns(wide, heading)).replace(" ", "")
        assert not any(re.match(r"[kMG]?B?·|[kMG]?B\b", line) for line in lines)


def lines_of_columns(printed, heading):
    """Return what stands below a heading in each table that has it."""
    found = []
    for first, *rest in (table.splitlines() for table in printed.split("\n\n")):
        if first.startswith(("class ", "node ", "operator ")) and (at := f"{first}  ".find(f" {heading}  ") + 1):
            after = re.search(r"  +(?=\w)", first[at:])
            found += [line[at : at + after.end() if after else None].strip() for line in rest]
    return found


def terms_of_tables(printed):
    return {*re.findall(r"[\w.]+(?: [kMGB]+)?·[\w·²]+", printed[printed.index("class ") :])}


def test_columns_that_a_narrow_terminal_hides_are_named():
    said = "hidden, the terminal is too narrow: parameters, weights, FLOP/byte; see --format csv"
    assert " ".join(shown(at_batch(MODEL, 8), 80).split()).count(said) == 2


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_nodes_of_a_narrow_terminal_are_not_cut_without_a_word(width):
    nodes = MODEL.graph.node
    named = type(MODEL)()
    named.CopyFrom(MODEL)
    for node, of in zip(named.graph.node, nodes, strict=True):
        node.name = f"encoder/layer_11/attention/self/{of.name}"
    lines = shown(at_batch(named, 8), width, per_node=True).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("node "))
    heading, *rest = lines[start:]
    hidden = " ".join(" ".join(rest).split()).partition("hidden, the terminal is too narrow: ")[2].partition(";")[0]
    headings = {*re.split(r" {2,}", heading), *hidden.split(", ")}
    wide = next(line for line in shown(at_batch(named, 8), 300, per_node=True).splitlines() if line[:5] == "node ")
    assert headings == set(re.split(r" {2,}", wide))
