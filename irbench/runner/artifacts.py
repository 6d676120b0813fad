"""The artifacts that the cells of a group run: as exported or optimised, with every shape bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import cast, get_args

from irbench import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.onnx.reading.precision import read_precision
from irbench.optimizer import UNOPTIMIZED, optimize, variant
from irbench.record import Failure
from irbench.render.optimize import in_words
from irbench.runner.binding import bind_apart
from irbench.spec import Artifact, Bundle, Precision

__all__ = ["GroupArtifacts"]


class GroupArtifacts:
    """Makes each artifact once, however many cells run it.

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
        self._made: dict[tuple[str, str], tuple[Artifact, Failure | None]] = {}

    def rows(
        self, backend: str, asked: Sequence[str], precisions: Sequence[Precision] | None
    ) -> tuple[tuple[Precision, str], ...]:
        """Return what a backend runs: each variant in each precision, but one that was converted in its own only.

        Only ONNX graphs are optimised; a backend that reads another kind runs that as it is.

        Raises:
            IrbenchError: No precision is given, and the graph's own cannot be read.
        """
        artifact = self._bundle.artifact(registry.backend(backend).consumes)
        is_onnx = artifact is not None and artifact.kind == "onnx"
        variants = asked if is_onnx else (UNOPTIMIZED,)
        if precisions is None:
            precisions = (self._held if is_onnx else _USUAL,)
        pairs: list[tuple[Precision, str]] = [
            (_own_precision(name) or precision, name) for precision, name in product(precisions, variants)
        ]
        return tuple(dict.fromkeys(pairs))

    def of(self, backend: str, name: str) -> tuple[Artifact | None, Failure | None]:
        """Return the artifact that a backend reads, if there is one, and why it cannot run it, if it cannot.

        Raises:
            IrbenchError: A shape cannot be bound, or what optimising needs is not installed.
        """
        kinds = registry.backend(backend).consumes
        exported = self._bundle.artifact(kinds)
        if exported is None:
            return None, self._not_applicable(kinds)
        key = (exported.label, name)
        if key not in self._made:
            self._made[key] = self._make(exported, name)
        made, failure = self._made[key]
        if failure is not None:
            return made, failure
        foreign = sorted(set(made.domains) - set(registry.backend(backend).describe().domains))
        if foreign:
            message = f"it does not read the operators of {foreign[0]} that {name} writes"
            return made, Failure("plan", message, _PORTABLE)
        return made, None

    @cached_property
    def _held(self) -> Precision:
        """The precision of the ONNX graph where it is one that can be asked for; else fp32."""
        artifact = self._bundle.artifact(("onnx",))
        held = read_precision(artifact.path).narrowest if artifact is not None else _USUAL
        return cast("Precision", held) if held in get_args(Precision) else _USUAL

    def _make(self, exported: Artifact, name: str) -> tuple[Artifact, Failure | None]:
        if name == UNOPTIMIZED:
            return bind_apart(exported, self._sizes, self._scratch), None
        try:
            return optimize(self._bundle, self._sizes, variant(name), in_words(self._say)).artifact, None
        except IrbenchError as error:
            if error.exit_code == ExitCode.NOT_INSTALLED:  # no model can be optimised then
                raise
            # what the error advises is for `irbench optimize`, whose options a run does not take
            failure = Failure(
                "optimize",
                error.message.rstrip("."),
                f"Leave {name} out of --optimize, or look into it with irbench optimize.",
            )
            return replace(exported, variant=name), failure

    def _not_applicable(self, kinds: tuple[str, ...]) -> Failure:
        held = ", ".join(sorted({artifact.kind for artifact in self._bundle.artifacts}))
        return Failure(
            "plan",
            f"it reads {' or '.join(kinds)}, the model is {held}",
            "Export the model from its TensorFlow source to run it there.",
        )


_USUAL: Precision = "fp32"
"""What is asked of a graph that holds no other precision."""

_PORTABLE = "Compare it at --optimize basic or extended, which write ONNX' own operators only."


def _own_precision(name: str) -> Precision | None:
    conversion = None if name == UNOPTIMIZED else variant(name).conversion
    return conversion.precision if conversion is not None else None
