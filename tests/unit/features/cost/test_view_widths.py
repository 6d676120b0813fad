"""What ``irbench cost`` prints on terminals of many widths: nothing is cut without a word."""

from __future__ import annotations

import re

import pytest
from cost_tables import MODEL, at_batch, shown
from written_graphs import graph, ones

from irbench.cost_model.formulas import model_formulas
from irbench.features.cost.view import GraphCosts
from irbench.spec import TensorSpec


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
