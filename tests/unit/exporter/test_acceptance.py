"""An export is compared with the original at the scale of its inputs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.exporter import acceptance
from irbench.spec import RANDOM_DRAWS, Artifact, Bundle, InputSpec, TensorSpec

X = TensorSpec("x", "float32", ("batch", 2))


@pytest.mark.parametrize(("largest", "passes"), [(1.0, True), (1e-5, False)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(
    monkeypatch: pytest.MonkeyPatch, largest: float, passes: bool
) -> None:
    bundle = Bundle("model", (InputSpec(X, low=0.0, high=largest),), (Artifact("onnx", Path("x"), (X,), ()),))
    monkeypatch.setattr(acceptance.bundles, "reference_outputs", lambda _: (np.zeros((8, 2)),))
    monkeypatch.setattr(acceptance, "check_file", lambda *_, **__: None)
    monkeypatch.setattr(acceptance, "outputs_of", lambda *args: (np.full((args[3]["batch"], 2), 3e-7),))
    with nullcontext() if passes else pytest.raises(IrbenchError, match="differs from the original"):
        acceptance.accept(bundle, "ort", lambda _: None)


def test_the_reference_outputs_are_read_once_for_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, reads, batches = Bundle("model", (InputSpec(X),), (Artifact("onnx", Path("x"), (X,), ()),)), [], []

    def outputs(_: Bundle) -> tuple[np.ndarray, ...]:
        reads.append(None)
        return (np.ones((8, 2)),)

    def run(*args: Any) -> tuple[np.ndarray, ...]:
        batches.append(args[3]["batch"])
        return (np.ones((batches[-1], 2)),)

    monkeypatch.setattr(acceptance.bundles, "reference_outputs", outputs)
    monkeypatch.setattr(acceptance, "check_file", lambda *_, **__: None)
    monkeypatch.setattr(acceptance, "outputs_of", run)
    acceptance.accept(bundle, "ort", lambda _: None)
    assert (len(batches), len(reads)) == (2, 1)


def random_model() -> Bundle:
    graph = Artifact("onnx", Path("x"), (X,), (X,))
    return Bundle("noisy", (InputSpec(X),), (graph,), details={RANDOM_DRAWS: "RandomStandardNormal in noise"})


def test_of_a_model_that_draws_random_numbers_only_shapes_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "check_file", lambda *_, **__: None)
    monkeypatch.setattr(acceptance, "outputs_of", lambda *args: (np.zeros((args[3]["batch"], 2)),))
    assert acceptance.accept(random_model(), "ort", lambda _: None) is None
    monkeypatch.setattr(acceptance, "outputs_of", lambda *args: (np.zeros((args[3]["batch"], 3)),))
    with pytest.raises(IrbenchError, match="x has the shape 1x3, and should have 1x2"):
        acceptance.accept(random_model(), "ort", lambda _: None)


STATUS = (
    "[FAIL] Non-zero status code returned while running Reshape node. Name:'net/stage/Reshape' Status Message:"
    " reshape_helper.h:91 Reshape(const Shape&) size == requested was false. It cannot be reshaped."
)


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (STATUS, "does not run at the operator Reshape (net/stage/Reshape): It cannot be reshaped."),
        ("[FAIL] Node (net/dft) Op (DFT) [ShapeInferenceError]", "at the operator DFT (net/dft): "),
        ("something else", "does not run: something else"),
    ],
)
def test_a_converted_graph_that_does_not_run_is_an_error_of_the_conversion_with_its_operator(
    said: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError(f"{said}\nmore")

    monkeypatch.setattr(acceptance, "check_file", lambda *_, **__: None)
    monkeypatch.setattr(acceptance, "bind", lambda artifact, *_: artifact)
    monkeypatch.setattr(acceptance, "answers", fails)
    with pytest.raises(
        IrbenchError, match="The conversion of noisy to ONNX went wrong: the graph does not run"
    ) as caught:
        acceptance.accept(random_model(), "ort", lambda _: None)
    assert where in caught.value.message
    assert "--opset" in caught.value.hint
