"""Shapes that one session meets: a model at several sizes, a table for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.errors import IrbenchError
from irbench.runner.inputs import ModelData
from irbench.runner.request import Sweep
from irbench.spec import Bundle, shape_text
from irbench.spec.requested_sizes import has_name


def sizes_of_sweep(
    data: ModelData, batch: int | None, shapes: Mapping[str, tuple[int, ...]], sweep: Sweep | None
) -> tuple[dict[str, int], ...]:
    """Return the sizes of all dynamic dimensions for each shape of a sweep, or once where there is none.

    Args:
        data: The model, with the sizes that samples and lists of constants have.
        batch: The batch asked for; see :meth:`irbench.runner.inputs.ModelData.bind`.
        shapes: Shapes and sizes that all tables share, by name.
        sweep: What differs; without a name the shapes are those of the first input with dynamic dimensions.

    Raises:
        IrbenchError: A shape does not fit, two are the same, or the model has no dynamic dimension.
    """
    if sweep is None:
        return (data.bind(batch, shapes),)
    bundle = data.bundle
    name, given = sweep
    name = name or _first_dynamic(bundle)
    if not has_name(bundle, name):  # another model of the run has it
        return (data.bind(batch, shapes),)
    if name in shapes:
        raise IrbenchError(f"--shapes and --shape both set {name}.", hint="Leave one of them out.")
    found: list[dict[str, int]] = []
    for shape in given:
        sizes = data.bind(batch, {**shapes, name: shape})
        if sizes in found:
            raise IrbenchError(
                f"--shapes {name}={shape_text(shape)} asks for the same sizes as another shape of it.",
                hint="--batch overrides the batch of a shape: leave it out, or one of the shapes.",
            )
        found.append(sizes)
    return tuple(found)


def swept_sizes(sizes: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the sizes that tell a table from the others of its sweep, by dimension."""
    return {name: size for name, size in sizes.items() if any(other[name] != size for other in others)}


def _first_dynamic(bundle: Bundle) -> str:
    for spec in bundle.inputs:
        if spec.tensor.dynamic_dimensions:
            return spec.tensor.name
    raise IrbenchError(f"{bundle.name} has no dynamic dimensions.", hint="Leave --shapes out: it has one shape only.")
