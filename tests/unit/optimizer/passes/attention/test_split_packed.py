import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.split_packed import split_packed

CUT = {
    "to": np.array([0, 5, 3, 4, 2]),
    "axis": np.array([0]),
    "first": np.array(0),
    "second": np.array(1),
    "last": np.array(-1),
}
OUTPUTS = "float[2,4,5,2] q, float[2,4,5,2] k, float[2,4,5,2] v"
PACKED = "r = Reshape (x, to)  t = Transpose <perm: ints = [2, 0, 3, 1, 4]> (r)  "
SPLIT = "a, b, c = Split <axis: int = 0, num_outputs: int = 3> (t)  "
SQUEEZED = "q1 = Squeeze (a, axis)  k1 = Squeeze (b, axis)  v1 = Squeeze (c, axis)  "
GATHERED = "q1 = Gather (t, first)  k1 = Gather (t, second)  v1 = Gather (t, last)  "
END = "q = Relu (q1)  k = Relu (k1)  v = Relu (v1)"


def make(body, batch="2", **weights):
    return graph(f"(float[{batch},5,24] x) => ({OUTPUTS.replace('[2', f'[{batch}')}) {{ {body} }}", {**CUT, **weights})


@pytest.mark.parametrize("body", [SPLIT + SQUEEZED, GATHERED], ids=["split", "gather"])
@pytest.mark.parametrize("batch", ["2", "n"])
def test_rules_1_and_2_split_before_the_axes_are_cut(body, batch):
    found = applied(split_packed, make(f"{PACKED} {body} {END}", batch), {"x": random(2, 5, 24)})
    assert sorted(found) == ["Relu"] * 3 + ["Reshape"] * 3 + ["Split"] + ["Transpose"] * 3
    assert found[0] == "Split"


SLICED = "".join(
    f"{name}0 = Slice (t, from{place}, from{place + 1}, axis)  {name}1 = Squeeze ({name}0, axis)  "
    for place, name in enumerate("qkv")
)
BOUNDS = {f"from{place}": np.array([place]) for place in range(4)}


@pytest.mark.parametrize("batch", ["2", "n"])
def test_rule_3_takes_slices_of_one_part_each(batch):
    found = applied(split_packed, make(f"{PACKED} {SLICED} {END}", batch, **BOUNDS), {"x": random(2, 5, 24)})
    assert sorted(found) == ["Relu"] * 3 + ["Reshape"] * 3 + ["Split"] + ["Transpose"] * 3


def test_what_is_packed_without_heads_is_split_too():
    cut = {**CUT, "to": np.array([0, 5, 3, 8])}
    text = f"(float[n,5,24] x) => ({OUTPUTS.replace('[2,4,5,2]', '[5,n,8]')}) {{ r = Reshape (x, to)  "
    model = graph(f"{text} t = Transpose <perm: ints = [2, 1, 0, 3]> (r)  {GATHERED} {END} }}", cut)
    found = applied(split_packed, model, {"x": random(2, 5, 24)})
    assert sorted(found) == ["Relu"] * 3 + ["Split"] + ["Transpose"] * 3


STAY = {
    "the heads are split": PACKED.replace("[2, 0, 3, 1, 4]", "[3, 0, 2, 1, 4]") + SPLIT.replace("3>", "4>"),
    "the whole is read too": f"{PACKED} {SPLIT} all = Relu (t)",
    "a part holds two": f"{PACKED} a, b = Split <axis: int = 0> (t, twoone)",
    "a slice holds two": f"{PACKED} a = Slice (t, from1, from3, axis)",
    "another axis is sliced": f"{PACKED} a = Slice (t, from0, from1, one)",
    "another axis is cut too": f"o = Reshape (x, other)  t = Transpose <perm: ints = [2, 0, 3, 1, 4]> (o)  {SPLIT}",
}


@pytest.mark.parametrize("case", STAY)
def test_what_is_packed_stays_where(case):
    text = f"(float[2,5,24] x) => (float[m] z) {{ {STAY[case]} y = ReduceSum <keepdims: int = 0> (a)  "
    rest = "w = ReduceSum <keepdims: int = 0> (all)  z = Add (w, y) }" if "all" in STAY[case] else "z = Relu (y) }"
    arrays = {"twoone": np.array([2, 1]), "other": np.array([1, 10, 3, 4, 2]), "one": np.array([1])}
    assert kept(split_packed, graph(text + rest, {**CUT, **BOUNDS, **arrays}))
