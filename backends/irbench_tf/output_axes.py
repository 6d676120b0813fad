"""Which sizes of outputs follow which dynamic dimensions of inputs: seen by running a model at several sizes.

TensorFlow calls every dynamic axis ``None``. An axis that follows no dimension gets a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.spec import BATCH, Shape

Shapes = Sequence[tuple[int, ...]]
"""One of each output."""
RunAt = Callable[[Mapping[str, int]], Shapes]

_NEIGHBOURS: tuple[Callable[[int], int], ...] = (
    lambda size: size + 1,
    lambda size: size - 1,
    lambda size: size * 2,
    lambda size: size // 2,
)
"""Other sizes of a dimension, in the order in which they are tried: models have a greatest size, or take multiples."""


@dataclass(frozen=True)
class OutputAxes:
    """The shape of an output.

    Attributes:
        batch: The axis that counts samples; ``None`` where none does.
    """

    shape: Shape
    batch: int | None


def is_batch_first(static: Sequence[Sequence[int | None] | None], pool: Shapes, samples: int) -> bool:
    """Return whether sizes need no further look: the only dynamic axis of each output is the first, the batch."""
    return all(
        known is not None and len(known) > 0 and known[0] is None and None not in known[1:] and shape[0] == samples
        for known, shape in zip(static, pool, strict=True)
    )


def axes_of_fixed_batch(shapes: Shapes, batch: int) -> Iterator[int | None]:
    """Yield for each output of a model with a fixed batch the axis that counts samples.

    It is the first of that size, the first axis of all if its size is a multiple, or none.
    """
    for shape in shapes:
        alike = [axis for axis, size in enumerate(shape) if size == batch]
        merged = 0 if batch > 1 and shape and shape[0] > 0 and shape[0] % batch == 0 else None
        yield alike[0] if alike else merged


def follow(
    names: Sequence[str], static: Sequence[Sequence[int | None] | None], run_at: RunAt, sizes: Mapping[str, int]
) -> tuple[OutputAxes, ...]:
    """Return the shape of each output, its dynamic axes named after the dimensions that they follow.

    Args:
        names: Of the outputs.
        static: What TensorFlow knows of the shapes; ``None`` for an unknown number of axes.
        run_at: Runs the model at some sizes and returns the shapes of the outputs.
        sizes: Of the dynamic dimensions; with the batch only where that is dynamic.
    """
    base = run_at(sizes)
    grown = {name: _grown(run_at, sizes, name) for name in sizes}
    return tuple(
        _axes(name, known, [_steps(sizes, base, grown, output, axis) for axis in range(len(base[output]))])
        for output, (name, known) in enumerate(zip(names, static, strict=True))
    )


@dataclass(frozen=True)
class _Grown:
    """The shapes of outputs at another size of one dimension; ``None`` where the model takes no other."""

    size: int
    shapes: Shapes | None


@dataclass(frozen=True)
class _Step:
    """How the size of an axis changed with that of a dimension."""

    dimension: str
    sizes: tuple[int, int]
    axis: tuple[int, int]

    @property
    def counts_samples(self) -> bool:
        return self.dimension == BATCH and bool(self.rows)

    @property
    def is_same(self) -> bool:
        return self.axis == self.sizes

    @property
    def rows(self) -> int | None:
        """How many rows the axis has for each of the dimension; ``None`` where it is not a multiple."""
        rows, rest = divmod(self.axis[0], self.sizes[0])
        return rows if not rest and self.axis[1] == rows * self.sizes[1] else None


def _grown(run_at: RunAt, sizes: Mapping[str, int], name: str) -> _Grown:
    for change in _NEIGHBOURS:
        size = change(sizes[name])
        if size < 1 or size == sizes[name]:
            continue
        try:
            return _Grown(size, run_at({**sizes, name: size}))
        except Exception:  # noqa: BLE001, S112 - a model refuses sizes in a way of its own
            continue
    return _Grown(sizes[name], None)


def _steps(
    sizes: Mapping[str, int], base: Shapes, grown: Mapping[str, _Grown], output: int, axis: int
) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    for name, other in grown.items():
        before, after = base[output], other.shapes[output] if other.shapes is not None else base[output]
        if len(after) == len(before) and after[axis] != before[axis]:
            steps.append(_Step(name, (sizes[name], other.size), (before[axis], after[axis])))
    return tuple(steps)


def _axes(name: str, known: Sequence[int | None] | None, steps: Sequence[tuple[_Step, ...]]) -> OutputAxes:
    static = known if known is not None else (None,) * len(steps)
    shape = (
        _name(changes, f"{name}_{axis}") if size is None else size
        for axis, (size, changes) in enumerate(zip(static, steps, strict=True))
    )
    counting = [axis for axis, changes in enumerate(steps) if any(step.counts_samples for step in changes)]
    return OutputAxes(tuple(shape), counting[0] if len(counting) == 1 else None)


def _name(steps: tuple[_Step, ...], otherwise: str) -> str:
    if len(steps) != 1:
        return otherwise
    (step,) = steps
    if step.is_same:
        return step.dimension
    return f"{step.rows}*{BATCH}" if step.counts_samples else otherwise
