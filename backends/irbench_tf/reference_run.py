"""Run a traced model on generated inputs: its reference outputs, and the shapes of its outputs.

Which sizes of outputs follow which dynamic dimensions of inputs: seen by running a model at several sizes.

TensorFlow calls every dynamic axis ``None``. An axis that follows no dimension gets a name of its own.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from irbench.core import feeds
from irbench.errors import IrbenchError
from irbench.spec import BATCH, Bundle, Shape, TensorSpec
from irbench.spec.requested_sizes import refuse_unknown_names, requested_sizes
from irbench.spi import Array, ExportRequest
from irbench_tf.model_errors import blaming_model
from irbench_tf.random_draws import draws_of
from irbench_tf.sources import Loaded
from irbench_tf.tracing import Traced

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
    """Return whether sizes need no further look: the batch is the first axis of every output, and the only dynamic one."""
    return all(
        known is not None and len(known) > 0 and known[0] is None and None not in known[1:] and found[0] == samples
        for known, found in zip(static, pool, strict=True)
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
        """How many rows the axis has for each of the dimension; ``None`` where it is no multiple."""
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
    found: list[_Step] = []
    for name, other in grown.items():
        before, after = base[output], other.shapes[output] if other.shapes is not None else base[output]
        if len(after) == len(before) and after[axis] != before[axis]:
            found.append(_Step(name, (sizes[name], other.size), (before[axis], after[axis])))
    return tuple(found)


def _axes(name: str, known: Sequence[int | None] | None, steps: Sequence[tuple[_Step, ...]]) -> OutputAxes:
    static = known if known is not None else (None,) * len(steps)
    shape = (
        _name(found, f"{name}_{axis}") if size is None else size
        for axis, (size, found) in enumerate(zip(static, steps, strict=True))
    )
    counting = [axis for axis, found in enumerate(steps) if any(step.counts_samples for step in found)]
    return OutputAxes(tuple(shape), counting[0] if len(counting) == 1 else None)


def _name(steps: tuple[_Step, ...], otherwise: str) -> str:
    if len(steps) != 1:
        return otherwise
    (step,) = steps
    if step.is_same:
        return step.dimension
    return f"{step.rows}*{BATCH}" if step.counts_samples else otherwise


def with_sizes(loaded: Loaded, request: ExportRequest) -> Loaded:
    """Return a model with the default sizes that were asked for."""
    model = Bundle(loaded.name, loaded.inputs, (), loaded.defaults)
    refuse_unknown_names(request.shapes, (model,))
    sizes = requested_sizes(model, None, request.shapes)
    given = sizes.pop(BATCH, 1)
    if given not in (1, request.batch, loaded.fixed_batch):
        raise IrbenchError(
            f"--shape gives a batch of {given}, and the batch of an export is that of --batch.",
            hint=f"Write 1 there, or add --batch {given} for a fixed batch.",
        )
    return replace(loaded, defaults={**loaded.defaults, **sizes})


_LARGEST_DIFFERENCE = 1e-3
"""Of the largest value of an output: the tolerance of fp32. Each batch may be computed in an order of its own."""
_Pool: TypeAlias = Sequence[tuple[Array, ...]]
"""For each batch, one array per output."""


@dataclass(frozen=True)
class ReferenceRun:
    """What a model answered to the first :data:`irbench.core.feeds.POOL` samples at its default sizes.

    Attributes:
        specs: Names, types and shapes of the outputs.
        axes: For each output the axis that counts samples; ``None`` where none does.
        draws: What draws random numbers in the model, where the same inputs gave other answers; otherwise empty.
    """

    specs: tuple[TensorSpec, ...]
    axes: tuple[int | None, ...]
    outputs: tuple[Array, ...]
    draws: tuple[str, ...]


def run_reference(traced: Traced, loaded: Loaded, seed: int) -> ReferenceRun:
    """Run a model."""
    pool = _run_pool(traced, loaded, seed)
    found = _output_axes(traced, loaded, pool)
    tensors = traced.function.outputs
    draws = draws_of(traced.function)
    run = ReferenceRun(
        specs=tuple(
            TensorSpec(name, tensor.dtype.name, axes.shape)
            for name, tensor, axes in zip(traced.output_names, tensors, found, strict=True)
        ),
        axes=tuple(axes.batch for axes in found),
        outputs=_first_samples(pool, found, traced.batch or feeds.POOL),
        draws=draws if draws and not _are_equal(pool, _run_pool(traced, loaded, seed)) else (),
    )
    if traced.batch is None and not run.draws:
        with blaming_model(loaded, {BATCH: 1, **loaded.defaults}):
            alone = _answer(traced, loaded, {BATCH: 1}, seed)
        refuse_mixing(loaded.name, run, alone)
    return run


def refuse_mixing(name: str, run: ReferenceRun, alone: Sequence[Array]) -> None:
    """Refuse a model whose answers to one sample alone are not those to it among others."""
    mixed = mixed_output(run, alone)
    if mixed is not None:
        output, share = mixed
        raise IrbenchError(
            f"{name} mixes the samples of a batch: in TensorFlow, {output} of a sample alone and of the same"
            f" among {feeds.POOL} differ by {share:.2g} of the largest value.",
            hint="Export it with a fixed batch: --batch 1. Or change what computes over the first axis.",
        )


def mixed_output(run: ReferenceRun, alone: Sequence[Array]) -> tuple[str, float] | None:
    """Return the first output that differs for a sample alone, and by what share of its largest value."""
    expected = feeds.repeat_pool(run.outputs, 1, run.axes)
    for spec, answer, among_others in zip(run.specs, alone, expected, strict=True):
        share = _difference(answer, among_others)
        if share > _LARGEST_DIFFERENCE:
            return spec.name, share
    return None


def _difference(answer: Array, expected: Array) -> float:
    """Return the largest difference relative to the largest value; infinity for another shape."""
    if answer.shape != expected.shape:
        return math.inf
    if expected.dtype.kind in "OSU":
        return 0.0
    wide, right = answer.astype(np.float64), expected.astype(np.float64)
    return float(np.abs(wide - right).max(initial=0.0)) / (float(np.abs(right).max(initial=0.0)) or 1.0)


def _run_pool(traced: Traced, loaded: Loaded, seed: int) -> _Pool:
    """Return the model's outputs for the first :data:`irbench.core.feeds.POOL` samples at its default sizes.

    A fixed batch is filled with repeats of the pool, and there is one set of outputs for each batch.
    """
    import tensorflow as tf

    step = traced.batch or feeds.POOL
    total = -(-feeds.POOL // step) * step
    samples = feeds.generate(loaded.inputs, {**loaded.defaults, BATCH: total}, seed)
    with blaming_model(loaded, {BATCH: step, **loaded.defaults}):
        return [
            tuple(
                output.numpy()
                for output in traced.function(*(tf.constant(array[start : start + step]) for array in samples))
            )
            for start in range(0, total, step)
        ]


def _are_equal(pool: _Pool, again: _Pool) -> bool:
    """Return whether two sets of outputs are the same, bit by bit but for NaN."""
    pairs = (
        (left, right)
        for parts, others in zip(pool, again, strict=True)
        for left, right in zip(parts, others, strict=True)
    )
    return all(np.array_equal(left, right, equal_nan=left.dtype.kind == "f") for left, right in pairs)


def _first_samples(pool: _Pool, axes: Sequence[OutputAxes], samples: int) -> tuple[Array, ...]:
    """Return outputs of the first :data:`irbench.core.feeds.POOL` samples, given those of batches of ``samples``."""
    return tuple(
        _joined(parts, found.batch, samples) for parts, found in zip(zip(*pool, strict=True), axes, strict=True)
    )


def _joined(parts: Sequence[Array], axis: int | None, samples: int) -> Array:
    """Return the first rows of parts that hold ``samples`` samples each; the first part where no axis counts them."""
    if axis is None:
        return parts[0]
    rows = parts[0].shape[axis] // samples * feeds.POOL
    joined: Array = np.take(np.concatenate(parts, axis), np.arange(rows), axis)
    return joined


def _output_axes(traced: Traced, loaded: Loaded, pool: _Pool) -> tuple[OutputAxes, ...]:
    static = [_static_shape(output) for output in traced.function.outputs]
    found = [output.shape for output in pool[0]]
    if traced.batch is not None:
        return _axes_of_fixed_batch(traced, loaded, static, found)
    if is_batch_first(static, found, feeds.POOL):
        return tuple(OutputAxes((BATCH, *shape[1:]), 0) for shape in found)
    sizes = {BATCH: 2, **_free_sizes(traced, loaded)}
    with blaming_model(loaded, {**loaded.defaults, **sizes}):
        return follow(traced.output_names, static, partial(_shapes_at, traced, loaded), sizes)


def _axes_of_fixed_batch(
    traced: Traced, loaded: Loaded, static: Sequence[Sequence[int | None] | None], found: Sequence[tuple[int, ...]]
) -> tuple[OutputAxes, ...]:
    assert traced.batch is not None
    shapes: Sequence[Shape] = found
    if any(shape is None or None in shape for shape in static):
        sizes = _free_sizes(traced, loaded)
        with blaming_model(loaded, {BATCH: traced.batch, **loaded.defaults}):
            followed = follow(traced.output_names, static, partial(_shapes_at, traced, loaded), sizes)
        shapes = [axes.shape for axes in followed]
    counting = axes_of_fixed_batch(found, traced.batch)
    return tuple(
        OutputAxes(tuple(own[axis] if axis == batch else size for axis, size in enumerate(shape)), batch)
        for shape, own, batch in zip(shapes, found, counting, strict=True)
    )


def _static_shape(output: Any) -> tuple[int | None, ...] | None:
    return None if output.shape.rank is None else tuple(output.shape.as_list())


def _free_sizes(traced: Traced, loaded: Loaded) -> dict[str, int]:
    """Return the default sizes of the dynamic dimensions besides the batch."""
    free = {name for spec in traced.inputs for name in spec.dynamic_dimensions} - {BATCH}
    return {name: size for name, size in loaded.defaults.items() if name in free}


def _shapes_at(traced: Traced, loaded: Loaded, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    return [output.shape for output in _answer(traced, loaded, sizes, 0)]


def _answer(traced: Traced, loaded: Loaded, sizes: Mapping[str, int], seed: int) -> list[Array]:
    import tensorflow as tf

    arrays = feeds.generate(loaded.inputs, {BATCH: traced.batch or 1, **loaded.defaults, **sizes}, seed)
    return [output.numpy() for output in traced.function(*map(tf.constant, arrays))]


def announce() -> None:
    """Have h5py's files and TensorFlow's files and checkpoints raise the audit event that Python's ``open`` does.

    Call it once, after TensorFlow was imported. The two names of TensorFlow are private: if one is gone, this fails.
    """
    import h5py
    from tensorflow.python.lib.io import file_io
    from tensorflow.python.training import py_checkpoint_reader

    _wrap(h5py.File, "__init__", _hear_h5py)
    _wrap(file_io.FileIO, "__init__", _hear_file)
    _wrap(py_checkpoint_reader, "NewCheckpointReader", _hear_checkpoint)


def _wrap(owner: Any, name: str, hear: Callable[..., None]) -> None:
    wrapped = getattr(owner, name)

    @functools.wraps(wrapped)
    def announcing(*args: Any, **keywords: Any) -> Any:
        hear(*args, **keywords)
        return wrapped(*args, **keywords)

    setattr(owner, name, announcing)


def _hear_h5py(_file: Any, name: Any, mode: str = "r", *_: Any, **_keywords: Any) -> None:
    opened(name, mode)


def _hear_file(_file: Any, name: Any, mode: str = "r", *_: Any, **_keywords: Any) -> None:
    opened(name, mode)


def _hear_checkpoint(filepattern: Any) -> None:
    """Announce the files of a checkpoint; its index has a checksum of every tensor, also of those in other parts."""
    for ending in (".index", ".data-00000-of-00001"):
        opened(f"{os.fsdecode(filepattern)}{ending}", "r")


def opened(path: Any, mode: str) -> None:
    """Announce a file that is opened in a mode of h5py or TensorFlow; what is no path is left out."""
    if isinstance(path, str | bytes | os.PathLike):
        sys.audit("open", path, mode, _flags(mode))


def _flags(mode: str) -> int:
    """Return the flags of ``os.open``: what is replaced is not read, and h5py's ``w-`` replaces nothing."""
    if mode in ("r", "rb"):
        return os.O_RDONLY
    if mode.startswith("r"):
        return os.O_RDWR
    return os.O_RDWR | os.O_CREAT | (os.O_TRUNC if mode in ("w", "wb", "w+", "wb+", "w+b") else 0)
