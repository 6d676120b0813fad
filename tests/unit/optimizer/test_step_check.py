"""What is wrong on some inputs only is found all the same, and the pass that did it is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import models
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import graph
from onnx import helper

from irbench.core import registry
from irbench.core.feeds import write_sample
from irbench.core.graph_record import GraphCheck, UncheckedBody
from irbench.errors import IrbenchError
from irbench.onnx.reading import signature
from irbench.optimizer import step_check
from irbench.optimizer.check_plan import CheckCase, ExpectedAnswer, Question
from irbench.optimizer.job import MODEL_FILE, OptimizationJob, OptimizationOutcome
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.pipeline import run_job
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.step_check import GraphComparison, ReferenceSession, WrongAnswer
from irbench.spec import Artifact, Bundle, Feeding, InputSpec, TensorSpec

Change = Callable[[ir.Model], bool]
SIGNATURE = "(float[batch,4] x) => (float[batch,4] y)"


def written(folder: Path, body: str, weights: dict[str, Any] | None = None) -> Artifact:
    """Write a graph of one input, (batch, 4), and one output like it."""
    path = folder / "model.onnx"
    onnx.save(ir.to_proto(graph(f"{SIGNATURE} {{ {body} }}", weights, 18)), path)
    x = TensorSpec("x", "float32", ("batch", 4))
    return Artifact("onnx", path, (x,), (TensorSpec("y", "float32", ("batch", 4)),), opset=18)


@pytest.fixture
def optimised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OptimizationOutcome]:
    """Return what applies functions as passes, named by their names, to a graph."""

    def run(artifact: Artifact, *changes: Change, feeding: Feeding | None = None) -> OptimizationOutcome:
        passes = {change.__name__: Rewrite(change.__name__, "", change) for change in changes}
        monkeypatch.setattr(registry, "graph_pass", passes.__getitem__)
        folder = tmp_path / "result"
        folder.mkdir()
        bundle = Bundle("tiny", models.logical_inputs(artifact), (artifact,))
        recipe = Recipe("custom", tuple(passes))
        job = OptimizationJob(artifact, bundle, {"batch": 2}, recipe, folder, "ort", feeding=feeding or Feeding())
        return run_job(job, lambda _: None)

    return run


def node_of(model: ir.Model, operation: str) -> ir.Node:
    return next(node for node in model.graph.all_nodes() if node.op_type == operation)


def rename_to(model: ir.Model, operation: str, other: str) -> bool:
    node_of(model, operation).op_type = other
    return True


def harmless(model: ir.Model) -> bool:
    """Do the same twice."""
    (output,) = model.graph.outputs
    copy = ir.node("Identity", [output.producer().outputs[0]])  # type: ignore[union-attr]
    copy.outputs[0].name = f"copy{len(model.graph)}"
    model.graph.append(copy)
    return True


def clip(model: ir.Model) -> bool:
    """Do as Relu up to 6."""
    node = node_of(model, "Relu")
    limits = [ir.Value(name=f"limit{value}", const_value=ir.tensor(np.float32(value))) for value in (0, 6)]
    for limit in limits:
        model.graph.register_initializer(limit)
    node.op_type = "Clip"
    node.resize_inputs(3)
    for place, limit in enumerate(limits, 1):
        node.replace_input_with(place, limit)
    return True


def fix_batch(model: ir.Model) -> bool:
    """Reshape to the batch that a check had once."""
    target = ir.Value(name="target", const_value=ir.tensor(np.array([2, 4])))
    model.graph.register_initializer(target)
    node = node_of(model, "Identity")
    node.op_type = "Reshape"
    node.resize_inputs(2)
    node.replace_input_with(1, target)
    return True


def test_a_pass_that_is_wrong_for_large_values_only_is_named(tmp_path, optimised):
    artifact = written(tmp_path, "y = Relu (x)")
    with pytest.raises(IrbenchError, match=r"The pass clip breaks tiny: wrong outputs: .* \(large, batch 1\)"):
        optimised(artifact, harmless, clip)


def test_a_pass_that_is_wrong_at_other_sizes_only_is_named(tmp_path, optimised):
    artifact = written(tmp_path, "i = Identity (x)  y = Relu (i)")
    with pytest.raises(IrbenchError, match=r"The pass fix_batch breaks tiny: .* \(constant-rows, batch 3\)"):
        optimised(artifact, harmless, fix_batch)


def zero_at_seven(model: ir.Model) -> bool:
    """Do as Relu but for one number."""
    relu = node_of(model, "Relu")
    constants = [ir.Value(name=f"number{value}", const_value=ir.tensor(np.float32(value))) for value in (7, 0)]
    for constant in constants:
        model.graph.register_initializer(constant)
    test = ir.node("Equal", [relu.inputs[0], constants[0]])
    choice = ir.node("Where", [test.outputs[0], constants[1], relu.inputs[0]])
    relu.prepend([test, choice])
    relu.replace_input_with(0, choice.outputs[0])
    return True


def test_a_pass_that_is_wrong_on_a_later_sample_of_the_user_only_is_named(tmp_path, optimised):
    artifact = written(tmp_path, "y = Relu (x)")
    samples = tuple(tmp_path / f"{level}.npz" for level in (5, 6, 7))
    for level, sample in zip((5, 6, 7), samples, strict=True):
        write_sample(sample, models.logical_inputs(artifact), {"x": np.full((2, 4), level, np.float32)})
    with pytest.raises(
        IrbenchError, match=r"The pass zero_at_seven breaks tiny: wrong outputs: .* \(given sample 3, batch 2\)"
    ):
        optimised(artifact, harmless, zero_at_seven, feeding=Feeding(samples=samples))


BRANCHES = """
    y = If (c) <
        then_branch = yes () => (float[batch,4] o1) { o1 = Neg (x) },
        else_branch = no () => (float[batch,4] o2) { o2 = Relu (x) }
    >
"""
LARGE = "s = ReduceSum <keepdims: int = 0> (x)  c = Greater (s, limit) " + BRANCHES
MANY = "s = Size (x)  c = Greater (s, many) " + BRANCHES
LIMITS = {"limit": np.float32(1e30), "many": np.array(10**6)}
LOOP = """
    s = ReduceSum <keepdims: int = 0> (x)  n = Cast <to: int = 7> (s)  trips = Max (n, two)
    y = Loop <body: graph = inner (int64 i, bool again, float[batch,4] h) => (bool go, float[batch,4] after)
        { after = Neg (h)  go = Identity (again) }> (trips, true, x)
"""


def negate_not(model: ir.Model) -> bool:
    return rename_to(model, "Neg", "Abs")


def test_a_pass_that_breaks_a_branch_which_no_input_takes_is_named(tmp_path, optimised):
    artifact = written(tmp_path, LARGE, LIMITS)
    with pytest.raises(IrbenchError, match=r"The pass negate_not breaks tiny: wrong outputs: .* sent there"):
        optimised(artifact, harmless, negate_not)


def test_the_pass_is_named_after_which_an_answer_at_the_end_is_wrong(tmp_path, optimised):
    def harmless_too(model: ir.Model) -> bool:
        return harmless(model)

    with pytest.raises(IrbenchError, match="The pass negate_not breaks"):
        optimised(written(tmp_path, LARGE, LIMITS), harmless, negate_not, harmless_too)


def test_both_branches_are_compared_where_values_decide(tmp_path, optimised):
    checked = optimised(written(tmp_path, LARGE, LIMITS), harmless).checked
    assert (checked.bodies, checked.unchecked) == (2, ())


def test_a_branch_that_no_size_leads_to_is_reported_as_unchecked(tmp_path, optimised):
    checked = optimised(written(tmp_path, MANY, LIMITS), harmless).checked
    assert checked.bodies == 1
    assert checked.unchecked == (UncheckedBody("If", "y", "then_branch", None, "other-shapes"),)


def test_a_loop_is_compared_with_no_and_one_iteration_where_values_decide(tmp_path, optimised):
    artifact = written(tmp_path, LOOP, {"two": np.array(2), "true": np.array(True)})
    checked = optimised(artifact, harmless).checked
    assert (checked.bodies, checked.unchecked) == (1, ())


def test_a_graph_whose_control_flow_cannot_be_followed_says_so(tmp_path, optimised, monkeypatch):
    monkeypatch.setattr(step_check, "LEAST_OPSET", 99)
    checked = optimised(written(tmp_path, LARGE, LIMITS), harmless).checked
    assert {unchecked.reason for unchecked in checked.unchecked} == {"not-followed"}
    assert len(checked.unchecked) == 2


def test_a_graph_that_no_pass_changed_is_not_compared(tmp_path, optimised):
    assert optimised(written(tmp_path, "y = Relu (x)"), lambda _: False).checked is None


def test_what_was_compared_is_recorded(tmp_path, optimised):
    checked = optimised(written(tmp_path, "y = Relu (x)"), harmless).checked
    assert isinstance(checked, GraphCheck)
    assert checked.inputs[0].kind == "seeded"
    assert {"constant-rows", "large", "zeros"} <= {found.kind for found in checked.inputs}
    assert {found.sizes["batch"] for found in checked.inputs} == {1, 2, 3}
    assert (checked.left_out, checked.unvaried) == ({}, ())


class CountingSession(ReferenceSession):
    """Counts sessions, and what each is asked."""

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, *args: Any) -> None:
        self.counts["sessions"] += 1
        super().__init__(*args)

    def answer(self, *args: Any) -> Any:
        self.counts["answers"] += 1
        return super().answer(*args)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    for module in (step_check, step_check):
        monkeypatch.setattr(module, "ReferenceSession", CountingSession)
    CountingSession.counts.clear()
    return CountingSession.counts


def named(count: int) -> Sequence[Change]:
    """Return harmless passes, each with a name of its own."""

    def made(number: int) -> Change:
        def change(model: ir.Model) -> bool:
            return harmless(model)

        change.__name__ = f"harmless{number}"
        return change

    return [made(number) for number in range(count)]


@pytest.mark.parametrize("steps", [1, 5])
def test_a_check_needs_a_session_for_each_step_and_two_more(tmp_path, optimised, counts, steps):
    optimised(written(tmp_path, "y = Relu (x)"), *named(steps))
    assert counts["sessions"] == steps + 2
    per_step, original, end = 3, 9, 3
    assert counts["answers"] <= per_step * steps + original + end


def test_an_original_that_runs_with_bound_shapes_only_is_compared_at_these(tmp_path, optimised, monkeypatch):
    class BoundOnly(ReferenceSession):
        def __init__(self, job: Any, artifact: Any, scratch: Any, *rest: Any) -> None:
            if scratch is None:
                raise RuntimeError("dynamic shapes are not supported")
            super().__init__(job, artifact, scratch, *rest)

    for module in (step_check, step_check):
        monkeypatch.setattr(module, "ReferenceSession", BoundOnly)
    checked = optimised(written(tmp_path, "y = Relu (x)"), harmless).checked
    assert len(checked.inputs) >= 3
    assert all(found.sizes == {} for found in checked.inputs)


def with_function(folder: Path) -> Artifact:
    artifact = written(folder, "y = Relu (x)")
    model = onnx.load(artifact.path)
    (node,) = model.graph.node
    node.op_type, node.domain = "Positive", "own"
    opsets = [helper.make_opsetid("", 18)]
    body = [helper.make_node("Relu", ["a"], ["b"])]
    model.functions.append(helper.make_function("own", "Positive", ["a"], ["b"], body, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(model, artifact.path)
    return artifact


def test_functions_are_written_out_first(tmp_path, optimised):
    outcome = optimised(with_function(tmp_path), harmless)
    assert [(step.name, step.modified) for step in outcome.steps][1] == ("inline_functions", True)
    assert outcome.steps[1].operators == {"Relu": 1}
    path = tmp_path / "result" / MODEL_FILE
    assert not onnx.load(path).functions
    assert signature.read(path).inputs


def test_functions_that_cannot_be_written_out_stay_and_the_reason_is_told(tmp_path, optimised, monkeypatch):
    monkeypatch.setattr("irbench.optimizer.pipeline.inline_functions", lambda _: None)
    _, obstacle, _ = optimised(with_function(tmp_path), harmless).steps
    assert obstacle.obstacle.code == "functions-not-inlined"
    assert "too large" in obstacle.obstacle.reason


X = TensorSpec("x", "float32", ("batch", 2))
GRAPH = Artifact("onnx", Path("x"), (X,), ())
JOB = OptimizationJob(
    GRAPH, Bundle("model", (InputSpec(X),), (GRAPH,)), {"batch": 1}, Recipe("basic", ()), Path(), "ort"
)
COMPARISON = GraphComparison(JOB, Question((InputSpec(X),), {"batch": 1}, (), Feeding(), "fp32"), Path(), binds=False)


@pytest.mark.parametrize(("scale", "passes"), [(1.0, True), (1e-5, False)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(scale, passes):
    expected = ExpectedAnswer(CheckCase("seeded", {}), [np.zeros((1, 2))], scale)
    with nullcontext() if passes else pytest.raises(WrongAnswer, match="wrong outputs"):
        COMPARISON.require(expected, lambda: [np.full((1, 2), 9e-7)])


def test_a_graph_that_fails_answers_wrong():
    def fail():
        raise RuntimeError("no kernel")

    with pytest.raises(WrongAnswer, match="no kernel"):
        COMPARISON.require(ExpectedAnswer(CheckCase("zeros", {}), [], 1.0), fail)
