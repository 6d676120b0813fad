"""An exported graph is compared with the original on given inputs, and what differs is refused."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.features.export import run as export
from irbench.features.export.run import check_on_inputs
from irbench.options.input_request import InputRequest
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec, Workload

X = TensorSpec("x", "float32", ("batch", 2))
GRAPHS = tuple(Artifact(kind, Path(kind), (X,), ()) for kind in ("onnx", "tf-graph"))
SAMPLES = InputRequest(tuple({"x": np.full((1, 2), level)} for level in (1.0, 2.0)))


def bundle(*artifacts: Artifact) -> Bundle:
    return Bundle("model", (InputSpec(X),), artifacts or GRAPHS)


@pytest.fixture
def wrong_at(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let the ONNX graph answer other than the original at one sample."""
    script: dict[str, Any] = {"sample": None, "outputs": 1}

    def answer(source: tuple[str, str], workload: Workload, *_: object) -> tuple[list[np.ndarray], ...]:
        found = [[np.array([1.0, 2.0])] for _ in range(workload.feeding.count)]
        if source[0] == registry.REFERENCES and script["sample"] is not None:
            found[script["sample"]] = [np.array([1.0, 3.0])] * script["outputs"]
        return tuple(found)

    monkeypatch.setattr(export, "computed_outputs", answer)
    return script


def test_equal_outputs_are_accepted(wrong_at: dict[str, Any]) -> None:
    assert check_on_inputs(bundle(), SAMPLES).max_rel == 0


@pytest.mark.parametrize(("outputs", "message"), [(1, "max_rel 0.5"), (2, "outputs")])
def test_one_sample_that_differs_is_enough(wrong_at: dict[str, Any], outputs: int, message: str) -> None:
    wrong_at.update(sample=1, outputs=outputs)
    with pytest.raises(IrbenchError, match=message) as caught:
        check_on_inputs(bundle(), SAMPLES)
    assert caught.value.exit_code == ExitCode.DIFFERENT


def test_a_graph_is_not_compared_with_itself(wrong_at: dict[str, Any]) -> None:
    with pytest.raises(IrbenchError) as caught:
        check_on_inputs(bundle(GRAPHS[0]), SAMPLES)
    assert caught.value.exit_code == ExitCode.NOT_INSTALLED


@pytest.mark.parametrize(("level", "passes"), [(1.0, True), (1e-5, False)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(
    monkeypatch: pytest.MonkeyPatch, level: float, passes: bool
) -> None:
    answers = {registry.BACKENDS: 0.0, registry.REFERENCES: 9e-7}
    monkeypatch.setattr(export, "computed_outputs", lambda source, *_: (([np.full(2, answers[source[0]])],)))
    asked = InputRequest(({"x": np.full((1, 2), level)},))
    with nullcontext() if passes else pytest.raises(IrbenchError, match="differs"):
        check_on_inputs(bundle(), asked)
