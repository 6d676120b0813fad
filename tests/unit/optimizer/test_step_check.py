"""A step is checked at the scale of the inputs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir
import pytest

from irbench.graph_record import GraphStep
from irbench.onnx.reading.precision import GraphPrecision
from irbench.optimizer import step_check
from irbench.optimizer.job import OptimizationJob
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.step_check import BrokenModel, StepCheck
from irbench.spec import Artifact, Bundle, Feeding, InputSpec, TensorSpec

X = TensorSpec("x", "float32", ("batch", 2))
GRAPH = Artifact("onnx", Path("x"), (X,), ())
BUNDLE = Bundle("model", (InputSpec(X),), (GRAPH,))


@pytest.mark.parametrize(("level", "passes"), [(1.0, True), (1e-5, False)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: float, passes: bool
) -> None:
    answers = iter([0.0, 9e-7])

    def nothing(*_: Any, **__: Any) -> Any: ...

    for name in ("write", "check_file", "vendors_of", "bind"):
        monkeypatch.setattr(step_check, name, nothing)
    monkeypatch.setattr(step_check, "read_precision", lambda _: GraphPrecision({}, frozenset(), quantised=False))
    monkeypatch.setattr(step_check, "answers", lambda *_: ((np.full((1, 2), next(answers)),),))
    recipe = Recipe("basic", ())
    job = OptimizationJob(GRAPH, BUNDLE, {"batch": 1}, recipe, tmp_path, "ort", feeding=Feeding(values={"x": (level,)}))
    step = GraphStep("some_pass", modified=True)
    with nullcontext() if passes else pytest.raises(BrokenModel, match="wrong outputs"):
        StepCheck(job, tmp_path).check(onnx_ir.Model(onnx_ir.Graph((), (), nodes=()), ir_version=8), step, GRAPH)
