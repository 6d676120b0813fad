"""Attention as PyTorch's exporters write it: zeros for what is not a number, and batch and heads in one axis."""

from collections.abc import Iterator

import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention

FEED = {"q": random(2, 4, 5, 8), "k": random(2, 4, 6, 8), "v": random(2, 4, 6, 3)}
NUMBERS = {"root": np.float32(0.6), "zero": np.float32(0), "small": np.float32(0.1)}
SCORES = "kt = Transpose <perm: ints = [0, 1, 3, 2]> (k)  qs = Mul (q, root)  ks = Mul (kt, root)  m = MatMul (qs, ks)"
GUARD = "p = Softmax <axis: int = -1> (a)  n = IsNaN (p)  w = Where (n, zero, p)  y = MatMul (w, v)"
SIGNATURE = "float[2,4,5,8] q, float[2,4,6,8] k, float[2,4,6,3] v"
KEEPS = {
    "every key": np.ones((1, 1, 5, 6), bool),
    "no key": np.zeros((2, 1, 1, 6), bool),
    "no key of some rows": np.tri(5, 6, k=-2, dtype=bool),
    "all keys of one sample": np.broadcast_to(np.arange(2).reshape(2, 1, 1, 1) > 0, (2, 1, 1, 6)),
    "other keys for each head": random(2, 4, 5, 6) > 0.8,
}


@pytest.fixture(autouse=True)
def _rows_that_are_not_a_number() -> Iterator[None]:
    with np.errstate(invalid="ignore", over="ignore"):
        yield


def make(body, inputs="", output="float[2,4,5,3] y", **weights):
    return graph(f"({SIGNATURE}{inputs}) => ({output}) {{ {body} }}", {**NUMBERS, **weights})


def sizes(array):
    return ",".join(map(str, array.shape))


@pytest.mark.parametrize("case", KEEPS)
def test_zeros_stay_where_minus_infinity_is_put_for_every_key(case):
    model = make(
        f"{SCORES} a = Where (keep, m, low)  {GUARD}", f", bool[{sizes(KEEPS[case])}] keep", low=np.float32(-np.inf)
    )
    found = applied(fuse_attention, model, {**FEED, "keep": KEEPS[case]})
    assert found[-3:] == ["ReduceMax", "Attention", "Where"]
    assert "Softmax" not in found


@pytest.mark.parametrize("case", KEEPS)
def test_zeros_stay_where_minus_infinity_is_added_for_every_key(case):
    mask = np.where(KEEPS[case], 0, np.float32(-np.inf))
    model = make(f"{SCORES} a = Add (m, mask)  {GUARD}", f", float[{sizes(mask)}] mask")
    found = applied(fuse_attention, model, {**FEED, "mask": mask})
    assert found[-4:] == ["Greater", "ReduceMax", "Attention", "Where"] or "Reshape" in found


@pytest.mark.parametrize("case", KEEPS)
def test_zeros_stay_where_a_constant_adds_minus_infinity_for_every_key(case):
    model = make(f"{SCORES} a = Add (m, mask)  {GUARD}", mask=np.where(KEEPS[case], 0, np.float32(-np.inf)))
    has_rows = not KEEPS[case].any(-1).all()
    assert applied(fuse_attention, model, FEED) == ["Attention", *(["Where"] if has_rows else [])]


@pytest.mark.parametrize("case", KEEPS)
def test_no_row_becomes_zero_where_the_numbers_of_a_mask_are_finite(case):
    body = f"{SCORES} mask = Where (keep, zero, low)  a = Add (m, mask)  {GUARD}"
    model = make(body, f", bool[{sizes(KEEPS[case])}] keep", low=np.finfo(np.float32).min)
    found = applied(fuse_attention, model, {**FEED, "keep": KEEPS[case]})
    assert [name for name in found if name != "Expand"] == ["Where", "Max", "Attention"]


def test_zeros_stay_where_two_finite_masks_add_up_to_minus_infinity():
    body = f"{SCORES} one = Where (keep, zero, low)  b = Add (m, one)  a = Add (b, two)  {GUARD}"
    lowest = np.finfo(np.float32).min
    model = make(body, ", bool[1,1,5,6] keep", low=lowest, two=np.full((5, 6), lowest))
    found = applied(fuse_attention, model, {**FEED, "keep": KEEPS["no key of some rows"][None, None]})
    assert found[-1] == "Where"


def test_scores_without_a_mask_are_never_hidden():
    model = make(f"{SCORES} {GUARD.replace('(a)', '(m)')}")
    assert applied(fuse_attention, model, FEED)[-1] == "Attention"


LEFT = {
    "another number is put": GUARD.replace("zero", "small"),
    "weights are put to zero that are a number": GUARD.replace("(n, zero, p)", "(n, p, zero)"),
    "scores are tested": GUARD.replace("IsNaN (p)", "IsNaN (a)"),
    "others read the weights": f"{GUARD}  z = Relu (p)",
    "others read the test": f"{GUARD}  z = Cast <to: int = 1> (n)",
}


@pytest.mark.parametrize("case", LEFT)
def test_nothing_is_fused_where(case):
    output = "float[2,4,5,3] y" + (", float[2,4,5,6] z" if "z = " in LEFT[case] else "")
    assert kept(fuse_attention, make(f"{SCORES} a = Add (m, mask)  {LEFT[case]}", output=output, mask=random(5, 6)))


JOINED = {"q": random(8, 5, 4), "k": random(8, 6, 4), "v": random(8, 6, 3)}
OF_JOINED = "float[8,5,4] q, float[8,6,4] k, float[8,6,3] v"


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize("shape", [(8, 5, 6), (1, 5, 6), (5, 6), (8, 1, 6)])
def test_a_mask_is_taken_where_batch_and_heads_are_one_axis(shape, guard):
    mask = np.where(random(*shape) > 0.8, 0, np.float32(-np.inf if guard else -1e4))
    end = GUARD if guard else "w = Softmax (a)  y = MatMul (w, v)"
    body = f"kt = Transpose <perm: ints = [0, 2, 1]> (k)  m = MatMul (q, kt)  a = Add (m, mask)  {end}"
    model = graph(f"({OF_JOINED}, float[{sizes(mask)}] mask) => (float[8,5,3] y) {{ {body} }}", NUMBERS)
    found = applied(fuse_attention, model, {**JOINED, "mask": mask})
    assert "Attention" in found
    assert "Softmax" not in found
