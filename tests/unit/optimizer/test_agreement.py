"""What a conversion costs, and when it counts as failed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import onnx
import onnx_ir
import pytest
from onnx import helper, numpy_helper

from irbench.core import registry
from irbench.core.feeds import lay_out, write_sample
from irbench.core.output_check import input_scale
from irbench.core.record import OutputError
from irbench.errors import IrbenchError
from irbench.onnx.rewriting.bind import with_sizes
from irbench.optimizer import agreement
from irbench.optimizer.agreement import LEAST_AGREEMENT, FailsAtSizes, disagreement, measure_agreement
from irbench.optimizer.calibration_samples import EVALUATION, CheckSamples
from irbench.optimizer.check_plan import CheckCase, ExpectedAnswer, arrays_of
from irbench.optimizer.narrowing import narrow
from irbench.spec import Artifact, Bundle, Disagreement, Feeding, Load
from irbench.spi import Backend
from irbench.worker.inference import OpenSession


def error(max_rel: float = 0.01, top1: float | None = None) -> OutputError:
    return OutputError(max_rel, max_rel, 0.999, top1)


@pytest.mark.parametrize(
    ("found", "precision", "lost"),
    [
        (error(top1=LEAST_AGREEMENT), "int8", None),
        (error(top1=0.63), "int8", Disagreement("top1-agreement", 0.63, LEAST_AGREEMENT)),
        (error(), "int8", None),
        (error(0.5), "int8", Disagreement("max-rel", 0.5, 0.2)),
        (error(0.1), "int8", None),
        (error(0.1), "fp16", Disagreement("max-rel", 0.1, 0.02)),
    ],
)
def test_a_conversion_that_answers_otherwise_is_named_by_what_it_lost(found, precision, lost):
    assert disagreement(found, precision) == lost


@pytest.fixture
def samples(tmp_path: Path) -> CheckSamples:
    artifact = models.mlp(tmp_path)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,), classifier=True)
    return CheckSamples(artifact, bundle, {"batch": 1}, 16, EVALUATION)


def converted(samples: CheckSamples, precision: str) -> Artifact:
    model = onnx_ir.load(samples.artifact.path)
    narrow(model, precision)
    path = samples.artifact.path.with_name(f"{precision}.onnx")
    onnx_ir.save(model, path)
    return Artifact("onnx", path, samples.artifact.inputs, samples.artifact.outputs)


ENDS = {
    "fails": [("Reshape", ["inner", "whole"], "scores")],
    "differs": [
        ("Size", ["inner"], "size"),
        ("Equal", ["size", "forty"], "is_whole"),
        ("Neg", ["inner"], "other"),
        ("Where", ["is_whole", "inner", "other"], "scores"),
    ],
}


def only_at_batch_8(samples: CheckSamples, end: str) -> Artifact:
    """Return the graph with an end that changes nothing at batch 8."""
    model = onnx.load(samples.artifact.path)
    model.graph.node[-1].output[0] = "inner"
    model.graph.node.extend(helper.make_node(operation, inputs, [output]) for operation, inputs, output in ENDS[end])
    constants = {"whole": np.array([8, 5]), "forty": np.array(40)}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    path = samples.artifact.path.with_name(f"{end}.onnx")
    onnx.save(model, path)
    return replace(samples.artifact, path=path, sha256="")


def answered(samples: CheckSamples, *sizes: Mapping[str, int]) -> list[ExpectedAnswer]:
    """Return what the graph in fp32 answers to seeded inputs at these sizes."""
    specs, found = samples.bundle.inputs, []
    for case in (CheckCase("seeded", size) for size in sizes):
        arrays = arrays_of(case, specs, Feeding(samples.bundle.seed))
        sized = with_sizes(samples.artifact, case.sizes)
        load = Load(batch=case.sizes["batch"], threads=None, precision="native")
        with OpenSession(registry.reference("ort"), sized, load) as session:
            found.append(ExpectedAnswer(case, session.answer(lay_out(arrays, sized)), input_scale(arrays)))
    return found


def test_the_same_graph_agrees_with_itself(samples: CheckSamples, tmp_path: Path):
    found = measure_agreement(samples, samples.artifact, "ort", tmp_path)
    assert (found.samples, found.by, found.error.max_abs, found.error.top1_agreement) == (16, "ort", 0, 1)


def test_a_narrow_graph_agrees_within_its_rounding(samples: CheckSamples, tmp_path: Path):
    samples = replace(samples, bundle=replace(samples.bundle, classifier=False))
    found = measure_agreement(samples, converted(samples, "fp16"), "ort", tmp_path)
    assert 0 < found.error.max_rel < 5e-3
    assert (found.source, found.ranges) == ("generated", {"pixels": (-1.0, 1.0)})


def test_probabilities_have_a_top1_agreement_that_decides_only_where_the_model_declares_classes(
    samples: CheckSamples, tmp_path: Path
):
    found = measure_agreement(samples, converted(samples, "fp16"), "ort", tmp_path)
    assert (found.is_recognised, found.judged) == (False, found.error)
    unknown = replace(samples, bundle=replace(samples.bundle, classifier=False))
    recognised = measure_agreement(unknown, converted(samples, "fp16"), "ort", tmp_path)
    assert recognised.is_recognised
    assert recognised.error.top1_agreement == found.error.top1_agreement is not None
    assert recognised.judged.top1_agreement is None


def test_other_distributions_are_measured_apart_with_inputs_of_their_own(samples: CheckSamples, tmp_path: Path):
    narrow = converted(samples, "fp16")
    found = measure_agreement(samples, narrow, "ort", tmp_path, elsewhere=("uniform", "normal"))
    alone = measure_agreement(samples, narrow, "ort", tmp_path)
    assert [(other.drawn, other.samples) for other in found.elsewhere] == [("uniform", 16), ("normal", 16)]
    assert len({found.error.max_abs, *(other.error.max_abs for other in found.elsewhere if other.error)}) == 3
    assert replace(found, elsewhere=()) == alone


def test_what_the_reference_has_no_kernels_for_is_answered_by_a_backend_that_has(samples: CheckSamples, tmp_path: Path):
    found = measure_agreement(samples, converted(samples, "bf16"), "ort", tmp_path)
    assert found.by != "ort"
    assert 0 < found.error.max_rel < 5e-2


def test_a_graph_that_no_backend_runs_is_refused_with_the_reasons(samples: CheckSamples, tmp_path: Path):
    broken = tmp_path / "broken.onnx"
    model = onnx_ir.load(samples.artifact.path)
    next(node for node in model.graph if node.op_type == "Relu").op_type = "Rilu"
    onnx_ir.save(model, broken)
    artifact = Artifact("onnx", broken, samples.artifact.inputs, samples.artifact.outputs)
    with pytest.raises(IrbenchError, match=r"No backend here can run .*ort: .*Rilu"):
        measure_agreement(samples, artifact, "ort", tmp_path)


def test_a_conversion_is_judged_at_other_sizes_too_but_its_top_1_agreement_is_not(
    samples: CheckSamples, tmp_path: Path
):
    sizes = ({"batch": 3}, {"batch": 1})
    narrow = converted(samples, "fp16")
    alone = measure_agreement(samples, narrow, "ort", tmp_path)
    found = measure_agreement(samples, narrow, "ort", tmp_path, answered(samples, *sizes))
    assert (found.sizes, found.error.top1_agreement) == (sizes, alone.error.top1_agreement)
    assert found.error.max_rel >= alone.error.max_rel


def test_an_error_at_other_sizes_only_counts(samples: CheckSamples, tmp_path: Path):
    wrong = only_at_batch_8(samples, "differs")
    assert measure_agreement(samples, wrong, "ort", tmp_path).error.max_rel == 0
    assert measure_agreement(samples, wrong, "ort", tmp_path, answered(samples, {"batch": 1})).error.max_rel > 0


def of_a_user(samples: CheckSamples, folder: Path) -> CheckSamples:
    """Return one sample with a batch of 8, as ``--data`` gives it."""
    spec, path = samples.bundle.inputs[0], folder / "0.npz"
    write_sample(path, [spec], {spec.tensor.name: np.full((8, 3, 8, 8), 0.5, np.float32)})
    return replace(samples, bound={"batch": 8}, feeding=Feeding(samples=(path,)))


def test_where_samples_are_given_a_seeded_input_at_another_size_counts_for_nothing(
    samples: CheckSamples, tmp_path: Path
):
    wrong, expected = only_at_batch_8(samples, "differs"), answered(samples, {"batch": 3})
    found = measure_agreement(of_a_user(samples, tmp_path), wrong, "ort", tmp_path, expected)
    assert (found.error.max_rel, found.sizes, found.runs_at) == (0, (), ({"batch": 3},))


def test_where_samples_are_given_a_converted_graph_runs_at_other_sizes_all_the_same(
    samples: CheckSamples, tmp_path: Path
):
    graph, expected = only_at_batch_8(samples, "fails"), answered(samples, {"batch": 3})
    with pytest.raises(FailsAtSizes, match="does not run at batch 3: "):
        measure_agreement(of_a_user(samples, tmp_path), graph, "ort", tmp_path, expected)


def test_a_converted_graph_that_does_not_run_at_other_sizes_is_refused_with_them(samples: CheckSamples, tmp_path: Path):
    graph, expected = only_at_batch_8(samples, "fails"), answered(samples, {"batch": 8}, {"batch": 3})
    with pytest.raises(FailsAtSizes, match="does not run at batch 3: ") as refused:
        measure_agreement(samples, graph, "ort", tmp_path, expected)
    assert "--batch" in refused.value.hint


def test_one_session_answers_at_all_other_sizes(samples: CheckSamples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected, opened = answered(samples, *({"batch": batch} for batch in (1, 3, 5))), []

    class Counted(OpenSession):
        def __init__(self, backend: Backend, artifact: Artifact, load: Load) -> None:
            super().__init__(backend, artifact, load)
            opened.append(load.batch)

    monkeypatch.setattr(agreement, "OpenSession", Counted)
    measure_agreement(samples, converted(samples, "fp16"), "ort", tmp_path)
    alone = len(opened)
    measure_agreement(samples, converted(samples, "fp16"), "ort", tmp_path, expected)
    assert len(opened) == 2 * alone + 1


def test_answers_that_are_no_numbers_say_nothing_of_a_conversion(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    model = onnx_ir.load(artifact.path)
    for value in model.graph.initializers.values():
        numbers = value.const_value.numpy()
        if numbers.dtype == np.float32:
            value.const_value = onnx_ir.tensor(np.full_like(numbers, np.nan), name=value.name)
    onnx_ir.save(model, artifact.path)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,))
    with pytest.raises(ValueError, match="no finite number"):
        measure_agreement(CheckSamples(artifact, bundle, {"batch": 1}, 16, EVALUATION), artifact, "ort", tmp_path)


@pytest.mark.parametrize(("level", "least"), [(1.0, 0.0), (1e-5, 50.0)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(
    samples: CheckSamples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: float, least: float
):
    given = replace(samples, feeding=Feeding(values={samples.bundle.inputs[0].tensor.name: (level,)}))
    answers = iter([np.full((1, 2), 9e-7), np.zeros((1, 2))])
    monkeypatch.setattr(agreement, "answers_of", lambda *_: ([((next(answers),),)], "fp32"))
    found = measure_agreement(given, samples.artifact, "ort", tmp_path)
    assert least <= found.error.max_rel <= least + 50


@pytest.mark.parametrize(("factor", "degenerate"), [(1.0, False), (1e-9, True)])
def test_answers_that_nearly_any_other_agrees_with_are_noted(tmp_path: Path, factor: float, degenerate: bool):
    artifact = models.mlp(tmp_path)
    model = onnx_ir.load(artifact.path)
    softmax = model.graph.node(len(model.graph) - 1)
    assert softmax.op_type == "Softmax"
    scale = onnx_ir.tensor(np.array(factor, np.float32), name="factor")
    model.graph.register_initializer(onnx_ir.Value(name="factor", const_value=scale))
    scaled = onnx_ir.node("Mul", [softmax.outputs[0], model.graph.initializers["factor"]])
    scaled.outputs[0].name, softmax.outputs[0].name = softmax.outputs[0].name, "unscaled"
    model.graph.append(scaled)
    model.graph.outputs[0] = scaled.outputs[0]
    onnx_ir.save(model, artifact.path)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,))
    samples = CheckSamples(artifact, bundle, {"batch": 1}, 16, EVALUATION)
    assert measure_agreement(samples, artifact, "ort", tmp_path).degenerate is degenerate
