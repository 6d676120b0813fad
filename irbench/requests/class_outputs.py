"""Which outputs of models hold scores of classes, where the user says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec import Bundle, TensorSpec, only_axis, shape_text
from irbench.spec.generation import GenerationArtifact
from irbench.worker.model_files import read_class_scores

_QUANTIZED = ("uint8", "int8", "uint16", "int16")
"""Types of quantised scores; numbers of classes have wider ones."""


def with_classes(bundles: Sequence[Bundle], names: Sequence[str]) -> tuple[Bundle, ...]:
    """Return models whose outputs of these names are taken for scores of classes; models without one are as they were.

    Raises:
        IrbenchError: No model has such an output, it cannot hold scores, or nobody knows along which axis.
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
    return tuple(_with_classes(bundle, names) for bundle in bundles)


def _with_classes(bundle: Bundle, names: Sequence[str]) -> Bundle:
    named = [spec for spec in bundle.outputs if spec.name in names]
    if not named:
        return bundle
    for spec in named:
        is_number = "float" in spec.dtype or spec.dtype in _QUANTIZED
        if not is_number or all(size == 1 for size in spec.shape[1:]):
            raise _holds_none(spec)
    axes = _axes(bundle, names)
    for spec, axis in zip(bundle.outputs, axes, strict=True):
        if spec.name in names and axis is None:
            raise IrbenchError(
                f"The class axis of output {spec.name} ({shape_text(spec.shape)}) is unknown.",
                hint="Export the model so that it ends in a Softmax along the class axis alone, or give a measure of "
                "your own: --metric 'file.py:fn>=0.9'.",
            )
        if spec.name in names and axis is not None and spec.shape[axis] == 1:
            raise _holds_none(spec)
    chosen = (axis if spec.name in names else None for spec, axis in zip(bundle.outputs, axes, strict=True))
    return replace(bundle, classifier=True, class_axes=tuple(chosen))


def _holds_none(spec: TensorSpec) -> IrbenchError:
    return IrbenchError(
        f"The output {spec.name} holds no scores of classes: it is {spec.dtype}, {shape_text(spec.shape)}.",
        hint="Name an output with a score for each class.",
    )


def _axes(bundle: Bundle, names: Sequence[str]) -> tuple[int | None, ...]:
    """Return for each output the axis of its classes, if it holds any; ``None`` where nobody knows it."""
    known = bundle.known_class_axes or (None,) * len(bundle.outputs)
    plain = tuple(
        only_axis(spec.shape) if axis is None else axis for spec, axis in zip(bundle.outputs, known, strict=True)
    )
    artifact = bundle.artifact(("onnx",))
    is_known = all(axis is not None or spec.name not in names for spec, axis in zip(bundle.outputs, plain, strict=True))
    if is_known or artifact is None or isinstance(artifact, GenerationArtifact):
        return plain
    shown = read_class_scores(artifact.path)
    return tuple(own.axis if axis is None else axis for axis, own in zip(plain, shown, strict=True))
