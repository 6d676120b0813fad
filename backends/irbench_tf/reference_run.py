"""Run a traced model on generated inputs: its reference outputs, and the shapes of its outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from irbench.core import feeds
from irbench.errors import IrbenchError
from irbench.spec import BATCH, Bundle, Shape, TensorSpec
from irbench.spec.requested_sizes import refuse_unknown_names, requested_sizes
from irbench.spi import Array, ExportRequest, Feed
from irbench_tf.loading.sources import Loaded
from irbench_tf.model_errors import blaming_model
from irbench_tf.output_axes import OutputAxes, axes_of_fixed_batch, follow, is_batch_first
from irbench_tf.random_draws import draws_of
from irbench_tf.tracing import TracedFunction


def with_sizes(loaded: Loaded, request: ExportRequest) -> Loaded:
    """Return a model with the default sizes that were asked for."""
    model = Bundle(loaded.name, loaded.inputs, (), loaded.defaults)
    refuse_unknown_names(request.shapes, (model,))
    sizes = requested_sizes(model, None, request.shapes)
    batch = sizes.pop(BATCH, 1)
    if batch not in (1, request.batch, loaded.fixed_batch):
        raise IrbenchError(
            f"--shape gives a batch of {batch}, and the batch of an export is that of --batch.",
            hint=f"Write 1 there, or add --batch {batch} for a fixed batch.",
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


def run_reference(traced: TracedFunction, loaded: Loaded, seed: int) -> ReferenceRun:
    """Run a model."""
    pool = _run_pool(traced, loaded, seed)
    output_axes = _output_axes(traced, loaded, pool)
    tensors = traced.function.outputs
    draws = draws_of(traced.function)
    run = ReferenceRun(
        specs=tuple(
            TensorSpec(name, tensor.dtype.name, axes.shape)
            for name, tensor, axes in zip(traced.output_names, tensors, output_axes, strict=True)
        ),
        axes=tuple(axes.batch for axes in output_axes),
        outputs=feeds.joined_pool(pool, [own.batch for own in output_axes], {BATCH: traced.batch or feeds.POOL}),
        draws=draws if draws and not feeds.same_answers(pool, _run_pool(traced, loaded, seed)) else (),
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
    if answer.shape != expected.shape:
        return math.inf
    if expected.dtype.kind in "OSU":
        return 0.0
    wide, right = answer.astype(np.float64), expected.astype(np.float64)
    return float(np.abs(wide - right).max(initial=0.0)) / (float(np.abs(right).max(initial=0.0)) or 1.0)


def _run_pool(traced: TracedFunction, loaded: Loaded, seed: int) -> _Pool:
    """Return the model's outputs for the first :data:`irbench.core.feeds.POOL` samples at its default sizes.

    A fixed batch is filled with repeats of the pool, and there is one set of outputs for each batch.
    """
    import tensorflow as tf

    def answer(feed: Feed) -> tuple[Array, ...]:
        return tuple(output.numpy() for output in traced.function(*map(tf.constant, feed)))

    fixed = {} if traced.batch is None else {BATCH: traced.batch}
    with blaming_model(loaded, {BATCH: traced.batch or feeds.POOL, **loaded.defaults}):
        return feeds.answers_of_pool(answer, loaded.inputs, {**loaded.defaults, **fixed}, seed)


def _output_axes(traced: TracedFunction, loaded: Loaded, pool: _Pool) -> tuple[OutputAxes, ...]:
    static = [_static_shape(output) for output in traced.function.outputs]
    shapes = [output.shape for output in pool[0]]
    if traced.batch is not None:
        return _axes_of_fixed_batch(traced, loaded, static, shapes)
    if is_batch_first(static, shapes, feeds.POOL):
        return tuple(OutputAxes((BATCH, *shape[1:]), 0) for shape in shapes)
    sizes = {BATCH: 2, **_free_sizes(traced, loaded)}
    with blaming_model(loaded, {**loaded.defaults, **sizes}):
        return follow(traced.output_names, static, partial(_shapes_at, traced, loaded), sizes)


def _axes_of_fixed_batch(
    traced: TracedFunction,
    loaded: Loaded,
    static: Sequence[Sequence[int | None] | None],
    pool: Sequence[tuple[int, ...]],
) -> tuple[OutputAxes, ...]:
    assert traced.batch is not None
    shapes: Sequence[Shape] = pool
    if any(shape is None or None in shape for shape in static):
        sizes = _free_sizes(traced, loaded)
        with blaming_model(loaded, {BATCH: traced.batch, **loaded.defaults}):
            followed = follow(traced.output_names, static, partial(_shapes_at, traced, loaded), sizes)
        shapes = [axes.shape for axes in followed]
    counting = axes_of_fixed_batch(pool, traced.batch)
    return tuple(
        OutputAxes(tuple(own[axis] if axis == batch else size for axis, size in enumerate(shape)), batch)
        for shape, own, batch in zip(shapes, pool, counting, strict=True)
    )


def _static_shape(output: Any) -> tuple[int | None, ...] | None:
    return None if output.shape.rank is None else tuple(output.shape.as_list())


def _free_sizes(traced: TracedFunction, loaded: Loaded) -> dict[str, int]:
    """Return the default sizes of the dynamic dimensions besides the batch."""
    free = {name for spec in traced.inputs for name in spec.dynamic_dimensions} - {BATCH}
    return {name: size for name, size in loaded.defaults.items() if name in free}


def _shapes_at(traced: TracedFunction, loaded: Loaded, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    return [output.shape for output in _answer(traced, loaded, sizes, 0)]


def _answer(traced: TracedFunction, loaded: Loaded, sizes: Mapping[str, int], seed: int) -> list[Array]:
    import tensorflow as tf

    arrays = feeds.generate(loaded.inputs, {BATCH: traced.batch or 1, **loaded.defaults, **sizes}, seed)
    return [output.numpy() for output in traced.function(*map(tf.constant, arrays))]
