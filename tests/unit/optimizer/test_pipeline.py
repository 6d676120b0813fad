"""Each pass is checked before the next begins, and one that breaks the model is named."""

from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import graph
from onnx import TensorProto, helper, numpy_helper

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.onnx.reading import signature
from irbench.optimizer import Conversion, Recipe
from irbench.optimizer.job import MODEL_FILE, OptimizationJob
from irbench.optimizer.pipeline import run_job
from irbench.spec import Artifact, Bundle, TensorSpec


@pytest.fixture
def optimized(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,))
    folder = tmp_path / "result"
    folder.mkdir()

    def run(*passes, conversion=None, layout="keep"):
        asked = Recipe("custom", passes, conversion, layout)
        job = OptimizationJob(artifact, bundle, {"batch": 2}, asked, folder, "ort", "ort")
        outcome = run_job(job, lambda _: None)
        run.agreement = outcome.agreement
        return outcome.steps

    run.artifact = artifact
    run.result = folder / MODEL_FILE
    return run


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def test_the_graph_as_it_came_is_the_first_step(optimized):
    (first,) = optimized()
    assert (first.name, first.modified, first.nodes) == ("original", False, 6)
    assert operators(optimized.result) == ["Conv", "Relu", "MaxPool", "Flatten", "Gemm", "Softmax"]


def test_a_pass_that_changes_something_is_checked_and_counted(optimized):
    _, step = optimized("fake-harmless")
    assert step.modified
    assert step.nodes == 7
    assert step.operators["Identity"] == 1
    assert step.max_rel_error == 0
    assert "Identity" in operators(optimized.result)


ATTENDED = "t = Transpose <perm: ints = [0, 2, 1]> (r)  m = MatMul (r, t)  w = Softmax (m)  y = MatMul (w, v)"
ROWS = {
    "from a shape": "n = Shape (x)  i = Mod (n, large)  r = Reshape (x, i)  j = Mod (n, larger)  v = Reshape (x, j)",
    "from values": "z = ReduceMax <keepdims: int = 0> (x)  i = Cast <to: int = 7> (z)  n = Shape (x)"
    "  o = Mul (i, zeros)  p = Add (n, o)  r = Reshape (x, p)  s = Sub (n, o)  v = Reshape (x, s)",
    "by name": "r = Relu (x)  v = Neg (x)",
}


@pytest.mark.parametrize("rows", ROWS)
def test_it_is_known_whether_bound_sizes_let_attention_be_fused(tmp_path, rows):
    weights = {"large": np.array([998]), "larger": np.array([999]), "zeros": np.zeros(3, np.int64)}
    model = graph(f"(float[batch,tokens,8] x) => (float[a,b,c] y) {{ {ROWS[rows]}  {ATTENDED} }}", weights, 23)
    path = tmp_path / "attention.onnx"
    onnx.save(ir.to_proto(model), path)
    found = signature.read(path)
    artifact = Artifact("onnx", path, found.inputs, found.outputs)
    bundle = Bundle("attention", models.logical_inputs(artifact), (artifact,))
    asked, sizes = Recipe("custom", ("fold_shapes", "fuse_attention")), {"batch": 2, "tokens": 3}
    outcome = run_job(OptimizationJob(artifact, bundle, sizes, asked, tmp_path, "ort", "ort"), lambda _: None)
    assert outcome.fuses_when_bound == (rows == "from a shape")


def test_a_pass_that_finds_nothing_to_do_is_a_step_without_an_error(optimized):
    _, step = optimized("fake-idle")
    assert not step.modified
    assert step.max_rel_error is None


def test_passes_build_on_each_other(optimized):
    assert [step.nodes for step in optimized("fake-harmless", "fake-idle", "fake-harmless")] == [6, 7, 7, 8]


def test_the_operator_set_is_raised_once_for_the_pass_that_needs_the_latest(optimized):
    steps = optimized("fake-harmless", "fake-later")
    assert [step.name for step in steps] == ["original", "raise_opset", "fake-harmless", "fake-later"]
    assert onnx.load(optimized.result).opset_import[0].version == 20


def test_the_operator_set_of_a_graph_with_a_vendors_operator_is_raised_too(optimized):
    model = onnx.load(optimized.artifact.path)
    last = model.graph.node[-1]
    model.graph.node.append(helper.make_node("Gelu", ["before"], list(last.output), domain="com.microsoft"))
    last.output[0] = "before"
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, optimized.artifact.path)
    raised = optimized("fake-later")[1]
    assert (raised.name, raised.modified, raised.max_rel_error) == ("raise_opset", True, 0)
    assert {opset.domain: opset.version for opset in onnx.load(optimized.result).opset_import} == {
        "": 20,
        "com.microsoft": 1,
    }


def test_a_vendors_operator_is_noted(optimized):
    _, step = optimized("fake-vendors")
    assert step.vendor == "com.microsoft"
    assert step.operators["com.microsoft.FusedConv"] == 1


@pytest.mark.parametrize("conversion", [None, Conversion("fp16")])
def test_onnxs_own_evaluator_can_check_the_steps(tmp_path, conversion):
    artifact = models.mlp(tmp_path)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,))
    asked = Recipe("custom", ("fake-harmless",), conversion)
    outcome = run_job(OptimizationJob(artifact, bundle, {"batch": 2}, asked, tmp_path, "onnx"), lambda _: None)
    assert outcome.steps[1].max_rel_error == 0
    assert conversion is None or (outcome.agreement is not None and outcome.agreement.by == "onnx")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fake-wrong", "wrong outputs"),
        ("fake-invalid", "breaks mlp: it is not a valid ONNX model"),
        ("fake-failing", "KeyError"),
    ],
)
def test_a_pass_that_breaks_the_model_is_named_with_the_way_around_it(optimized, name, said):
    with pytest.raises(IrbenchError) as caught:
        optimized("fake-harmless", name)
    assert caught.value.message.startswith(f"The pass {name} breaks mlp: ")
    assert said in caught.value.message
    assert caught.value.hint == "Leave it out: `--passes fake-harmless`"


def test_inputs_that_cannot_be_turned_are_told_with_the_way_around_it(optimized, monkeypatch):
    def fail(_model):
        raise KeyError("perm")

    monkeypatch.setattr("irbench.optimizer.pipeline.inputs_to_nchw", fail)
    with pytest.raises(IrbenchError, match="The pass inputs_to_nchw breaks mlp: KeyError: 'perm'") as caught:
        optimized("fake-harmless", layout="nchw")
    assert caught.value.hint == "Leave --layout nchw out."


def test_a_graph_that_turning_its_inputs_breaks_is_told_with_the_way_around_it(optimized, monkeypatch):
    monkeypatch.setattr("irbench.optimizer.pipeline.inputs_to_nchw", registry.graph_pass("fake-wrong"))
    monkeypatch.setattr("irbench.optimizer.pipeline.as_nchw", lambda artifact, _: artifact)
    with pytest.raises(IrbenchError, match="The pass inputs_to_nchw breaks mlp: wrong outputs") as caught:
        optimized("fake-harmless", layout="nchw")
    assert caught.value.hint == "Leave --layout nchw out."


@pytest.mark.parametrize(
    ("conversion", "name", "most"),
    [
        (Conversion("fp16"), "narrow_to_fp16", 5e-3),
        (Conversion("bf16"), "narrow_to_bf16", 5e-2),
        (Conversion("int8", samples=16), "quantize_static", 5e-2),
        (Conversion("int8", "dynamic"), "quantize_dynamic", 5e-2),
    ],
)
def test_a_conversion_is_the_last_step_and_keeps_the_signature(optimized, conversion, name, most):
    *_, harmless, last = optimized("fake-harmless", conversion=conversion)
    assert (harmless.name, last.name, last.modified) == ("fake-harmless", name, True)
    agreement = optimized.agreement
    assert 0 < agreement.error.max_rel < most
    is_measured = name.startswith("quantize") or agreement.computed_in in name
    assert last.max_rel_error == (agreement.error.max_rel if is_measured else None)
    before, after = (signature.read(path) for path in (optimized.artifact.path, optimized.result))
    assert (after.inputs, after.outputs) == (before.inputs, before.outputs)


def test_what_was_converted_is_not_converted_again(optimized, tmp_path):
    optimized(conversion=Conversion("int8", samples=16))
    converted, asked = replace(optimized.artifact, path=optimized.result), Recipe("none-fp16", (), Conversion("fp16"))
    with pytest.raises(IrbenchError, match="mlp is already int8") as caught:
        run_job(OptimizationJob(converted, Bundle("mlp", (), ()), {}, asked, tmp_path, "ort"), print)
    assert "fp32 graph" in caught.value.hint


def integers(folder: Path) -> Artifact:
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT64, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, ["batch", 2])],
    )
    path = folder / "integers.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    spec = TensorSpec("x", "int64", ("batch", 2))
    return Artifact("onnx", path, (spec,), (replace(spec, name="y"),), opset=18)


@pytest.mark.parametrize("precision", ["fp16", "bf16", "int8"])
def test_a_graph_without_anything_to_convert_is_refused(tmp_path, precision):
    artifact = integers(tmp_path)
    bundle = Bundle("integers", models.logical_inputs(artifact), (artifact,))
    asked = Recipe(f"none-{precision}", (), Conversion(precision))
    with pytest.raises(IrbenchError, match=f"nothing to convert to {precision}") as caught:
        run_job(OptimizationJob(artifact, bundle, {"batch": 1}, asked, tmp_path, "ort", "ort"), lambda _: None)
    assert caught.value.hint


@pytest.mark.parametrize(("precision", "other"), [("fp16", "bf16"), ("bf16", "fp16"), ("int8", "--quantize")])
def test_a_conversion_that_breaks_the_model_is_named_with_the_ways_around_it(optimized, monkeypatch, precision, other):
    def spoil(source, target, *_):
        model = onnx.load(source)
        next(node for node in model.graph.node if node.op_type == "Relu").op_type = "Rilu"
        onnx.save(model, target)
        return "spoiled"

    monkeypatch.setattr("irbench.optimizer.pipeline.convert", spoil)
    with pytest.raises(IrbenchError, match=rf"mlp cannot be converted to {precision}: .*Rilu") as caught:
        optimized(conversion=Conversion(precision))
    assert other in caught.value.hint
    assert "if that fails too, leave `--precision` out" in caught.value.hint


def test_a_conversion_whose_answers_are_not_finite_is_refused(optimized, monkeypatch):
    def overflow(source, target, *_):
        model = onnx.load(source)
        kernel = next(initializer for initializer in model.graph.initializer if initializer.name == "dense_bias")
        kernel.CopyFrom(numpy_helper.from_array(np.full(5, np.nan, np.float32), "dense_bias"))
        onnx.save(model, target)
        return "overflown"

    monkeypatch.setattr("irbench.optimizer.pipeline.convert", overflow)
    with pytest.raises(IrbenchError, match="cannot be converted to fp16: output 0 holds NaN"):
        optimized(conversion=Conversion("fp16"))


def test_a_vendors_operator_that_a_pass_does_not_announce_is_noted_all_the_same(optimized, monkeypatch):
    quiet = replace(registry.graph_pass("fake-vendors"), vendor=None)
    monkeypatch.setattr(registry, "graph_pass", lambda _: quiet)
    _, step = optimized("fake-vendors")
    assert step.vendor == "com.microsoft"


def test_a_change_that_a_pass_denies_is_checked_all_the_same(optimized, monkeypatch):
    harmless = registry.graph_pass("fake-harmless")
    monkeypatch.setattr(
        registry, "graph_pass", lambda _: replace(harmless, apply=lambda model: harmless(model) and False)
    )
    _, step = optimized("fake-harmless")
    assert step.modified
    assert step.max_rel_error == 0


def test_a_graph_that_no_runtime_here_can_run_is_refused_before_any_pass(optimized):
    model = onnx.load(optimized.artifact.path)
    model.graph.node[1].domain = "nobody.has.this"
    model.opset_import.append(helper.make_opsetid("nobody.has.this", 1))
    onnx.save(model, optimized.artifact.path)
    with pytest.raises(IrbenchError, match="mlp cannot be optimised: ort cannot run it") as caught:
        optimized("fake-harmless")
    assert "irbench verify" in caught.value.hint
