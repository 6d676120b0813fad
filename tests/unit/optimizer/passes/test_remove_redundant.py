import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import applied, graph, kept, operations, random

from irbench.optimizer.passes.remove_redundant import remove_redundant

TARGETS = {"rows": np.array([-1, 8]), "cube": np.array([2, 6, 8]), "flat": np.array([-1]), "one": np.array([1])}
TARGETS |= {"heads": np.array([2, 6, 4, 2]), "swapped": np.array([2, 8, 6]), "merged": np.array([12, 4, 2])}
SWAP = "Transpose <perm: ints = [0, 2, 1]>"
HEADS = "Transpose <perm: ints = [0, 2, 1, 3]>"

CHAINS = {
    "transpositions that cancel": (f"a = {SWAP} (x)  b = {SWAP} (a)  y = Relu (b)", ["Relu"]),
    "a transposition of nothing": ("a = Transpose <perm: ints = [0, 1, 2]> (x)  y = Relu (a)", ["Relu"]),
    "reshapes that cancel": ("a = Reshape (x, rows)  b = Reshape (a, cube)  y = Relu (b)", ["Relu"]),
    "reshapes that follow each other": ("a = Reshape (x, rows)  y = Reshape (a, flat)", ["Reshape"]),
    "axes that come and go": ("a = Unsqueeze (x, one)  b = Squeeze (a, one)  y = Relu (b)", ["Relu"]),
    "an axis that moves along": (f"a = Unsqueeze (x, one)  b = Squeeze (a, one)  y = {SWAP} (b)", ["Transpose"]),
    "transpositions around a reshape": (
        f"a = Reshape (x, heads)  b = {HEADS} (a)  c = {HEADS} (b)  y = Reshape (c, cube)  z = Relu (y)",
        ["Relu"],
    ),
    "a flattening": ("a = Unsqueeze (x, one)  y = Flatten <axis: int = 1> (a)", ["Reshape"]),
}


def make(body, output):
    output = "float[2,6,8] z" if "z =" in body else output
    return graph(f"(float[2,6,8] x) => ({output}) {{ {body} }}", TARGETS, 18)


@pytest.mark.parametrize("case", CHAINS)
def test_rule_1_joins(case):
    body, left = CHAINS[case]
    others = {"reshapes that follow each other": "96", "a flattening": "2,48", "an axis that moves along": "2,8,6"}
    model = make(body, f"float[{others.get(case, '2,6,8')}] y")
    assert applied(remove_redundant, model, {"x": random(2, 6, 8)}) == left


@pytest.mark.parametrize("size", [1, 3])
def test_rule_1_follows_free_sizes_by_name(size):
    body = f"a = Reshape (x, split)  b = {HEADS} (a)  c = {HEADS} (b)  d = Reshape (c, joined)  y = Relu (d)"
    weights = {"split": np.array([0, 0, 4, 2]), "joined": np.array([0, 0, 8])}
    model = graph(f"(float[batch,length,8] x) => (float[batch,length,8] y) {{ {body} }}", weights, 18)
    assert applied(remove_redundant, model, {"x": random(size, 5, 8)}) == ["Relu"]


LEFT = {
    "do different things": f"a = {SWAP} (x)  y = Reshape (a, cube)",
    "cut an axis crosswise": f"a = {SWAP} (x)  b = Reshape (a, cube)  y = {SWAP} (b)",
}


@pytest.mark.parametrize("case", LEFT)
def test_rule_1_leaves_changes_of_layout_that(case):
    axes = "2,8,6" if "y = Transpose" in LEFT[case] else "2,6,8"
    assert kept(remove_redundant, make(LEFT[case], f"float[{axes}] y"))


def test_rule_1_leaves_what_somebody_else_reads_but_reads_past_it():
    body = f"a = {SWAP} (x)  b = {SWAP} (a)  y = Relu (b)  u = Neg (a)"
    model = graph(f"(float[2,6,8] x) => (float[2,6,8] y, float[2,8,6] u) {{ {body} }}", TARGETS, 18)
    assert sorted(applied(remove_redundant, model, {"x": random(2, 6, 8)})) == ["Neg", "Relu", "Transpose"]


def test_rule_1_keeps_an_output_in_the_middle():
    body = f"u = {SWAP} (x)  b = {SWAP} (u)  y = Relu (b)"
    model = graph(f"(float[2,6,8] x) => (float[2,6,8] y, float[2,8,6] u) {{ {body} }}", TARGETS, 18)
    assert sorted(applied(remove_redundant, model, {"x": random(2, 6, 8)})) == ["Relu", "Transpose"]


def test_rule_2_drops_a_cast_to_the_same_type():
    model = graph("(float[3] x) => (float[3] y) { a = Cast <to: int = 1> (x)  y = Relu (a) }")
    assert applied(remove_redundant, model, {"x": random(3)}) == ["Relu"]


def test_rule_3_skips_a_cast_that_loses_nothing():
    body = "a = Cast <to: int = 11> (x)  b = Cast <to: int = 1> (a)  y = Relu (b)"
    assert applied(remove_redundant, graph(f"(float[3] x) => (float[3] y) {{ {body} }}"), {"x": random(3)}) == ["Relu"]


@pytest.mark.parametrize(
    ("source", "between"),
    [("int8", "BFLOAT16"), ("uint8", "FLOAT16"), ("int16", "FLOAT"), ("int32", "DOUBLE"), ("bool", "UINT8")],
)
def test_rule_3_skips_a_type_that_holds_every_number(source, between):
    assert not kept(remove_redundant, _through(source, between, "float"))


@pytest.mark.parametrize(
    ("source", "between", "target"),
    [
        ("float", "INT32", "float"),
        ("int64", "DOUBLE", "int64"),
        ("int32", "FLOAT", "int32"),
        ("int16", "FLOAT16", "float"),
        ("uint16", "BFLOAT16", "float"),
        ("float16", "BFLOAT16", "float"),
        ("float", "STRING", "double"),
        ("int8", "FLOAT", "string"),
    ],
)
def test_rule_3_keeps_a_cast_that_rounds_or_writes(source, between, target):
    assert kept(remove_redundant, _through(source, between, target))


def _through(source, between, target):
    first, last = ir.DataType[between].value, onnx.TensorProto.DataType.Value(target.upper())
    body = f"a = Cast <to: int = {first}> (x)  y = Cast <to: int = {last}> (a)"
    return graph(f"({source}[3] x) => ({target}[3] y) {{ {body} }}")


def test_rule_4_drops_identities():
    model = graph("(float[3] x) => (float[3] y) { a = Identity (x)  y = Relu (a) }")
    assert applied(remove_redundant, model, {"x": random(3)}) == ["Relu"]


HANDED_ON = """
    y = If (c) <
        then_branch = yes () => (float[3] o1) { o1 = Neg (r) },
        else_branch = no () => (float[3] o2) { o2 = Identity (r) }
    >
"""


@pytest.mark.parametrize("c", [True, False])
def test_rule_4_keeps_what_hands_a_value_out_of_a_branch(c):
    model = graph(f"(bool c, float[3] x) => (float[3] y) {{ i = Identity (x)  r = Relu (i)  {HANDED_ON} }}")
    assert applied(remove_redundant, model, {"c": np.array(c), "x": random(3)}) == ["Relu", "If"]


def test_rule_4_drops_what_only_renames_within_a_branch():
    branches = HANDED_ON.replace("o1 = Neg (r)", "a = Identity (r)  b = Neg (a)  o1 = Identity (b)")
    model = graph(f"(bool c, float[3] x) => (float[3] y) {{ r = Relu (x)  {branches} }}")
    applied(remove_redundant, model, {"c": np.array(True), "x": random(3)})
    assert sorted(node.op_type for node in model.graph.all_nodes()) == ["Identity", "If", "Neg", "Relu"]


def padded(pads):
    text = '(float[2,4] x) => (float[2,4] y) { a = Pad <mode: string = "reflect"> (x, pads)  y = Relu (a) }'
    return graph(text, {"pads": np.array(pads)}, 18)


def test_rule_4_drops_a_pad_by_nothing():
    assert applied(remove_redundant, padded([0, 0, 0, 0]), {"x": random(2, 4)}) == ["Relu"]


def test_rule_4_keeps_a_pad_that_moves_elements():
    assert kept(remove_redundant, padded([0, 1, 0, -1]))


def test_rule_4_keeps_a_pad_of_which_only_the_caller_knows_by_how_much():
    text = "(float[2,4] x, int64[4] pads) => (float[n,m] y) { a = Pad (x, pads)  y = Relu (a) }"
    assert kept(remove_redundant, graph(text, {}, 18))


def test_rule_4_keeps_two_outputs_of_one_value():
    model = graph("(float[3] x) => (float[3] y, float[3] z) { y = Relu (x)  z = Identity (y) }")
    assert kept(remove_redundant, model)


def test_rule_4_brings_together_what_cancels():
    model = make(f"a = {SWAP} (x)  i = Identity (a)  b = {SWAP} (i)  y = Relu (b)", "float[2,6,8] y")
    assert applied(remove_redundant, model, {"x": random(2, 6, 8)}) == ["Relu"]


def test_rule_5_computes_once_what_is_computed_twice_even_from_equal_constants():
    body = "a = Add (x, c)  b = Add (x, d)  y = Mul (a, b)"
    model = graph(
        f"(float[3] x) => (float[3] y) {{ {body} }}", {"c": np.ones(3, np.float32), "d": np.ones(3, np.float32)}
    )
    assert applied(remove_redundant, model, {"x": random(3)}) == ["Add", "Mul"]


RANDOM = {
    "Bernoulli (x)": True,
    "RandomUniformLike (x)": True,
    "Dropout (x, half, on)": True,
    "Dropout (x, half, learning)": True,
    "Dropout (x, half, off)": False,
    "Dropout (x)": False,
}


@pytest.mark.parametrize("operation", RANDOM)
def test_rule_5_draws_as_often_as_before(operation):
    body = f"a = {operation}  b = {operation}  y = Sub (a, b)"
    weights = {"half": np.float32(0.5), "on": np.array(True), "off": np.array(False)}
    model = graph(f"(float[3] x, bool learning) => (float[3] y) {{ {body} }}", weights)
    assert kept(remove_redundant, model) == RANDOM[operation]


def test_rule_5_joins_what_stands_beside_random_operations():
    body = "r = Bernoulli (x)  a = Relu (x)  b = Relu (x)  s = Mul (a, b)  y = Add (r, s)"
    model = graph(f"(float[3] x) => (float[3] y) {{ {body} }}")
    assert remove_redundant(model)
    assert operations(model) == ["Bernoulli", "Relu", "Mul", "Add"]
    onnx.checker.check_model(ir.to_proto(model), full_check=True)


def test_rule_5_asks_a_vendors_operation_as_often_as_before():
    body = "a = com.microsoft.Noise (x)  b = com.microsoft.Noise (x)  y = Sub (a, b)"
    model = graph(f"(float[3] x) => (float[3] y) {{ {body} }}")
    assert kept(remove_redundant, model)
    assert not any(node.attributes for node in model.graph)


def test_rule_6_drops_what_no_output_needs():
    model = graph("(float[3] x) => (float[3] y) { a = Relu (x)  b = Neg (a)  y = Abs (x) }")
    assert applied(remove_redundant, model, {"x": random(3)}) == ["Abs"]


@pytest.mark.parametrize("operation", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("other", ["2,6,8", "1,6,1"])
def test_rule_7_transposes_what_is_computed_and_not_each_operand(operation, other):
    body = f"a = {SWAP} (x)  b = {SWAP} (z)  y = {operation} (a, b)"
    model = graph(f"(float[2,6,8] x, float[{other}] z) => (float[2,8,6] y) {{ {body} }}")
    feed = {"x": random(2, 6, 8), "z": np.abs(random(*map(int, other.split(",")))) + 1}
    assert applied(remove_redundant, model, feed) == [operation, "Transpose"]


TRANSPOSED = {
    "in two ways": f"a = {SWAP} (x)  b = Transpose <perm: ints = [2, 1, 0]> (z)  y = Add (a, b)  w = Relu (z)",
    "and read by others": f"a = {SWAP} (x)  b = {SWAP} (z)  y = Add (a, b)  w = Relu (a)",
    "alone": f"a = {SWAP} (x)  y = Add (a, z)  w = Relu (z)",
}


@pytest.mark.parametrize("case", TRANSPOSED)
def test_rule_7_leaves_operands_that_are_transposed(case):
    text = f"(float[8,8,8] x, float[8,8,8] z) => (float[8,8,8] y, float[8,8,8] w) {{ {TRANSPOSED[case]} }}"
    assert kept(remove_redundant, graph(text))


def test_rule_7_leaves_operands_of_unlike_ranks_that_both_turn_all_axes_around():
    signature = "(float[4,4,4] x, float[4,4] z) => (float[4,4,4] y)"
    assert kept(remove_redundant, graph(f"{signature} {{ a = Transpose (x)  b = Transpose (z)  y = Add (a, b) }}"))
