"""Packed projections are split where attention is fused behind them, and nowhere else."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import applied, graph, kept, operations, random

from irbench.core import registry
from irbench.optimizer.passes.attention.fuse_attention import fuse_attention
from irbench.optimizer.passes.attention.split_for_attention import split_for_attention
from irbench.optimizer.recipe import LEVELS
from tests.graph_fuzz.cases import case

WEIGHTS = {
    "to": np.array([0, 5, 3, 4, 2]),
    "first": np.array(0),
    "second": np.array(1),
    "last": np.array(2),
    "joined": np.array([0, 5, 8]),
}
PACKED = """
    r = Reshape (x, to)  t = Transpose <perm: ints = [2, 0, 3, 1, 4]> (r)
    q = Gather (t, first)  k = Gather (t, second)  v = Gather (t, last)
    kt = Transpose <perm: ints = [0, 1, 3, 2]> (k)  s = MatMul (q, kt)
"""
END = "o = MatMul (w, v)  h = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (h, joined)"


def make(weights):
    return graph(f"(float[n,5,24] x) => (float[n,5,8] y) {{ {PACKED} {weights} {END} }}", WEIGHTS)


def test_what_is_packed_is_split_where_attention_is_fused_behind_it():
    model = make("w = Softmax (s)")
    assert "Split" in applied(split_for_attention, model, {"x": random(2, 5, 24)})
    assert fuse_attention(model)
    assert operations(model) == ["Split", "Attention"]


def test_what_is_packed_stays_where_no_attention_is_fused_behind_it():
    assert kept(split_for_attention, make("w = Sigmoid (s)"))


def test_nothing_is_split_where_the_operator_set_has_no_attention():
    model = graph(f"(float[n,5,24] x) => (float[n,5,8] y) {{ {PACKED} w = Softmax (s) {END} }}", WEIGHTS, opset=22)
    assert kept(split_for_attention, model)


def size(model):
    return sum(1 for _ in model.graph.all_nodes())


_PATTERNS = ["packed projection", "products of grouped heads", "multi head", "repeated keys", "relative positions"]


@pytest.mark.ci
@pytest.mark.parametrize("number", range(4))
def test_extended_leaves_no_graph_larger_than_basic(number):
    made = case(number, 4, _PATTERNS)
    model = onnx.load_from_string(made.content)
    if model.opset_import[0].version < 23:
        model = onnx.version_converter.convert_version(model, 23)
    model = ir.from_proto(model)
    for name in LEVELS["basic"]:
        registry.graph_pass(name)(model)
    basic = size(model)
    for name in LEVELS["extended"][len(LEVELS["basic"]) :]:
        registry.graph_pass(name)(model)
    assert size(model) <= basic
