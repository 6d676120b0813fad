"""Attention with two terms of relative positions, as DeBERTa has it: batch and heads are one axis of its scores."""

import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.onnx.shapes import infer
from irbench.optimizer.passes.attention.fuse_attention import fuse_attention

HEADS, LENGTH, WIDTH, POSITIONS = 4, 5, 8, 6
NUMBERS = {
    "root": np.float32(5.0),
    "low": np.float32(np.finfo(np.float32).min),
    "split": np.array([0, 0, HEADS, WIDTH]),
    "positions": random(1, WIDTH, POSITIONS),
    "places": np.random.default_rng(3).integers(0, POSITIONS, (1, LENGTH, LENGTH)),
    "merged": np.array([-1, LENGTH, WIDTH]),
    "apart": np.array([-1, HEADS, LENGTH, LENGTH]),
    "joined": np.array([0, 0, HEADS * WIDTH]),
    "length": np.array([LENGTH]),
}
SPLIT = "".join(
    f"{name}r = Reshape ({name}, split)  {name}h = Transpose <perm: ints = [0, 2, 1, 3]> ({name}r)  " for name in "qkv"
)
PRODUCT = """
    qm = Reshape (qh, merged)  km = Reshape (kh, merged)
    kt = Transpose <perm: ints = [0, 2, 1]> (km)  ks = Div (kt, root)  scores = MatMul (qm, ks)
"""
TERMS = """
    rows = Shape <start: int = 0, end: int = 2> (qm)  sizes = Concat <axis: int = 0> (rows, length)
    all = Expand (places, sizes)
    qp = MatMul (qm, positions)  qg = GatherElements <axis: int = 2> (qp, all)  content = Div (qg, root)
    kp = MatMul (km, positions)  kg = GatherElements <axis: int = 2> (kp, all)
    kgt = Transpose <perm: ints = [0, 2, 1]> (kg)  place = Div (kgt, root)
    terms = Add (content, place)  biased = Add (scores, terms)  four = Reshape (biased, apart)
"""
END = """
    w = Softmax <axis: int = -1> (chosen)  o = MatMul (w, vh)
    ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (ot, joined)
"""
CHOICE = "chosen = Where (keep, four, low)"


def make(choice=CHOICE, batch="batch", terms=TERMS, **weights):
    inputs = ", ".join(f"float[{batch},{LENGTH},{HEADS * WIDTH}] {name}" for name in "qkv")
    signature = f"({inputs}, bool[{batch},1,{LENGTH},{LENGTH}] keep)"
    text = f"{signature} => (float[{batch},{LENGTH},{HEADS * WIDTH}] y) {{ {SPLIT} {PRODUCT} {terms} {choice} {END} }}"
    model = graph(text, {**NUMBERS, **weights})
    infer(model)
    return model


def feed(batch):
    keep = random(batch, 1, LENGTH, LENGTH) > 0
    keep[0, 0, 1] = False
    return {**{name: random(batch, LENGTH, HEADS * WIDTH) for name in "qkv"}, "keep": keep}


@pytest.mark.parametrize("batch", [1, 2, "batch"])
def test_both_terms_are_added_as_one_mask(batch):
    found = applied(fuse_attention, make(batch=batch), feed(3 if batch == "batch" else batch))
    assert found.count("Attention") == 1
    assert "Softmax" not in found
    assert found.count("MatMul") == 2  # those of the terms


def test_terms_stand_beside_a_row_that_keeps_no_key():
    arrays = {**feed(2), "keep": np.zeros((2, 1, LENGTH, LENGTH), bool)}
    assert "Attention" in applied(fuse_attention, make(), arrays)


def test_a_bias_of_every_head_has_one_axis_for_batch_and_heads():
    terms = "biased = Add (scores, bias)  four = Reshape (biased, apart)"
    assert "Attention" in applied(fuse_attention, make(terms=terms, bias=random(1, LENGTH, LENGTH)), feed(2))


def test_two_dynamic_sizes_are_read_from_inputs():
    inputs = ", ".join(f"float[batch,{HEADS},length,{WIDTH}] {name}" for name in "qkv")
    body = """
        before = Shape <start: int = 0, end: int = 3> (q)  keys = Shape <start: int = 2, end: int = 3> (k)
        sizes = Concat <axis: int = 0> (before, keys)  rows = Shape <start: int = 2> (q)
        merged = Concat <axis: int = 0> (rest, rows)
        qm = Reshape (q, merged)  qt = Transpose <perm: ints = [0, 2, 1]> (qm)  bias = MatMul (qm, qt)
        km = Reshape (k, merged)  kt = Transpose <perm: ints = [0, 2, 1]> (km)  scores = MatMul (qm, kt)
        biased = Add (bias, scores)  four = Reshape (biased, sizes)  w = Softmax (four)  y = MatMul (w, v)
    """
    model = graph(f"({inputs}) => (float[batch,{HEADS},length,{WIDTH}] y) {{ {body} }}", {"rest": np.array([-1])})
    found = applied(fuse_attention, model, {name: random(2, HEADS, 7, WIDTH) for name in "qkv"})
    assert found.count("Attention") == 1
    assert found.count("MatMul") == 1


def test_what_is_divided_by_what_may_be_zero_is_no_bias():
    inverse = TERMS.replace("Div (kgt, root)", "Div (kgt, divisors)")
    assert kept(fuse_attention, make(terms=inverse, divisors=np.array([0, 1, 1, 1, 1], np.float32)))


def test_a_quotient_that_may_hide_keys_is_no_bias():
    inverse = TERMS.replace("Div (kgt, root)", "Div (kgt, root_of_mask)")
    assert kept(fuse_attention, make(terms=inverse, root_of_mask=np.float32(1e-9)))
