"""The tour of keras-hub's backbones: what it compares, and what its page says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import backbones
from benchmarks.backbone_check import MASKS, CheckRequest, GraphError, check_graphs, feeds_of
from benchmarks.backbone_notes import WHAT_STAYS
from benchmarks.backbone_table import Backbone, as_page, as_table
from irbench.errors import ExitCode, IrbenchError
from irbench.onnx.rewriting.bind import bind
from irbench.spec import InputSpec, TensorSpec

MASK = InputSpec(TensorSpec("padding_mask", "int32", ("batch", 6)), 0, 2, is_mask=True)
TOKENS = InputSpec(TensorSpec("token_ids", "int32", ("batch", 6)), 0, 50)
BACKENDS = ("ort", "openvino")
OPERATORS = {
    "none": {"MatMul": 20, "Add": 30},
    "basic": {"MatMul": 20, "LayerNormalization": 5},
    "extended": {"MatMul": 4, "Attention": 2, "LayerNormalization": 4},
    "all": {"MatMul": 4, "com.microsoft.Attention": 2},
}


def found(errors: tuple[GraphError, ...] = (), name: str = "bert") -> Backbone:
    return Backbone(name, OPERATORS, errors)


def test_masks_keep_everything_nothing_half_and_some_and_other_inputs_stay_the_same():
    feeds = feeds_of((MASK, TOKENS), {"batch": 2}, seed=3)
    assert tuple(feeds) == MASKS
    assert {kind: arrays[0].tolist() for kind, arrays in feeds.items() if kind != "random"} == {
        "ones": [[1] * 6] * 2,
        "zeros": [[0] * 6] * 2,
        "half": [[1, 1, 1, 0, 0, 0]] * 2,
    }
    random, _ = feeds["random"]
    assert sorted(np.unique(random)) == [0, 1]
    assert all(np.array_equal(tokens, feeds["ones"][1]) for _, tokens in feeds.values())


def test_a_model_without_masks_is_fed_once():
    positions = InputSpec(TensorSpec("masked_positions", "int32", ("batch", 6)), 0, 50)
    assert tuple(feeds_of((TOKENS, positions), {"batch": 2}, seed=0)) == ("random",)


def test_graphs_are_compared_with_the_exported_one_on_every_runtime(tmp_path: Path):
    exported = models.mlp(tmp_path)
    bound = bind(exported, {"batch": 2}, tmp_path)
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    graphs = {"none": bound, "broken": replace(bound, path=tmp_path / "broken.onnx")}
    inputs = tuple(InputSpec(spec, -1.0, 1.0) for spec in exported.inputs)
    right, broken = check_graphs(CheckRequest(bound, graphs, inputs, {"batch": 2}, 0, ("ort",)))
    assert (right.level, right.backend, right.failure) == ("none", "ort", "")
    assert right.max_rel is not None
    assert right.max_rel < 1e-5
    assert (broken.level, broken.max_rel) == ("broken", None)
    assert broken.failure


def test_a_graph_that_computes_something_else_is_wrong(tmp_path: Path):
    import onnx
    from onnx import numpy_helper

    bound = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    model = onnx.load(bound.path)
    for weight in model.graph.initializer:
        if weight.data_type == onnx.TensorProto.FLOAT:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.1), weight.name))
    onnx.save(model, tmp_path / "changed.onnx")
    graphs = {"basic": replace(bound, path=tmp_path / "changed.onnx")}
    inputs = tuple(InputSpec(spec, -1.0, 1.0) for spec in bound.inputs)
    (wrong,) = check_graphs(CheckRequest(bound, graphs, inputs, {"batch": 2}, 0, ("ort",)))
    assert wrong.failure.startswith("masks of random: ")
    assert Backbone("mlp", OPERATORS, (wrong,)).wrong == (wrong,)


def test_a_row_has_nodes_what_is_fused_and_the_largest_error_on_each_runtime():
    errors = (
        GraphError("none", "ort", 1e-7),
        GraphError("none", "openvino", 4e-7),
        GraphError("basic", "ort", 2e-7),
        GraphError("all", "ort", 3e-7),
        GraphError("basic", "openvino", 5e-7),
    )
    line = as_table([found(errors)], BACKENDS).as_markdown().splitlines()[-1]
    assert line == (
        "| bert | 50 | 25 | 10 | 6 | 2 Attention, 4 LayerNormalization | 2 Attention | 3e-07 | 5e-07 | 1e-07 | 4e-07 |"
    )


def test_an_error_of_the_runtime_itself_does_not_speak_against_the_graph_and_one_of_the_graph_does():
    off = GraphError("none", "openvino", 5e-3, "masks of ones: off")
    spoilt = found((off, GraphError("extended", "openvino", 5e-3, "masks of ones: off")))
    assert spoilt.is_complete
    assert not found((GraphError("none", "ort", 0.0), GraphError("all", "ort", 0.3, "masks of half: off"))).is_complete
    page = as_page([spoilt], BACKENDS, (2, 16), {"keras-hub": "0.32.0"})
    assert "bert on openvino is off as exported, too" in page
    assert "WRONG" not in page


def test_the_page_names_what_failed_what_is_wrong_and_what_stays_large():
    large = replace(found(name="swin"), operators={**OPERATORS, "extended": {"MatMul": 11}})
    wrong = found((GraphError("all", "ort", 0.3, "masks of half: off"),), name="gpt2")
    page = as_page([found(), large, wrong, Backbone("xlnet", failure="no memory")], BACKENDS, (2, 16), {})
    assert "- 3 of 4 were exported and optimised." in page
    assert "- 2 have at most a fifth of the exported nodes at `extended`: all but swin" in page
    assert "- WRONG: gpt2 at `all` on ort: masks of half: off" in page
    assert "| xlnet | failed: no memory |" in page


def test_the_page_says_what_stays_and_why_of_backbones_that_it_shows():
    page = as_page([found(), found(name="vit_det")], BACKENDS, (2, 16), {})
    assert "- In vit_det stays: two normalisations over channels that stay first" in page
    assert "In gemma2" not in page


def test_only_backbones_of_the_zoo_have_notes():
    assert {f"{backbones.PREFIX}{name}" for name in WHAT_STAYS} <= set(backbones.names())


def test_a_backbone_that_fails_is_a_row_and_the_tour_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def optimize(model: str, **_: object) -> None:
        raise IrbenchError(f"{model} draws random numbers.", hint="")

    monkeypatch.setattr(backbones, "missing_distributions", lambda _: ())
    monkeypatch.setattr(backbones, "version", lambda _: "1.0")
    monkeypatch.setattr(backbones.irbench, "optimize", optimize)
    called = CliRunner().invoke(backbones.main, ["--only", "gemma*", "-o", str(tmp_path / "page.md")])
    assert called.exit_code == ExitCode.DIFFERENT
    page = (tmp_path / "page.md").read_text()
    assert page.count("draws random numbers.") == 3


@pytest.mark.parametrize(
    ("arguments", "missing", "said"),
    [(["--only", "no_such"], (), "No backbone is called like no_such"), ([], ("keras-hub",), "is not installed")],
)
def test_what_cannot_be_done_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, arguments, missing, said):
    monkeypatch.setattr(backbones, "missing_distributions", lambda _: missing)
    called = CliRunner().invoke(backbones.main, arguments)
    assert called.exit_code == ExitCode.USAGE
    assert said in called.output.replace("\n", " ")
