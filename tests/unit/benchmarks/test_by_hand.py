"""Graphs written by hand: how many nodes they have, and that both forms of each compute the same."""

from __future__ import annotations

from collections import Counter

import by_hand_models
import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest

from benchmarks.by_hand.passes import portable, vendor
from irbench.errors import IrbenchError

MODELS = {name: getattr(by_hand_models, name) for name in ("transformer_base", "bert_mini", "vit_tiny")}
ERROR = 1e-5


def answers(model, **changed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it warns of shapes that are not stated
    session = onnxruntime.InferenceSession(ir.to_proto(model).SerializeToString(), options)
    return session.run(None, {**by_hand_models.feed(model), **changed})


@pytest.mark.parametrize(
    ("name", "depth", "by_hand", "nodes"),
    [
        ("transformer_base", 6, portable, 110),
        ("transformer_base", 6, vendor, 44),
        ("bert_mini", 4, portable, 84),
        ("bert_mini", 4, vendor, 36),
        ("vit_tiny", 12, portable, 225),
        ("vit_tiny", 12, vendor, 93),
    ],
)
def test_a_graph_by_hand_has_as_few_nodes_as_its_operators_allow(name, depth, by_hand, nodes):
    model = MODELS[name](depth)
    assert by_hand(model)
    assert len(model.graph) == nodes
    assert Counter(node.op_type for node in model.graph)["Attention"] == depth


@pytest.mark.parametrize("name", MODELS)
def test_both_forms_of_a_graph_by_hand_answer_the_same(name):
    found = []
    for by_hand in (portable, vendor):
        model = MODELS[name](2)
        by_hand(model)
        found.append(answers(model))
    for item, other in zip(*found, strict=True):
        assert np.abs(item).max() > 0
        assert np.abs(item - other).max() <= ERROR * np.abs(item).max()


@pytest.mark.parametrize("by_hand", [portable, vendor])
def test_what_a_mask_leaves_out_has_no_influence_by_hand(by_hand):
    model = by_hand_models.bert_mini(1)
    by_hand(model)
    given = by_hand_models.feed(model)
    kept = given["mask"].astype(bool)
    first, _ = answers(model)
    second, _ = answers(model, tokens=np.where(kept, given["tokens"], 9).astype(np.int32))
    assert np.allclose(first[kept], second[kept], atol=ERROR)
    assert not np.allclose(first[~kept], second[~kept], atol=ERROR)


def test_only_the_portable_form_by_hand_can_be_read_by_every_runtime():
    for by_hand, domains in ((portable, {""}), (vendor, {"", "com.microsoft"})):
        model = by_hand_models.transformer_base(1)
        by_hand(model)
        assert {node.domain for node in model.graph} == domains
        assert set(model.graph.opset_imports) == domains


def test_a_model_that_nobody_wrote_by_hand_is_refused_by_its_name():
    model = by_hand_models.transformer_base(1)
    for name, value in list(model.graph.initializers.items()):
        value.name = name.replace("transformer_base_1/", "transformer_large_1/")
    with pytest.raises(IrbenchError, match="No graph of transformer_large was written by hand"):
        portable(model)


def test_a_layer_that_an_export_calls_otherwise_is_named():
    model = by_hand_models.transformer_base(1)
    for name, value in list(model.graph.initializers.items()):
        value.name = name.replace("block1_contract", "block1_narrow")
    with pytest.raises(IrbenchError, match="no weights of block1_contract"):
        portable(model)
