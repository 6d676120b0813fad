"""Samples with the arrays of a model's inputs, and how they make the feeds of one batch size."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from irbench.data.model_inputs import ModelInput
from irbench.errors import IrbenchError
from irbench.spi import Array


@dataclass(frozen=True)
class Sample:
    """What one file, data set or mapping holds.

    Attributes:
        place: Where it comes from, for messages.
        arrays: By logical input name, with all axes of the input in their order and its dtype.
        label: The number of its class; ``None`` where its class is not known.
    """

    place: str
    arrays: Mapping[str, Array]
    label: int | None = None


def rows(sample: Sample, inputs: Sequence[ModelInput]) -> int:
    """Return how many entries a sample has along the batch axis; 1 where none of its inputs has that."""
    lengths = {
        model_input.name: sample.arrays[model_input.name].shape[model_input.batch_axis]
        for model_input in inputs
        if model_input.name in sample.arrays and model_input.batch_axis is not None
    }
    if len(set(lengths.values())) > 1:
        (first, one), (second, other) = next(pair for pair in _pairs(lengths) if pair[0][1] != pair[1][1])
        raise IrbenchError(
            f"{sample.place} has a batch of {one} for the input {first} and of {other} for {second}.",
            hint="All inputs of a sample need the same batch size.",
        )
    return next(iter(lengths.values()), 1)


def bound_dimensions(samples: Sequence[Sample], inputs: Sequence[ModelInput]) -> dict[str, int]:
    """Return the sizes of dynamic dimensions other than the batch, as the samples have them."""
    sizes: dict[str, tuple[int, str]] = {}
    for sample in samples:
        for model_input in inputs:
            if model_input.name not in sample.arrays:
                continue
            for name, size in _named_axes(model_input, sample.arrays[model_input.name]):
                known, place = sizes.setdefault(name, (size, sample.place))
                if known != size:
                    raise IrbenchError(
                        f"The dimension {name!r} has the size {known} in {place} and {size} in {sample.place} (input "
                        f"{model_input.name}).",
                        hint="A run measures one size: give samples of one size at a time, or pad them to one.",
                    )
    return {name: size for name, (size, _) in sizes.items()}


def feeds_of_batch(samples: Sequence[Sample], inputs: Sequence[ModelInput], batch: int) -> tuple[Sample, ...]:
    """Return what the model is called with in turn.

    Samples of the batch size stay as they are. Others are divided into rows, and as many feeds are made of them as
    have room for every row once; the last feed is filled up with the first rows.
    """
    if not rows_to_join(samples, inputs, batch):
        return tuple(samples)
    counts = [rows(sample, inputs) for sample in samples]
    every = [(sample, row) for sample, count in zip(samples, counts, strict=True) for row in range(count)]
    feeds = math.ceil(len(every) / batch)
    return tuple(
        _joined([every[(feed * batch + place) % len(every)] for place in range(batch)], inputs) for feed in range(feeds)
    )


def rows_to_join(samples: Sequence[Sample], inputs: Sequence[ModelInput], batch: int) -> int:
    """Return how many rows the calls of a batch size are made of; 0 where each sample is a call."""
    counts = [rows(sample, inputs) for sample in samples]
    return 0 if all(count == batch for count in counts) else sum(counts)


def digests(feeds: Sequence[Sample]) -> dict[str, str]:
    """Return the SHA-256 digest of each input's dtype, shape and values over all feeds, in hexadecimal."""
    digests_: dict[str, str] = {}
    for name in feeds[0].arrays:
        digest = hashlib.sha256()
        for feed in feeds:
            array = feed.arrays[name]
            content = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
            digest.update(f"{array.dtype.name} {array.shape}\n".encode() + content)
        digests_[name] = digest.hexdigest()
    return digests_


def _joined(chosen: Sequence[tuple[Sample, int]], inputs: Sequence[ModelInput]) -> Sample:
    first = chosen[0][0]
    arrays = {
        model_input.name: _joined_input(chosen, model_input)
        for model_input in inputs
        if model_input.name in first.arrays
    }
    return Sample(first.place, arrays)


def _joined_input(chosen: Sequence[tuple[Sample, int]], model_input: ModelInput) -> Array:
    name, axis = model_input.name, model_input.batch_axis
    if axis is not None:
        return np.stack([np.take(sample.arrays[name], row, axis) for sample, row in chosen], axis)
    first = chosen[0][0]
    for sample, _ in chosen[1:]:
        if not np.array_equal(sample.arrays[name], first.arrays[name]):
            raise IrbenchError(
                f"{first.place} and {sample.place} cannot be one batch: the input {name} has no batch axis, and their "
                "values of it differ.",
                hint="Use --batch 1, or samples with one value of it.",
            )
    return first.arrays[name]


def _named_axes(model_input: ModelInput, array: Array) -> list[tuple[str, int]]:
    axes = zip(model_input.spec.tensor.shape, array.shape, strict=True)
    return [
        (name, size)
        for place, (name, size) in enumerate(axes)
        if isinstance(name, str) and place != model_input.batch_axis
    ]


def _pairs(sizes: Mapping[str, int]) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    entries = list(sizes.items())
    return [(entries[0], entry) for entry in entries[1:]]
