"""Errors are judged at the scale of the inputs."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from irbench.optimizer.check_plan import Case, ExpectedAnswer, Question
from irbench.optimizer.job import OptimizationJob
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.step_check import Comparison, WrongAnswer
from irbench.spec import Artifact, Bundle, Feeding, InputSpec, TensorSpec

X = TensorSpec("x", "float32", ("batch", 2))
GRAPH = Artifact("onnx", Path("x"), (X,), ())
JOB = OptimizationJob(
    GRAPH, Bundle("model", (InputSpec(X),), (GRAPH,)), {"batch": 1}, Recipe("basic", ()), Path(), "ort"
)
COMPARISON = Comparison(JOB, Question((InputSpec(X),), {"batch": 1}, (), Feeding(), "fp32"), Path(), binds=False)


@pytest.mark.parametrize(("scale", "passes"), [(1.0, True), (1e-5, False)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(scale, passes):
    expected = ExpectedAnswer(Case("seeded", {}), [np.zeros((1, 2))], scale)
    with nullcontext() if passes else pytest.raises(WrongAnswer, match="wrong outputs"):
        COMPARISON.require(expected, lambda: [np.full((1, 2), 9e-7)])


def test_a_graph_that_fails_answers_wrong():
    def fail():
        raise RuntimeError("no kernel")

    with pytest.raises(WrongAnswer, match="no kernel"):
        COMPARISON.require(ExpectedAnswer(Case("zeros", {}), [], 1.0), fail)
