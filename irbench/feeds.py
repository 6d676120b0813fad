"""Seeded inputs: the same logical samples for every backend, laid out as each artifact wants them.

Sample ``i`` of a batch is drawn from a generator of its own, and samples repeat after
:data:`POOL`, so that the reference outputs of the first :data:`POOL` samples answer for every batch size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import BATCH, Artifact, InputSpec
from irbench.spi import Array, Feed

__all__ = ["ALIGNMENT", "POOL", "generate", "lay_out", "repeat_pool"]

ALIGNMENT = 64
"""Bytes at whose multiples inputs begin: a cache line, and the most that a runtime asks for to read in place."""
POOL = 8
"""Distinct samples; sample ``i`` of a batch equals sample ``i % POOL``."""


def generate(inputs: Sequence[InputSpec], sizes: Mapping[str, int], seed: int) -> tuple[Array, ...]:
    """Return one array per logical input.

    Args:
        inputs: Logical inputs. One whose first dimension is the free batch is drawn sample by sample.
        sizes: Every free dimension bound.
        seed: Equal seeds give equal values whatever the batch.
    """
    return tuple(_generate_one(spec, sizes, seed, position) for position, spec in enumerate(inputs))


def lay_out(logical: Sequence[Array], artifact: Artifact) -> Feed:
    """Return copies of the logical arrays in the artifact's layout and dtype, C-contiguous, at aligned addresses.

    Each begins at a multiple of :data:`ALIGNMENT` bytes, so that no runtime must copy what another reads in place.
    """
    return tuple(
        _aligned_copy(array if spec.permutation is None else array.transpose(spec.permutation), numpy_dtype(spec.dtype))
        for array, spec in zip(logical, artifact.inputs, strict=True)
    )


def repeat_pool(outputs: Sequence[Array], batch: int) -> tuple[Array, ...]:
    """Return the outputs of a batch of ``batch`` samples, given those of the first :data:`POOL`."""
    return tuple(np.take(output, np.arange(batch) % POOL, axis=0) for output in outputs)


def _aligned_copy(array: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.hasobject or not dtype.itemsize:
        return np.array(array, dtype, order="C")  # text, which every runtime copies into strings of its own
    room = np.empty(array.size * dtype.itemsize + ALIGNMENT, np.uint8)
    copy: Array = np.ndarray(array.shape, dtype, room, offset=-room.ctypes.data % ALIGNMENT)
    copy[...] = array
    return copy


def _generate_one(spec: InputSpec, sizes: Mapping[str, int], seed: int, position: int) -> Array:
    shape = tuple(size for size in spec.tensor.bind(sizes).shape if isinstance(size, int))
    if not spec.tensor.shape or spec.tensor.shape[0] != BATCH:
        return _draw(spec, shape, (seed, position))
    batch, *rest = shape
    samples = [_draw(spec, tuple(rest), (seed, position, sample)) for sample in range(min(batch, POOL))]
    return np.stack(samples)[np.arange(batch) % POOL]


def _draw(spec: InputSpec, shape: tuple[int, ...], entropy: tuple[int, ...]) -> Array:
    generator = np.random.default_rng(entropy)
    dtype = numpy_dtype(spec.tensor.dtype)
    if dtype.kind == "b":
        return np.asarray(generator.random(shape) < 0.5)
    if dtype.kind in "iuO" or "int" in dtype.name:  # also integers of four bits, which are no kind of NumPy's
        drawn = generator.integers(int(spec.low), max(int(spec.high), int(spec.low) + 1), shape)
        return (drawn.astype(str) if dtype.hasobject else drawn).astype(dtype)
    return generator.uniform(spec.low, spec.high, shape).astype(dtype)
