"""Models that draw random numbers in inference, and what becomes of those of Keras.

They become TensorFlow's operations that keep their own state, of which ONNX has counterparts: Keras keeps a seed in a
variable, advances it with every draw, and has TensorFlow draw from that seed. A frozen graph has no variables to
advance, and ONNX no draws from a seed that is computed. Both ways give new numbers with every call.

A draw whose seed the model states gives the same numbers with every call, and stays as it is. So does one that has no
counterpart with a state of its own, such as that of a gamma distribution; its seed is then a random number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irbench.errors import IrbenchError
from irbench_tf.traced_operations import operations_of, place_of

SEED = "irbench_seed"
"""How the names of operations begin that draw seeds; none is left in a graph where nothing needs them."""
_SEEDS = ("alg", "rng_alg", "seed")


@contextmanager
def drawing_without_seeds() -> Iterator[None]:
    """Have Keras layers that are traced in the body draw with operations that keep their own state."""
    import tensorflow as tf
    from keras import random

    seeds: list[Any] = []

    def next_seed(*_: Any, **__: Any) -> Any:
        seeds.append(tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32, name=SEED))
        return seeds[-1]

    changes: list[tuple[Any, str, Callable[..., Any], int]] = [
        (tf.random, "stateless_normal", _without_seed(tf.random.normal), 1),
        (tf.random, "stateless_truncated_normal", _without_seed(tf.random.truncated_normal), 1),
        (tf.random, "stateless_uniform", _without_seed(tf.random.uniform), 1),
        (tf.nn.experimental, "stateless_dropout", _dropout, 2),
    ]
    replacements: list[tuple[Any, str, Callable[..., Any]]] = [
        (random.SeedGenerator, "next", next_seed),
        *(
            (owner, name, _unless_stated(seeds, getattr(owner, name), draw, place))
            for owner, name, draw, place in changes
        ),
    ]
    originals = [getattr(owner, name) for owner, name, _ in replacements]
    for owner, name, replacement in replacements:
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for (owner, name, _), original in zip(replacements, originals, strict=True):
            setattr(owner, name, original)


def _unless_stated(
    seeds: Sequence[Any], stateless: Callable[..., Any], stateful: Callable[..., Any], place: int
) -> Callable[..., Any]:
    """Return a function that draws with a state of its own where its seed is one of ``seeds``."""

    def drawn(*arguments: Any, **named: Any) -> Any:
        stated = named.get("seed", arguments[place] if len(arguments) > place else None)
        is_generated = any(stated is seed for seed in seeds)  # tensors compare element by element
        return (stateful if is_generated else stateless)(*arguments, **named)

    return drawn


def _without_seed(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes a shape, a seed and the arguments of a distribution, and ignores the seed."""

    def drawn(*arguments: Any, **named: Any) -> Any:
        rest = {name: value for name, value in named.items() if name not in _SEEDS}
        return draw(*arguments[:1], *arguments[2:], **rest)

    return drawn


def _dropout(x: Any, rate: float, *positional: Any, **named: Any) -> Any:
    import tensorflow as tf

    shape = named.get("noise_shape", positional[2] if len(positional) > 2 else None)
    drawn = tf.random.uniform(tf.shape(x) if shape is None else shape, dtype=x.dtype)
    # not tf.nn.dropout: tf2onnx takes that for a layer in training, and drops the draw
    return tf.where(drawn < rate, tf.zeros([], x.dtype), x / (1 - rate))


_DRAWS = re.compile(
    r"Random\w+|(Parameterized)?TruncatedNormal|Multinomial|Rng\w+"
    r"|(Stateful|Stateless)(Random|StandardNormal|Uniform|TruncatedNormal|Parameterized|Multinomial|Shuffle)\w*"
)
"""TensorFlow's operations that draw, or that advance the state of what draws."""


def draws_of(function: Any) -> tuple[str, ...]:
    """Return the operations that draw, each with its place in the model.

    The function was traced in inference mode; it may never take the branches that draw.
    """
    return tuple(dict.fromkeys(_draws(function)))


def refuse_draws(name: str, function: Any) -> None:
    """Refuse a function that draws random numbers."""
    draw = next(_draws(function), None)
    if draw is not None:
        raise IrbenchError(
            f"{name} draws random numbers in inference ({draw}), and that cannot be converted to ONNX.",
            hint="Let its layers draw only in training: def call(self, x, training=False). Or build the model without"
            " them.",
        )


@contextmanager
def blaming_draws(name: str, function: Any) -> Iterator[None]:
    """Say that a function draws random numbers, where the body fails for that.

    A saved graph may hold draws in branches of training that it never takes, so that it is not refused before.
    """
    try:
        yield
    except Exception:
        refuse_draws(name, function)
        raise


def _draws(function: Any) -> Iterator[str]:
    return (place_of(*found) for found in operations_of(function) if _is_draw(*found))


def _is_draw(kind: str, name: str) -> bool:
    return bool(_DRAWS.fullmatch(kind)) and not name.rpartition("/")[2].startswith(SEED)
