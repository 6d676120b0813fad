"""Binding dynamic dimensions: from ``--batch``, ``--shape`` and the model's defaults to one size for each name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from irbench.errors import IrbenchError
from irbench.spec import BATCH, BATCH_IN_FILE, Bundle, TensorSpec, names_in, shape_text, size_of
from irbench.suggestions import did_you_mean
from irbench.system import host

__all__ = [
    "bind_sizes",
    "dynamic_names",
    "fixed_batch",
    "has_name",
    "known_sizes",
    "refuse_unknown_names",
    "with_name_in_file",
]

_EXAMPLE_SIZE = 128
"""What a hint writes for a size that nobody gave."""

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
        shapes: Shapes asked for, by input name; their axes are in the order of the original model, or in that of a
            graph where they fit only that. Where the name is that of a dynamic dimension, its size. Other names are
            those of other models of the run.
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
    sizes |= _asked_sizes(bundle, batch, shapes)
    order = dict.fromkeys((BATCH, *dynamic_names(bundle), *sizes))
    return {name: sizes[name] for name in order if name in sizes}


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
                hint=f"{did_you_mean(name, (*inputs, *dimensions, *aliases))}Inputs: {', '.join(inputs)}.{listed}",
            )


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


def _no_such_batch(bundle: Bundle, fixed: int, batch: int | None) -> IrbenchError:
    names, source = dynamic_names(bundle), bundle.source or bundle.name
    if names:
        return IrbenchError(
            f"{bundle.name} has no dimension called {BATCH}.",
            hint=f"Leave --batch out, or set a dimension: --shape {names[0]}={batch}; there are {', '.join(names)}.",
        )
    message = f"{bundle.name} was exported with a batch of {fixed}, not {batch}."
    if source.endswith(".onnx"):  # irbench cannot export a graph again
        way = "Leave --batch out, or write the ONNX file again from its framework with a dynamic batch dimension."
        return IrbenchError(message, hint=way)
    return IrbenchError(message, hint=f"Leave --batch out, or run: irbench export {source} --batch dynamic")


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


def _asked_sizes(bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return what the batch, and sizes and shapes that were given, say of the dynamic dimensions."""
    asked = _named_sizes(bundle, shapes)
    if batch is not None and asked.setdefault(BATCH, batch) != batch:
        raise IrbenchError(
            f"--shape {BATCH}={asked[BATCH]} and --batch {batch} cannot be combined.", hint="Leave one of them out."
        )
    given = [
        (spec.tensor, _in_order_of_original(bundle, place, shapes[spec.tensor.name]))
        for place, spec in enumerate(bundle.inputs)
        if spec.tensor.name in shapes
    ]
    overridden = frozenset() if batch is None else frozenset({BATCH})
    for spec, shape in given:
        asked |= _match(spec, shape, asked, overridden)
    known = {**bundle.defaults, **asked}
    for spec, shape in given:  # arithmetic of names last: the names may be those of another input
        asked |= _match_arithmetic(spec, shape, known, overridden)
    return asked


def _named_sizes(bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the sizes given by the names of dimensions; an input of the same name comes first."""
    inputs = {spec.tensor.name for spec in bundle.inputs}
    names, aliases = dynamic_names(bundle), _aliases(bundle)
    found: dict[str, int] = {}
    for name, sizes in shapes.items():
        dimension = name if name in names else aliases.get(name)
        if name in inputs or dimension is None:
            continue
        if len(sizes) != 1:
            raise IrbenchError(
                f"--shape {name}={shape_text(sizes)}: {name} is a dynamic dimension, which has one size.",
                hint=f"Write --shape {name}={sizes[-1] if sizes else 1}; inputs: {', '.join(sorted(inputs))}.",
            )
        found[dimension] = sizes[0]
    return found


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


def _refuse_free(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    inputs = {spec.tensor.name for spec in bundle.inputs}
    for spec in (spec.tensor for spec in bundle.inputs):
        for dimension in spec.dynamic_dimensions:
            free = [name for name in names_in(dimension) if name not in sizes and dimension not in sizes]
            if free:
                raise _no_size(bundle, spec, dimension, sizes, free[0] if free[0] not in inputs else "")
            if not size_of(dimension, sizes):
                facts = ", ".join(f"{name}={sizes[name]}" for name in names_in(dimension))
                raise IrbenchError(
                    f"The dimension {dimension!r} of input {spec.name} of {bundle.name} cannot be computed: it is no"
                    f" whole number above 0 with {facts}.",
                    hint="Give other sizes with --shape.",
                )


def _no_size(bundle: Bundle, spec: TensorSpec, dimension: str, sizes: Mapping[str, int], name: str) -> IrbenchError:
    example = [_EXAMPLE_SIZE if isinstance(size, str) else size for size in spec.bind(sizes).shape]
    by_name = f", or --shape {name}={_EXAMPLE_SIZE}" if name else ""
    return IrbenchError(
        f"The dimension {dimension!r} of input {spec.name} of {bundle.name} is dynamic.",
        hint=f"Give it a size, for example --shape {spec.name}={shape_text(example)}{by_name}",
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
