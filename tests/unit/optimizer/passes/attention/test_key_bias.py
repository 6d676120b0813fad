import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention

FEED = {"q": random(2, 5, 8), "k": random(2, 6, 8), "v": random(2, 6, 8)}
INPUTS = "float[2,5,8] q, float[2,6,8] k, float[2,6,8] v"
HEADS = "q_num_heads: int = 2, kv_num_heads: int = 2"
MASKED = np.arange(5)[:, None] < np.arange(6)


def make(mask="", inputs=INPUTS, bias=None, attributes=HEADS, before="", outputs="y", stated="float[2,5,8] y"):
    body = f"{before} kb = Add (k, bias)  {outputs} = Attention <{attributes}> (q, kb, v{mask})"
    weights = {
        "low": np.float32(-3e38),
        "zero": np.float32(0),
        "high": np.float32(-1e9),
        "whole": np.array([2, 1, 5, 6]),
    }
    return graph(f"({inputs}) => ({stated}) {{ {body} }}", {**weights, "bias": random(8) if bias is None else bias})


def test_rule_3_leaves_out_the_bias_of_keys():
    assert applied(fuse_attention, make(), FEED) == ["Attention"]


@pytest.mark.parametrize("low", ["low", "zero"])
@pytest.mark.parametrize("queries", [1, 5])
def test_rule_3_takes_a_mask_beside_which_scores_are_exact_or_nothing(low, queries):
    keep = np.zeros((2, 1, queries, 6), bool)
    keep[0, :, :, :3] = True
    model = make(
        ", mask",
        f"{INPUTS}, bool[2,1,{queries},6] keep",
        before=f"choice = Where (keep, zero, {low})  mask = Expand (choice, whole)",
    )
    assert applied(fuse_attention, model, {**FEED, "keep": keep}) == ["Where", "Expand", "Attention"]


def test_rule_3_takes_a_mask_of_truth_values():
    model = make(", keep", f"{INPUTS}, bool[5,6] keep")
    assert applied(fuse_attention, model, {**FEED, "keep": ~MASKED}) == ["Attention"]


KEPT = {
    "it differs from key to key": make(bias=random(6, 8)),
    "it is larger than the keys": make(bias=random(2, 1, 8), inputs=INPUTS.replace("float[2,6,8] k", "float[1,6,8] k")),
    "it is not finite": make(bias=np.full(8, np.inf, np.float32)),
    "scores have a cap": make(attributes=f"{HEADS}, softcap: float = 2.0"),
    "keys are an output too": make(outputs="y, p, s", stated="float[2,5,8] y, float[2,2,6,4] p"),
    "something else reads the sum": make(stated="float[2,5,8] y, float[2,6,8] kb"),
    "a mask of any numbers is added": make(", mask", f"{INPUTS}, float[5,6] mask"),
    "what is not kept is high": make(", mask", f"{INPUTS}, bool[5,6] keep", before="mask = Where (keep, zero, high)"),
}


@pytest.mark.parametrize("case", KEPT)
def test_rule_3_changes_nothing_where(case):
    assert kept(fuse_attention, KEPT[case])
