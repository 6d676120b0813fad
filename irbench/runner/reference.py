"""Where the expected outputs of a group come from."""

from __future__ import annotations

from dataclasses import dataclass

from irbench import bundles, registry
from irbench.errors import IrbenchError
from irbench.feeds import repeat_pool
from irbench.result import Warn
from irbench.spec import BATCH, Artifact, Group
from irbench.spi import Outputs
from irbench.worker.process import call_in_worker

__all__ = ["Expected", "expected_outputs"]

_PREFERRED = ("ort", "onnx")
"""Reference backends, quickest first; others that are installed follow by name."""


@dataclass(frozen=True)
class Expected:
    """The outputs that every cell is compared with.

    Attributes:
        outputs: In the order of the model's outputs; ``None`` where no reference could answer.
        source: Where they come from, for the table's footer.
        warnings: What a reader must know about them.
    """

    outputs: Outputs | None
    source: str
    warnings: tuple[Warn, ...] = ()


def expected_outputs(group: Group, seed: int, deadline_s: float) -> Expected:
    """Return the stored outputs of the original framework where they fit the sizes, else a reference backend's."""
    stored = _stored(group, seed)
    if stored is not None:
        return Expected(stored, "TensorFlow at export")
    artifact = next((cell.artifact for cell in group.cells if cell.artifact and cell.artifact.kind == "onnx"), None)
    reasons: list[str] = []
    for name in _references() if artifact is not None else ():
        try:
            return Expected(_computed(name, artifact, group, seed, deadline_s), f"the reference backend {name}")
        except IrbenchError as error:
            reasons.append(f"{name}: {error.message}")
    return Expected(
        None,
        "nothing",
        (
            Warn(
                "unverified",
                f"Outputs of {group.bundle.name} were not verified: no reference could answer ({'; '.join(reasons)}).",
                "Install onnxruntime, or export the model from its TensorFlow source.",
            ),
        ),
    )


def _stored(group: Group, seed: int) -> Outputs | None:
    bundle = group.bundle
    sizes = {name: size for name, size in group.sizes.items() if name != BATCH}
    defaults = {name: size for name, size in bundle.defaults.items() if name != BATCH}
    if bundle.reference is None or seed != bundle.seed or sizes != defaults:
        return None
    outputs = bundles.reference_outputs(bundle)
    return None if outputs is None else repeat_pool(outputs, group.batch)


def _computed(name: str, artifact: Artifact | None, group: Group, seed: int, deadline_s: float) -> Outputs:
    answer: Outputs = call_in_worker(
        "irbench.worker.reference:answer", name, artifact, group.bundle, dict(group.sizes), seed, deadline_s=deadline_s
    )
    return answer


def _references() -> tuple[str, ...]:
    found = registry.names(registry.REFERENCES)
    return tuple(
        sorted(found, key=lambda name: (_PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED), name))
    )
