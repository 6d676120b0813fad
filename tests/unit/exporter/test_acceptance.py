"""An export is compared with the original at the scale of its inputs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.exporter import acceptance
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec

X = TensorSpec("x", "float32", ("batch", 2))


@pytest.mark.parametrize(("largest", "passes"), [(1.0, True), (1e-5, False)])
def test_small_errors_are_judged_by_the_scale_of_the_inputs(
    monkeypatch: pytest.MonkeyPatch, largest: float, passes: bool
) -> None:
    bundle = Bundle("model", (InputSpec(X, low=0.0, high=largest),), (Artifact("onnx", Path("x"), (X,), ()),))
    monkeypatch.setattr(acceptance.bundles, "reference_outputs", lambda _: (np.zeros((8, 2)),))
    monkeypatch.setattr(acceptance, "check_file", lambda *_, **__: None)
    monkeypatch.setattr(acceptance, "_run", lambda *args: (np.full((args[3]["batch"], 2), 3e-7),))
    with nullcontext() if passes else pytest.raises(IrbenchError, match="differs from the original"):
        acceptance.accept(bundle, "ort", lambda _: None)
