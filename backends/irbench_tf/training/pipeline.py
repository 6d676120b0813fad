"""The input pipeline: files that are decoded, shuffled, batched and made ahead, as tf.data does it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError
from irbench.spec.training import TrainingArtifact, TrainingData
from irbench.spi.training import image_files
from irbench_tf.loading import sources
from irbench_tf.training.models import class_count, image_shape, takes_class_numbers

SHUFFLED = 10_000
"""How many samples a function's dataset is shuffled among."""
_BATCHING = {"BatchDataset", "ParallelBatchDataset", "PaddedBatchDataset", "MapAndBatchDataset", "GroupByWindowDataset"}
"""Steps of a pipeline that make one element of several, by the class that TensorFlow has for each."""
_DIVIDING = {
    "UnbatchDataset", "FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDataset", "WindowDataset",
    "GroupByReducerDataset",
}  # fmt: skip
"""Steps that make any number of elements of one, or elements that are datasets themselves.

A rebatched dataset is not among them: it consists of batches if it did before.
"""


def batches(training: TrainingArtifact, model: Any, batch: int) -> Iterator[Any]:
    """Return an endless iterator over batches of inputs and labels, all of them of one size.

    Raises:
        IrbenchError: The data do not fit the model.
    """
    import tensorflow as tf

    settings = training.settings
    samples = _own_samples(training, model) if training.data.is_function else _images(training, model)
    made = samples.repeat().batch(batch, drop_remainder=True)
    if settings.prefetch != "0":
        made = made.prefetch(tf.data.AUTOTUNE if settings.prefetch == "auto" else int(settings.prefetch))
    options = tf.data.Options()
    options.deterministic = True  # rows of a table see the same samples in the same order
    # otherwise tf.data adds what the settings leave out: a prefetch behind the batch, and parallel calls
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    iterator: Iterator[Any] = iter(made.with_options(options))
    return iterator


def _images(training: TrainingArtifact, model: Any) -> Any:
    import tensorflow as tf

    files, labels = _files(training.data)
    shape, classes = image_shape(model), class_count(model)
    if not shape:
        raise IrbenchError(
            f"{training.model.source} does not take one image of 1 or 3 channels.",
            hint="Make its samples in a function that returns a tf.data.Dataset: --data file.py:function.",
        )
    height, width, channels = shape
    label_of = _label_function(model, classes)

    def decode(file: Any, label: Any) -> tuple[Any, Any]:
        pixels = tf.io.decode_image(tf.io.read_file(file), channels=channels, expand_animations=False)
        pixels.set_shape((None, None, channels))
        if not training.data.synthetic:
            pixels = tf.image.resize(pixels, (height, width))
        pixels = tf.cast(pixels, tf.float32) / 255.0
        return tf.ensure_shape(pixels, (height, width, channels)), label_of(label)

    workers = training.settings.workers
    listed = tf.data.Dataset.from_tensor_slices((files, labels))
    if training.settings.cache == "off":
        listed = listed.shuffle(len(files), seed=training.seed)
    decoded = listed.map(decode, num_parallel_calls=_parallel_calls(workers))
    return decoded.cache().shuffle(len(files), seed=training.seed) if training.settings.cache == "on" else decoded


def _parallel_calls(workers: str) -> int | None:
    """Return how many samples are decoded at a time; ``None`` for one by one, when a batch is asked for.

    A single parallel call would decode ahead of that, as prefetching does.
    """
    import tensorflow as tf

    if workers == "auto":
        return int(tf.data.AUTOTUNE)
    return None if workers == "1" else int(workers)


def _label_function(model: Any, classes: int) -> Any:
    import tensorflow as tf

    if takes_class_numbers(model):
        return lambda label: label
    if classes == 1:
        return lambda label: tf.cast(label % 2, tf.float32)[None]
    return lambda label: tf.one_hot(label, classes)


def _files(data: TrainingData) -> tuple[list[bytes], list[int]]:
    """Return the paths of all files, which need not be UTF-8, with the number of their class."""
    found = [
        (os.fsencode(path), label)
        for label, name in enumerate(data.classes)
        for path in image_files(Path(data.source, name))
    ]
    return [path for path, _ in found], [label for _, label in found]


def _own_samples(training: TrainingArtifact, model: Any) -> Any:
    import tensorflow as tf

    source = training.data.source
    made = sources.call_function(source)
    if not isinstance(made, tf.data.Dataset):
        raise IrbenchError(
            f"{source} returned {type(made).__name__}, which is not a tf.data.Dataset.",
            hint="Return a dataset of single samples with their labels, without batches: irbench makes these.",
        )
    if is_batched(made, model):
        raise IrbenchError(
            f"{source} returned a dataset of batches: {_element_text(made)}. irbench makes the batches.",
            hint="Return its single samples, `dataset.unbatch()`, and give their number as --batch.",
        )
    return made.shuffle(SHUFFLED, seed=training.seed) if made.cardinality().numpy() > 1 else made


def is_batched(dataset: Any, model: Any) -> bool:
    """Return whether each element of a dataset is a batch of samples.

    Of a model with inputs their shapes tell. One that its first step builds has none: there a batch is known by
    what its samples were made of, several tensors each, or by a size that is not known.
    """
    import keras
    import tensorflow as tf

    shapes = _shapes(dataset)
    if any(shape is None or shape.rank in (None, 0) for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        return False
    inputs, *_ = keras.utils.unpack_x_y_sample_weight(dataset.element_spec)
    given = [part.shape for part in tf.nest.flatten(inputs)]
    asked = [tf.TensorShape(part.shape) for part in getattr(model, "inputs", None) or ()]
    if len(asked) == len(given):
        return not _fits(given, [shape[1:] for shape in asked]) and _fits(given, asked)
    samples = _samples_of_batches(dataset)
    return samples is not None and (shapes[0][0] is None or len(samples) > 1)


def _shapes(dataset: Any) -> list[Any]:
    """Return the shapes of what an element is made of; ``None`` for what is no tensor."""
    import tensorflow as tf

    return [getattr(part, "shape", None) for part in tf.nest.flatten(dataset.element_spec)]


def _fits(given: Sequence[Any], asked: Sequence[Any]) -> bool:
    """Return whether a model takes inputs of these shapes, as Keras does: it adds and drops a last axis of 1."""
    return all(
        own.is_compatible_with(shape)
        or (own.rank > 0 and own[-1] == 1 and own[:-1].is_compatible_with(shape))
        or (shape.rank > 0 and shape[-1] == 1 and own.is_compatible_with(shape[:-1]))
        for own, shape in zip(given, asked, strict=True)
    )


def _samples_of_batches(dataset: Any) -> list[Any] | None:
    """Return the shapes of the samples that a dataset makes its elements of; ``None`` where it is not known to batch.

    A step that batches, by size or by length, adds one axis to all shapes. Steps behind it keep the batches, but for
    those that make several elements of one: what these are is not known.
    """
    while len(made_of := dataset._inputs()) == 1:  # noqa: SLF001 - there is no public way
        (source,) = made_of
        kind = type(dataset).__name__.strip("_")
        samples = _shapes(source)
        if kind in _BATCHING and _have_one_more_axis(_shapes(dataset), samples):
            return samples
        if kind in _BATCHING | _DIVIDING:
            return None
        dataset = source
    return None


def _have_one_more_axis(batches_of: Sequence[Any], samples: Sequence[Any]) -> bool:
    return len(batches_of) == len(samples) and all(
        batch is not None and sample is not None and batch.rank and batch[1:].is_compatible_with(sample)
        for batch, sample in zip(batches_of, samples, strict=True)
    )


def _element_text(dataset: Any) -> str:
    import tensorflow as tf

    return "an element has the shape " + " and ".join(str(part.shape) for part in tf.nest.flatten(dataset.element_spec))
