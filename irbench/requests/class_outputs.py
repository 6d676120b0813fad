"""Which outputs of models hold scores of classes, where the user says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec import Bundle, TensorSpec, shape_text

_QUANTIZED = ("uint8", "int8", "uint16", "int16")
"""Types of quantised scores; numbers of classes have wider ones."""


def with_classes(bundles: Sequence[Bundle], names: Sequence[str]) -> tuple[Bundle, ...]:
    """Return models whose outputs of these names are taken for scores of classes; models without one are as they were.

    Raises:
        IrbenchError: No model has such an output, or it cannot hold scores.
    """
    outputs = [spec for bundle in bundles for spec in bundle.outputs]
    for name in names:
        named = [spec for spec in outputs if spec.name == name]
        if not named:
            known = dict.fromkeys(spec.name for spec in outputs)
            raise IrbenchError(
                f"`--classes {name}`: no model has an output called {name!r}.",
                hint=f"{did_you_mean(name, known)}Outputs: {', '.join(known)}.",
            )
        for spec in named:
            _require_scores(spec)
    return tuple(_with_classes(bundle, names) for bundle in bundles)


def _with_classes(bundle: Bundle, names: Sequence[str]) -> Bundle:
    places = tuple(place for place, spec in enumerate(bundle.outputs) if spec.name in names)
    return replace(bundle, classifier=True, class_outputs=places) if places else bundle


def _require_scores(spec: TensorSpec) -> None:
    if not ("float" in spec.dtype or spec.dtype in _QUANTIZED) or len(spec.shape) < 2 or spec.shape[-1] == 1:
        raise IrbenchError(
            f"The output {spec.name} holds no scores of classes: it is {spec.dtype}, {shape_text(spec.shape)}.",
            hint="Name an output with a score for each class along its last axis.",
        )
