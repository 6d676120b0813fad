"""What batches, shapes and sizes that a user gave say of the dynamic dimensions of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec.models import Bundle
from irbench.spec.tensors import BATCH, BATCH_IN_FILE, TensorSpec, names_in, shape_text, size_of

_EXAMPLE_SIZE = 128
"""What a hint writes for a size that nobody gave."""


def requested_sizes(bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return what a batch, and sizes and shapes that were given, say of the dynamic dimensions of a model.

    Args:
        bundle: The model.
        batch: The batch asked for, whatever shapes say of it; ``None`` where none was.
        shapes: Shapes asked for, by input name; their axes are in the order of the original model, or in that of a
            graph where they fit only that. A single size is that of the input's only dynamic dimension besides the
            batch. Where the name is that of a dynamic dimension, its size. Other names are those of other models.

    Raises:
        IrbenchError: A shape contradicts the model or another shape.
    """
    sizes = _named_sizes(bundle, shapes)
    if batch is not None and sizes.setdefault(BATCH, batch) != batch:
        raise IrbenchError(
            f"--shape {BATCH}={sizes[BATCH]} and --batch {batch} cannot be combined.", hint="Leave one of them out."
        )
    requested = [
        (spec.tensor, _in_order_of_original(bundle, place, shapes[spec.tensor.name]))
        for place, spec in enumerate(bundle.inputs)
        if spec.tensor.name in shapes and not _only_free(spec.tensor, shapes[spec.tensor.name])
    ]
    overridden = frozenset() if batch is None else frozenset({BATCH})
    for spec, shape in requested:
        sizes |= _match(spec, shape, sizes, overridden)
    known = {**bundle.defaults, **sizes}
    for spec, shape in requested:  # arithmetic of names last: the names may be those of another input
        sizes |= _match_arithmetic(spec, shape, known, overridden)
    return sizes


def example_sizes(inputs: Sequence[TensorSpec], sizes: Mapping[str, int]) -> str:
    """Return options that give a size to every dynamic dimension that has none, as they are typed.

    Args:
        inputs: Of the model.
        sizes: Of its dynamic dimensions, as far as they are known.
    """
    free = {
        name: spec
        for spec in inputs
        for dimension in spec.dynamic_dimensions
        for name in names_in(dimension)
        if name not in sizes and dimension not in sizes
    }
    known = {**dict.fromkeys(free, _EXAMPLE_SIZE), BATCH: 1, **sizes}
    of_inputs = {spec.name: spec for spec in inputs}
    options: dict[str, str] = {}
    for name in free:  # a name of an input means its shape
        options[name] = shape_text(of_inputs[name].bind(known).shape) if name in of_inputs else str(known[name])
    return " ".join(f"--shape {quote(f'{name}={size}')}" for name, size in options.items())


def size_options(bundle: Bundle, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return options for the sizes of dynamic dimensions that are not the model's defaults, but for the batch."""
    chosen = (name for name in dynamic_names(bundle) if name in sizes and sizes[name] != bundle.defaults.get(name))
    return tuple(f"--shape {quote(f'{name}={sizes[name]}')}" for name in chosen if name != BATCH)


def refuse_unknown_names(shapes: Mapping[str, tuple[int, ...]], bundles: Sequence[Bundle]) -> None:
    """Refuse shapes of inputs, and sizes of dimensions, that none of the models has.

    Raises:
        IrbenchError: There is such a name.
    """
    inputs = sorted({spec.tensor.name for bundle in bundles for spec in bundle.inputs})
    dimensions = sorted({name for bundle in bundles for name in dynamic_names(bundle)})
    aliases = {alias: name for bundle in bundles for alias, name in _aliases(bundle).items()}
    called = {name: with_name_in_file(name, aliases) for name in dimensions}
    for name in shapes:
        if not any(has_name(bundle, name) for bundle in bundles):
            listed = f" Dynamic dimensions: {', '.join(called[name] for name in dimensions)}." if dimensions else ""
            raise IrbenchError(
                f"No model has an input or a dynamic dimension called {name!r}.",
                hint=f"{did_you_mean(name, (*inputs, *dimensions, *aliases))}{_inputs_text(bundles)}{listed}",
            )


def _inputs_text(bundles: Sequence[Bundle]) -> str:
    """Return the inputs of a model, or of each of several: ``Inputs: x of first; tokens, mask of second.``."""
    named = [(", ".join(sorted(spec.tensor.name for spec in bundle.inputs)), bundle.name) for bundle in bundles]
    if len(named) == 1:
        return f"Inputs: {named[0][0]}."
    return f"Inputs: {'; '.join(f'{inputs} of {model}' for inputs, model in named)}."


def with_name_in_file(name: str, aliases: Mapping[str, str]) -> str:
    """Return a dimension as messages name it: ``batch (tokens in the file)``.

    Args:
        name: What irbench calls it.
        aliases: What files call dimensions, and the name that irbench has for each.
    """
    own = [alias for alias, meant in aliases.items() if meant == name != alias]
    return f"{name} ({', '.join(own)} in the file)" if own else name


def has_name(bundle: Bundle, name: str) -> bool:
    """Return whether a model has an input or a dynamic dimension of this name."""
    return name in {*(spec.tensor.name for spec in bundle.inputs), *dynamic_names(bundle), *_aliases(bundle)}


def dynamic_names(bundle: Bundle) -> tuple[str, ...]:
    """Return the dynamic dimensions of the logical inputs, in the order of their axes."""
    dimensions = (dimension for spec in bundle.inputs for dimension in spec.tensor.dynamic_dimensions)
    return tuple(dict.fromkeys(name for dimension in dimensions for name in names_in(dimension)))


def _aliases(bundle: Bundle) -> Mapping[str, str]:
    """Return other names of dimensions: what an ONNX file itself calls the batch."""
    called = bundle.details.get(BATCH_IN_FILE)
    return {str(called): BATCH} if called else {}


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


def _named_sizes(bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the sizes given by the names of dimensions; an input of the same name comes first."""
    inputs = {spec.tensor.name: spec.tensor for spec in bundle.inputs}
    names, aliases = dynamic_names(bundle), _aliases(bundle)
    named: dict[str, int] = {}
    for name, sizes in shapes.items():
        dimension = name if name in names else aliases.get(name)
        if name in inputs:
            dimension = _only_free(inputs[name], sizes)
        if dimension is None:
            continue
        if len(sizes) != 1:
            raise IrbenchError(
                f"--shape {name}={shape_text(sizes)}: {name} is a dynamic dimension, which has one size.",
                hint=f"Write --shape {name}={sizes[-1] if sizes else 1}; inputs: {', '.join(sorted(inputs))}.",
            )
        if named.setdefault(dimension, sizes[0]) != sizes[0]:
            raise IrbenchError(
                f"--shape {name}={sizes[0]} contradicts the size {named[dimension]} of {dimension!r}.",
                hint="Leave one of the two out.",
            )
    return named


def _only_free(spec: TensorSpec, sizes: Sequence[int]) -> str | None:
    """Return the dimension that a single size is that of, where an input of several axes has one besides the batch."""
    free = [name for name in spec.dynamic_dimensions if name != BATCH]
    is_single = len(sizes) == 1 < len(spec.shape) and len(free) == 1
    return free[0] if is_single and names_in(free[0]) == (free[0],) else None


def _match(
    spec: TensorSpec, shape: tuple[int, ...], bound: Mapping[str, int], overridden: frozenset[str]
) -> dict[str, int]:
    """Return what ``shape`` says of the names in the shape of ``spec``, without those that are overridden."""
    if len(shape) != len(spec.shape):
        raise IrbenchError(
            f"--shape {spec.name}={shape_text(shape)} has {len(shape)} axes; the input is {shape_text(spec.shape)}.",
            hint=f"Give one size for each axis of {shape_text(spec.shape)}.",
        )
    sizes: dict[str, int] = {}
    for axis, size in zip(spec.shape, shape, strict=True):
        if isinstance(axis, int):
            if size != axis:
                raise _wrong_size(spec, shape, axis, size)
        elif axis not in overridden and names_in(axis) == (axis,):
            _require_same(spec, shape, axis, size, bound.get(axis, sizes.get(axis, size)))
            sizes[axis] = size
    return sizes


def _match_arithmetic(
    spec: TensorSpec, shape: tuple[int, ...], known: Mapping[str, int], overridden: frozenset[str]
) -> dict[str, int]:
    """Return the sizes of arithmetic whose names are not all known; the size of other arithmetic must agree."""
    sizes: dict[str, int] = {}
    for axis, size in zip(spec.shape, shape, strict=True):
        names = frozenset(names_in(axis))
        if names != {axis} and names and not names & overridden:
            computed = size_of(axis, {**known, **sizes})
            _require_same(spec, shape, str(axis), size, size if computed is None else computed)
            if computed is None:
                sizes[str(axis)] = size
    return sizes


def _wrong_size(spec: TensorSpec, shape: tuple[int, ...], axis: int, size: int) -> IrbenchError:
    return IrbenchError(
        f"--shape {spec.name}={shape_text(shape)} has {size} where the model needs {axis}: the input is"
        f" {shape_text(spec.shape)}.",
        hint=f"Write {axis} there; the axes are in the order of the original model.",
    )


def _require_same(spec: TensorSpec, shape: tuple[int, ...], axis: str, size: int, expected: int) -> None:
    if size != expected:
        raise IrbenchError(
            f"--shape {spec.name}={shape_text(shape)} contradicts the size {expected} of {axis!r} in"
            f" {shape_text(spec.shape)}.",
            hint="Change that size, or leave out the other --shape that sets it.",
        )
