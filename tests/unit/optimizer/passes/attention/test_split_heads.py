"""Attention whose heads are split already may state how many they are."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention
from irbench.optimizer.passes.attention.pack_attention import pack_attention

SPLIT = "".join(
    f"s{name} = Reshape ({name}, {shape})  h{name} = Transpose <perm: ints = [0, 2, 1, 3]> (s{name})  "
    for name, shape in (("q", "queries"), ("k", "keys"), ("v", "keys"))
)
JOINED = "t = Transpose <perm: ints = [0, 2, 1, 3]> (a)  y = Reshape (t, joined)"
SHAPES = {"queries": np.array([2, 5, 4, 8]), "keys": np.array([2, 6, 2, 8]), "joined": np.array([2, 5, 32])}
SIGNATURE = "(float[2,5,32] q, float[2,6,16] k, float[2,6,16] v) => (float[2,5,32] y)"
FEED = {"q": random(2, 5, 32), "k": random(2, 6, 16), "v": random(2, 6, 16)}


@pytest.mark.parametrize("stated", ["", "<q_num_heads: int = 4, kv_num_heads: int = 2>"])
def test_heads_are_joined_whether_they_are_stated_or_not(stated):
    model = graph(f"{SIGNATURE} {{ {SPLIT} a = Attention {stated} (hq, hk, hv)  {JOINED} }}", SHAPES)
    assert applied(fuse_attention, model, FEED) == ["Attention"]
    (attention,) = model.graph
    assert [attention.attributes.get_int(name) for name in ("q_num_heads", "kv_num_heads")] == [4, 2]


def test_attention_of_split_heads_is_not_packed_although_it_states_them():
    signature = "(float[2,4,5,8] q, float[2,4,6,8] k, float[2,4,6,8] v) => (float[2,4,5,8] y)"
    biases = {f"b{name}": random(8) + number for number, name in enumerate("qkv")}
    sums = "".join(f"s{name} = Add ({name}, b{name})  " for name in "qkv")
    body = f"{sums} y = Attention <q_num_heads: int = 4, kv_num_heads: int = 4> (sq, sk, sv)"
    assert kept(pack_attention, graph(f"{signature} {{ {body} }}", biases))
