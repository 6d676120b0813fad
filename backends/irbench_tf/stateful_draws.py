"""Random numbers of Keras as TensorFlow's operations that keep their own state, which ONNX has counterparts of.

Keras keeps a seed in a variable, advances it with every draw, and has TensorFlow draw from that seed. A frozen graph
has no variables to advance, and ONNX no draws from a seed that is computed. Both ways give new numbers with every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["drawing_without_seeds"]


_SEEDS = ("alg", "rng_alg", "seed")


@contextmanager
def drawing_without_seeds() -> Iterator[None]:
    """Have Keras layers that are traced in the body draw with operations that keep their own state."""
    import tensorflow as tf
    from keras import random

    changes: list[tuple[Any, str, Callable[..., Any]]] = [
        (random.SeedGenerator, "next", lambda *_, **__: tf.zeros(2, tf.int32)),
        (tf.random, "stateless_normal", _without_seed(tf.random.normal)),
        (tf.random, "stateless_truncated_normal", _without_seed(tf.random.truncated_normal)),
        (tf.random, "stateless_uniform", _without_seed(tf.random.uniform)),
        (tf.nn.experimental, "stateless_dropout", _dropout),
    ]
    originals = [getattr(owner, name) for owner, name, _ in changes]
    for owner, name, replacement in changes:
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for (owner, name, _), original in zip(changes, originals, strict=True):
            setattr(owner, name, original)


def _without_seed(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes a shape, a seed and the arguments of a distribution, and ignores the seed."""

    def drawn(*given: Any, **named: Any) -> Any:
        rest = {name: value for name, value in named.items() if name not in _SEEDS}
        return draw(*given[:1], *given[2:], **rest)

    return drawn


def _dropout(x: Any, rate: float, **named: Any) -> Any:
    import tensorflow as tf

    shape = named.get("noise_shape")
    drawn = tf.random.uniform(tf.shape(x) if shape is None else shape, dtype=x.dtype)
    # not tf.nn.dropout: tf2onnx takes that for a layer in training, and drops the draw
    return tf.where(drawn < rate, tf.zeros([], x.dtype), x / (1 - rate))
