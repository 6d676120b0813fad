import numpy as np
import pytest
from graphs import answered, applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_grouped_queries import fuse_grouped_queries

WEIGHTS = {
    "third": np.array([3]),
    "second": np.array([2]),
    "inner": np.array([1, 1, 1, 2, 1]),
    "whole": np.array([2, 5, 4, 8]),
    "heads_first": np.array([1, 1, 2, 1, 1]),
    "to": np.array([2, 2, 2, 5, 8]),
    "whole_first": np.array([2, 4, 5, 8]),
    "indices": np.array([0, 0, 1, 1]),
}
SIGNATURE = "(float[2,4,5,8] q, float[2,5,2,8] k, float[2,5,2,8] v, float[2,1,5,5] mask) => (float[2,4,5,8] y)"
TILED = "{x}5 = Unsqueeze ({x}, third)  {x}t = Tile ({x}5, inner)  {x}w = Reshape ({x}t, whole)"
TILED += "  {x}h = Transpose <perm: ints = [0, 2, 1, 3]> ({x}w)"
FIRST = "{x}f = Transpose <perm: ints = [0, 2, 1, 3]> ({x})  "
REPEATS = {
    "Tile, as Keras writes it": TILED,
    "Expand, as PyTorch writes it": FIRST
    + "{x}5 = Unsqueeze ({x}f, second)  {x}t = Expand ({x}5, to)  {x}h = Reshape ({x}t, whole_first)",
    "Gather of heads": FIRST + "{x}h = Gather <axis: int = 1> ({x}f, indices)",
    "Gather before heads are turned": "{x}g = Gather <axis: int = 2> ({x}, indices)"
    "  {x}h = Transpose <perm: ints = [0, 2, 1, 3]> ({x}g)",
}
ATTENTION = "y = Attention <scale: float = 0.5> (q, kh, vh, mask)"


def feed(mask="half", heads=2):
    lowest = np.float32(-1e9)
    masks = {
        "ones": np.zeros((2, 1, 5, 5), np.float32),
        "zeros": np.full((2, 1, 5, 5), lowest),
        "half": np.triu(np.full((2, 1, 5, 5), lowest), 1),
        "random": np.where(random(2, 1, 5, 5) > 0, lowest, np.float32(0)),
    }
    keys = {"k": random(2, 5, heads, 8), "v": random(2, 5, heads, 8) + 1}
    return {"q": random(2, 4, 5, 8), **keys, "mask": masks[mask]}


def make(repeat, values=None, attention=ATTENTION, signature=SIGNATURE, **weights):
    body = f"{repeat.format(x='k')}  {(values or repeat).format(x='v')}  {attention}"
    return graph(f"{signature} {{ {body} }}", {**WEIGHTS, **weights})


@pytest.mark.parametrize("repeat", REPEATS)
def test_rule_1_drops_what_repeats_heads_by(repeat):
    model = make(REPEATS[repeat])
    found = applied(fuse_grouped_queries, model, feed())
    assert not {"Tile", "Expand", "Gather"} & set(found)
    assert list(model.graph[-1].inputs[1].shape) == [2, 2, 5, 8]


@pytest.mark.parametrize("mask", ["ones", "zeros", "half", "random"])
def test_answers_are_equal_under_a_mask_of(mask):
    found = applied(fuse_grouped_queries, make(TILED), feed(mask))
    assert "Tile" not in found


def test_one_head_may_be_concatenated_for_all():
    repeat = FIRST + "{x}h = Concat <axis: int = 1> ({x}f, {x}f, {x}f, {x}f)"
    model = make(repeat, signature=SIGNATURE.replace("5,2,8", "5,1,8"))
    assert "Concat" not in applied(fuse_grouped_queries, model, feed(heads=1))


def test_one_head_may_be_tiled_for_all():
    model = make(TILED, signature=SIGNATURE.replace("5,2,8", "5,1,8"), inner=np.array([1, 1, 1, 4, 1]))
    assert "Tile" not in applied(fuse_grouped_queries, model, feed(heads=1))


def test_batch_and_length_may_be_dynamic():
    signature = "(float[b,4,s,8] q, float[b,s,2,8] k, float[b,s,2,8] v, float[b,1,s,s] mask) => (float[b,4,s,8] y)"
    model = make(TILED, signature=signature, whole=np.array([0, 0, -1, 8]))
    assert "Tile" not in applied(fuse_grouped_queries, model, feed())


def test_what_is_repeated_may_be_read_elsewhere():
    signature = SIGNATURE.replace("8] y)", "8] y, float[2,5,4,8] kw)")
    model = make(TILED, signature=signature)
    before = answered(model, feed())
    assert fuse_grouped_queries(model)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(answered(model, feed()), before, strict=True))
    assert list(model.graph[-1].inputs[1].shape) == [2, 2, 5, 8]


IN_TURN = "{x}5 = Unsqueeze ({x}, second)  {x}t = Tile ({x}5, heads_first)  {x}w = Reshape ({x}t, whole)"
IN_TURN += "  {x}h = Transpose <perm: ints = [0, 2, 1, 3]> ({x}w)"
ONCE = "{x}h = Transpose <perm: ints = [0, 2, 1, 3]> ({x})"
NOT_GROUPED = {
    "heads take turns": (IN_TURN, None),
    "only keys are repeated": (TILED, "{x}h = Relu (v4)"),
    "heads are gathered in turn": (REPEATS["Gather of heads"].replace("indices", "turns"), None),
    "heads are gathered unequally": (REPEATS["Gather of heads"].replace("indices", "unequal"), None),
    "heads are gathered in another order": (REPEATS["Gather of heads"].replace("indices", "backwards"), None),
}


@pytest.mark.parametrize("case", NOT_GROUPED)
def test_nothing_is_shared_where(case):
    keys, values = NOT_GROUPED[case]
    weights = {"turns": np.array([0, 1, 0, 1]), "unequal": np.array([0, 0, 0, 1]), "backwards": np.array([1, 1, 0, 0])}
    signature = SIGNATURE.replace("k, ", "k, float[2,4,5,8] v4, ")
    assert kept(fuse_grouped_queries, make(keys, values, signature=signature, **weights))


def test_nothing_is_shared_where_keys_are_repeated_more_often_than_values():
    signature = SIGNATURE.replace("float[2,5,2,8] v", "float[2,5,1,8] v")
    values = TILED.replace("inner", "four_times")
    model = make(TILED, values, signature=signature, four_times=np.array([1, 1, 1, 4, 1]))
    assert kept(fuse_grouped_queries, model)


def test_nothing_is_shared_where_the_width_is_repeated():
    widened = "{x}5 = Unsqueeze ({x}f0, fourth)  {x}t = Tile ({x}5, last)  {x}h = Reshape ({x}t, whole_first)"
    repeat = "{x}f0 = Transpose <perm: ints = [0, 2, 1, 3]> ({x})  " + widened
    signature = SIGNATURE.replace("5,2,8", "5,4,4")
    weights = {"fourth": np.array([4]), "last": np.array([1, 1, 1, 1, 2])}
    assert kept(fuse_grouped_queries, make(repeat, signature=signature, **weights))


def test_nothing_is_shared_where_no_constant_can_take_two_dynamic_axes_apart():
    repeat = "{x}1 = Reshape ({x}, rows)  {x}2 = Expand ({x}1, pairs)  {x}3 = Reshape ({x}2, target)"
    repeat += "  {x}h = Transpose <perm: ints = [0, 2, 1, 3]> ({x}3)"
    computed = "bl = Shape <start: int = 0, end: int = 2> (k)  target = Concat <axis: int = 0> (bl, last_two)  "
    model = make(
        computed + repeat.format(x="k"),
        repeat,
        signature="(float[b,4,s,8] q, float[b,s,2,8] k, float[b,s,2,8] v, float[b,1,s,s] mask) => (float[b,4,s,8] y)",
        rows=np.array([-1, 2, 1, 8]),
        pairs=np.array([1, 1, 2, 1]),
        last_two=np.array([4, 8]),
    )
    assert kept(fuse_grouped_queries, model)


def test_nothing_is_shared_where_sizes_are_unknown():
    model = make(TILED)
    for value in model.graph.inputs:
        value.shape = None
    assert kept(fuse_grouped_queries, model)
