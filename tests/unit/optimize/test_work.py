"""Each pass is proven before the next begins, and one that breaks the model is named."""

from pathlib import Path

import models
import onnx
import pytest

from irbench.errors import IrbenchError
from irbench.optimize import Recipe
from irbench.optimize.work import RESULT, Task, work
from irbench.spec import Bundle


@pytest.fixture
def optimized(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,))
    folder = tmp_path / "result"
    folder.mkdir()

    def run(*passes):
        return work(Task(artifact, bundle, {"batch": 2}, Recipe("custom", passes), folder, "ort"), lambda _: None).steps

    run.result = folder / RESULT
    return run


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def test_the_graph_as_it_came_is_the_first_step(optimized):
    (first,) = optimized()
    assert (first.name, first.modified, first.nodes) == ("original", False, 6)
    assert operators(optimized.result) == ["Conv", "Relu", "MaxPool", "Flatten", "Gemm", "Softmax"]


def test_a_pass_that_changes_something_is_proven_and_counted(optimized):
    _, step = optimized("fake-harmless")
    assert step.modified
    assert step.nodes == 7
    assert step.operators["Identity"] == 1
    assert step.max_rel_error == 0
    assert "Identity" in operators(optimized.result)


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


def test_a_vendors_operator_is_noted(optimized):
    _, step = optimized("fake-vendors")
    assert step.vendor == "com.microsoft"
    assert step.operators["com.microsoft.FusedConv"] == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fake-wrong", "wrong outputs"),
        ("fake-invalid", "no valid ONNX model"),
        ("fake-failing", "KeyError"),
    ],
)
def test_a_pass_that_breaks_the_model_is_named_with_the_way_around_it(optimized, name, said):
    with pytest.raises(IrbenchError) as caught:
        optimized("fake-harmless", name)
    assert caught.value.message.startswith(f"The pass {name} breaks mlp: ")
    assert said in caught.value.message
    assert caught.value.hint == "Leave it out: --passes fake-harmless"
