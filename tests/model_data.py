"""What samples from files are matched with: models of a few inputs."""

from __future__ import annotations

from pathlib import Path

from irbench.data.model_inputs import model_inputs
from irbench.data.sample_reading import DataTarget
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec


def target(*specs: TensorSpec, elsewhere: tuple[str, ...] = (), fixed: int | None = None, **more: object) -> DataTarget:
    bundle = Bundle("model", tuple(InputSpec(spec) for spec in specs), (Artifact("onnx", Path(), specs, ()),))
    facts = {"sizes": {}, "most_bytes": 1 << 30, **more}
    return DataTarget("model", model_inputs(bundle, fixed), frozenset(elsewhere), **facts)  # type: ignore[arg-type]


def tensor(name: str, *shape: int | str, dtype: str = "float32") -> TensorSpec:
    return TensorSpec(name, dtype, tuple(shape))


X = tensor("x", "batch", 3)
SR = tensor("sr", dtype="int64")
