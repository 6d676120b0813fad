"""The forms of a model that a group's cells run: as exported or optimised, with every shape bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from irbench import registry
from irbench.optimize import UNOPTIMIZED, optimize, recipe
from irbench.record import Failure
from irbench.runner.binding import bind_apart
from irbench.spec import Artifact, Bundle

__all__ = ["Forms"]


class Forms:
    """Makes each form once, however many cells run it.

    Args:
        bundle: The model.
        sizes: A size for every free dimension.
        scratch: Where copies with bound shapes are written.
        say: Hears the progress of an optimisation.
    """

    def __init__(self, bundle: Bundle, sizes: Mapping[str, int], scratch: Path, say: Callable[[str], None]) -> None:
        self._bundle = bundle
        self._sizes = sizes
        self._scratch = scratch
        self._say = say
        self._made: dict[tuple[str, str], Artifact] = {}

    def variants(self, backend: str, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the variants that are forms of their own for a backend: only ONNX graphs are optimised."""
        artifact = self._bundle.artifact(registry.backend(backend).consumes)
        return asked if artifact is not None and artifact.kind == "onnx" else (UNOPTIMIZED,)

    def form(self, backend: str, variant: str) -> tuple[Artifact | None, Failure | None]:
        """Return the artifact that a backend reads, if there is one, and why it cannot run it, if it cannot.

        Raises:
            IrbenchError: A shape cannot be bound, or an optimisation fails.
        """
        kinds = registry.backend(backend).consumes
        exported = self._bundle.artifact(kinds)
        if exported is None:
            return None, self._not_applicable(kinds)
        key = (exported.label, variant)
        if key not in self._made:
            self._made[key] = self._make(exported, variant)
        made = self._made[key]
        foreign = sorted(set(made.domains) - set(registry.backend(backend).describe().domains))
        if foreign:
            message = f"it does not read the operators of {foreign[0]} that {variant} writes"
            return made, Failure("plan", message, _PORTABLE)
        return made, None

    def _make(self, exported: Artifact, variant: str) -> Artifact:
        if variant == UNOPTIMIZED:
            return bind_apart(exported, self._sizes, self._scratch)
        return optimize(self._bundle, self._sizes, recipe(variant), self._say).artifact

    def _not_applicable(self, kinds: tuple[str, ...]) -> Failure:
        held = ", ".join(sorted({artifact.kind for artifact in self._bundle.artifacts}))
        return Failure(
            "plan",
            f"it reads {' or '.join(kinds)}, the model is {held}",
            "Export the model from its TensorFlow source to run it there.",
        )


_PORTABLE = "Compare it at --optimize basic or extended, which write ONNX' own operators only."
