"""Models that draw random numbers in inference: each runtime draws others, so that no outputs can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from irbench.errors import IrbenchError
from irbench_tf.stateful_draws import SEED

_DRAWS = re.compile(
    r"Random\w+|(Parameterized)?TruncatedNormal|Multinomial|Rng\w+"
    r"|(Stateful|Stateless)(Random|StandardNormal|Uniform|TruncatedNormal|Parameterized|Multinomial|Shuffle)\w*"
)
"""TensorFlow's operations that draw, or that advance the state of what draws."""


def draws_of(function: Any) -> tuple[str, ...]:
    """Return the operations that draw, each with its place in the model.

    Args:
        function: A concrete function, traced in inference mode. It may never take the branches that draw.
    """
    return tuple(dict.fromkeys(_draws(function)))


def refuse_draws(name: str, function: Any) -> None:
    """Refuse a function that draws random numbers."""
    found = next(_draws(function), None)
    if found is not None:
        raise IrbenchError(
            f"{name} draws random numbers in inference ({found}), and that cannot be converted to ONNX.",
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
    for operation in function.graph.get_operations():
        if _is_draw(operation.type, operation.name):
            yield f"{operation.type} in {operation.name.rpartition('/')[0] or operation.name}"
    for inner in function.graph.as_graph_def().library.function:
        for node in inner.node_def:
            if _is_draw(node.op, node.name):
                yield f"{node.op} in {node.name.rpartition('/')[0] or node.name}"


def _is_draw(kind: str, name: str) -> bool:
    """Whether an operation draws numbers for the model, and not a seed of what is drawn."""
    return bool(_DRAWS.fullmatch(kind)) and not name.rpartition("/")[2].startswith(SEED)
