"""Which outputs of models hold scores of classes, where the user says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec import Bundle, TensorSpec, shape_text
from irbench.spec.generation import GenerationArtifact
from irbench.worker.model_files import read_class_axes

_FEW_AXES = 2
"""A score for each class, of each sample: the classes are along the last axis."""

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
    if not any(spec.name in names for spec in bundle.outputs):
        return bundle
    axes = _axes(bundle, names)
    for spec, axis in zip(bundle.outputs, axes, strict=True):
        if spec.name in names:
            _require_scores(spec, axis)
    chosen = (axis if spec.name in names else None for spec, axis in zip(bundle.outputs, axes, strict=True))
    return replace(bundle, classifier=True, class_axes=tuple(chosen))


def _axes(bundle: Bundle, names: Sequence[str]) -> tuple[int | None, ...]:
    """Return for each output the axis of its classes, if it holds any; ``None`` where nobody knows it."""
    known = bundle.known_class_axes or (None,) * len(bundle.outputs)
    plain = tuple(
        -1 if axis is None and len(spec.shape) <= _FEW_AXES else axis
        for spec, axis in zip(bundle.outputs, known, strict=True)
    )
    artifact = bundle.artifact(("onnx",))
    is_known = all(axis is not None or spec.name not in names for spec, axis in zip(bundle.outputs, plain, strict=True))
    if is_known or artifact is None or isinstance(artifact, GenerationArtifact):
        return plain
    return tuple(own if axis is None else axis for axis, own in zip(plain, read_class_axes(artifact.path), strict=True))


def _require_scores(spec: TensorSpec, axis: int | None) -> None:
    is_number = "float" in spec.dtype or spec.dtype in _QUANTIZED
    if not is_number or len(spec.shape) < _FEW_AXES or (axis is not None and spec.shape[axis] == 1):
        raise IrbenchError(
            f"The output {spec.name} holds no scores of classes: it is {spec.dtype}, {shape_text(spec.shape)}.",
            hint="Name an output with a score for each class.",
        )
    if axis is None:
        raise IrbenchError(
            f"Nothing shows which axis of the output {spec.name} counts classes: it is {shape_text(spec.shape)}.",
            hint="Export the model with a Softmax along that axis, or give a measure of your own: "
            "--metric 'file.py:fn>=0.9'.",
        )
