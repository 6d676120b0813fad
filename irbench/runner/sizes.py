"""Binding dynamic dimensions: from ``--batch``, ``--shape`` and the model's defaults to one size for each name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from shlex import quote

from irbench.errors import IrbenchError
from irbench.spec import BATCH, Bundle, TensorSpec, names_in, shape_text, size_of
from irbench.spec.requested_sizes import dynamic_names, example_sizes, requested_sizes
from irbench.system import host

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
        batch: The batch asked for, whatever shapes say of it; ``None`` takes the fixed one, that of ``shapes``, or 1.
        shapes: Shapes and sizes asked for, by name: :func:`irbench.spec.requested_sizes.requested_sizes`.
        data: Sizes of dynamic dimensions that data have, which count before the model's defaults.

    Raises:
        IrbenchError: A shape contradicts the model or another shape; a dimension stays dynamic; or the inputs would
            take more memory than there is.
    """
    sizes = known_sizes(bundle, batch, shapes, data)
    _refuse_free(bundle, sizes)
    _refuse_too_large(bundle, sizes)
    return sizes


def known_sizes(
    bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]], data: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Do as :func:`bind_sizes` for a model that is only looked at: its inputs may stay dynamic, or be too large."""
    fixed = fixed_batch(bundle)
    if fixed is not None and batch not in (None, fixed):
        raise _no_such_batch(bundle, fixed, batch)
    sizes: dict[str, int] = {**bundle.defaults, BATCH: 1, **(data or {})}
    if fixed is not None:
        sizes[BATCH] = fixed
    sizes |= requested_sizes(bundle, batch, shapes)
    order = dict.fromkeys((BATCH, *dynamic_names(bundle), *sizes))
    return {name: sizes[name] for name in order if name in sizes}


def _no_such_batch(bundle: Bundle, fixed: int, batch: int | None) -> IrbenchError:
    names, source = dynamic_names(bundle), bundle.source or bundle.name
    if names:
        way = f"set a dimension ({', '.join(names)}): --shape {quote(f'{names[0]}={batch}')}"
        return IrbenchError(f"{bundle.name} has no dimension called {BATCH}.", hint=f"Leave --batch out, or {way}")
    message = f"{bundle.name} was exported with a batch of {fixed}, not {batch}."
    if source.endswith(".onnx"):  # irbench cannot export a graph again
        way = "Leave --batch out, or write the ONNX file again from its framework with a dynamic batch dimension."
        return IrbenchError(message, hint=way)
    return IrbenchError(message, hint=f"Leave --batch out, or run: irbench export {quote(source)} --batch dynamic")


def _refuse_free(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    for spec in (spec.tensor for spec in bundle.inputs):
        for dimension in spec.dynamic_dimensions:
            if dimension not in sizes and any(name not in sizes for name in names_in(dimension)):
                raise _no_size(bundle, spec, dimension, sizes)
            if not size_of(dimension, sizes):
                facts = ", ".join(f"{name}={sizes[name]}" for name in names_in(dimension))
                raise IrbenchError(
                    f"The dimension {dimension!r} of input {spec.name} of {bundle.name} cannot be computed: it is no"
                    f" whole number above 0 with {facts}.",
                    hint="Give other sizes with --shape.",
                )


def _no_size(bundle: Bundle, spec: TensorSpec, dimension: str, sizes: Mapping[str, int]) -> IrbenchError:
    options = example_sizes([model_input.tensor for model_input in bundle.inputs], sizes)
    return IrbenchError(
        f"Input {spec.name} of {bundle.name} needs a size for its dynamic dimension {dimension!r}.",
        hint=f"Add a size, for example: {options}",
    )


def _refuse_too_large(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    free_bytes = host.available_memory_bytes()
    for spec in bundle.inputs:
        shape = [size for size in spec.tensor.bind(sizes).shape if isinstance(size, int)]
        needed_bytes = math.prod(shape) * _DRAWING_BYTES
        if needed_bytes > free_bytes:
            raise IrbenchError(
                f"Input {spec.tensor.name} of {bundle.name} has {shape_text(shape)} values: generating them"
                " needs "
                f"{needed_bytes / 1e9:.1f} GB, and {free_bytes / 1e9:.1f} GB of memory are available.",
                hint="Use a smaller --batch or --shape.",
            )


def _leading_size(spec: TensorSpec) -> int | None:
    if not spec.shape:
        return 1
    size = spec.shape[0]
    return size if isinstance(size, int) else (None if size == BATCH else 1)
