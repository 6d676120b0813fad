"""Binding dynamic dimensions: from ``--batch``, ``--shape`` and the model's defaults to one size for each name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from irbench.errors import IrbenchError
from irbench.spec import BATCH, Bundle, TensorSpec
from irbench.system import host

__all__ = ["bind_sizes", "fixed_batch", "refuse_unknown_inputs"]

_DRAWING_BYTES = 16
"""Of memory for each value of an input: it is drawn in double precision, and copied."""


def fixed_batch(bundle: Bundle) -> int | None:
    """Return the batch that every artifact of the bundle was made for, or ``None`` where it is dynamic.

    The batch need not be the first axis: sequences may come first. A model whose first input has no batch axis at
    all counts as fixed to a batch of 1.
    """
    if any(BATCH in spec.dynamic_dimensions for artifact in bundle.artifacts for spec in artifact.inputs):
        return None
    batches = {_leading_size(spec) for artifact in bundle.artifacts for spec in artifact.inputs[:1]}
    if len(batches) == 1:
        (batch,) = batches
        return batch
    return None


def bind_sizes(
    bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]], data: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return a size for every dynamic dimension of the bundle's logical inputs, ``batch`` included.

    Args:
        bundle: The model.
        batch: The batch asked for; ``None`` takes the fixed one, that of ``shapes``, or 1.
        shapes: Shapes asked for, by input name; their axes are in the order of the original model, or in that of a
            graph where they fit only that.
        data: Sizes of dynamic dimensions that data have, which count before the model's defaults.

    Raises:
        IrbenchError: A shape contradicts the model, the batch, or another shape; a dimension stays dynamic; or the
            inputs would take more memory than there is.
    """
    fixed = fixed_batch(bundle)
    if fixed is not None and batch not in (None, fixed):
        raise IrbenchError(
            f"{bundle.name} was exported with a batch of {fixed}, not {batch}.",
            hint=_way_to_another_batch(bundle),
        )
    sizes: dict[str, int] = dict(bundle.defaults)
    sizes.pop(BATCH, None)
    sizes |= data or {}
    if batch is not None or fixed is not None:
        sizes[BATCH] = batch or fixed or 1
    asked: dict[str, int] = {}
    for place, spec in enumerate(tensor.tensor for tensor in bundle.inputs):
        if spec.name in shapes:  # a shape may be that of another model of the same run
            shape = _in_order_of_original(bundle, place, shapes[spec.name])
            asked |= _match(spec, shape, {**asked, **({BATCH: sizes[BATCH]} if BATCH in sizes else {})})
    sizes |= asked
    sizes.setdefault(BATCH, 1)
    _refuse_free(bundle, sizes)
    _refuse_too_large(bundle, sizes)
    return sizes


def refuse_unknown_inputs(shapes: Mapping[str, tuple[int, ...]], bundles: Sequence[Bundle]) -> None:
    """Refuse shapes of inputs that none of the models has.

    Raises:
        IrbenchError: There is such a shape.
    """
    inputs = {spec.tensor.name for bundle in bundles for spec in bundle.inputs}
    for name in shapes:
        if name not in inputs:
            raise IrbenchError(f"No model has an input called {name!r}.", hint=f"Inputs: {', '.join(sorted(inputs))}.")


def _way_to_another_batch(bundle: Bundle) -> str:
    source = bundle.source or bundle.name
    if source.endswith(".onnx"):  # irbench cannot export a graph again
        return "Leave --batch out, or write the ONNX file again from its framework with a dynamic batch dimension."
    return f"Leave --batch out, or run: irbench export {source} --batch dynamic"


def _in_order_of_original(bundle: Bundle, place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with the axes of the logical input, turned where it fits none but a graph's own order."""
    if not _fits(bundle.inputs[place].tensor, shape):
        for spec in (artifact.inputs[place] for artifact in bundle.artifacts):
            if spec.permutation is not None and _fits(spec, shape):
                return tuple(shape[spec.permutation.index(axis)] for axis in range(len(shape)))
    return shape


def _fits(spec: TensorSpec, shape: tuple[int, ...]) -> bool:
    return len(spec.shape) == len(shape) and all(
        isinstance(axis, str) or axis == size for axis, size in zip(spec.shape, shape, strict=True)
    )


def _match(spec: TensorSpec, shape: tuple[int, ...], bound: Mapping[str, int]) -> dict[str, int]:
    """Return what ``shape`` says of the dynamic dimensions of ``spec``."""
    wanted = "x".join(str(size) for size in spec.shape)
    given = "x".join(str(size) for size in shape)
    if len(shape) != len(spec.shape):
        raise IrbenchError(
            f"--shape {spec.name}={given} has {len(shape)} axes; the input is {wanted}.",
            hint=f"Give one size for each axis of {wanted}.",
        )
    sizes: dict[str, int] = {}
    for axis, size in zip(spec.shape, shape, strict=True):
        expected = bound.get(axis, sizes.get(axis, size)) if isinstance(axis, str) else axis
        if size != expected and isinstance(axis, int):
            raise IrbenchError(
                f"--shape {spec.name}={given} has {size} where the model needs {axis}: the input is {wanted}.",
                hint=f"Write {axis} there; the axes are in the order of the original model.",
            )
        if size != expected:
            raise IrbenchError(
                f"--shape {spec.name}={given} contradicts the size {expected} of {axis!r} in {wanted}.",
                hint="Change that size, or leave out the option that sets it (--batch, or another --shape).",
            )
        if isinstance(axis, str):
            sizes[axis] = size
    return sizes


def _refuse_free(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    for spec in bundle.inputs:
        free = [name for name in spec.tensor.dynamic_dimensions if name not in sizes]
        if free:
            example = "x".join(
                str(sizes.get(size, 128)) if isinstance(size, str) else str(size) for size in spec.tensor.shape
            )
            raise IrbenchError(
                f"The dimension {free[0]!r} of input {spec.tensor.name} of {bundle.name} is dynamic.",
                hint=f"Give it a size: --shape {spec.tensor.name}={example}",
            )


def _refuse_too_large(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    free_bytes = host.available_memory_bytes()
    for spec in bundle.inputs:
        shape = [size for size in spec.tensor.bind(sizes).shape if isinstance(size, int)]
        needed_bytes = math.prod(shape) * _DRAWING_BYTES
        if needed_bytes > free_bytes:
            raise IrbenchError(
                f"Input {spec.tensor.name} of {bundle.name} has {'x'.join(map(str, shape))} values: generating them"
                " needs "
                f"{needed_bytes / 1e9:.1f} GB, and {free_bytes / 1e9:.1f} GB of memory are available.",
                hint="Use a smaller --batch or --shape.",
            )


def _leading_size(spec: TensorSpec) -> int | None:
    if not spec.shape:
        return 1
    size = spec.shape[0]
    return size if isinstance(size, int) else (None if size == BATCH else 1)
