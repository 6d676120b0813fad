"""The operations of a traced function, and those among them that keep state from one call to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from irbench.errors import IrbenchError

_CHANGES_STATE = re.compile(
    r"Assign(Add|Sub)?(VariableOp)?|(Resource)?(StridedSliceAssign|Scatter(Nd)?(Add|Sub|Mul|Div|Min|Max|Update))"
)
"""TensorFlow's operations that change a variable."""


def operations_of(function: Any) -> Iterator[tuple[str, str]]:
    """Yield the type and the name of each operation of a concrete function, and of the functions that it calls."""
    for operation in function.graph.get_operations():
        yield operation.type, operation.name
    for inner in function.graph.as_graph_def().library.function:
        for node in inner.node_def:
            yield node.op, node.name


def place_of(kind: str, name: str) -> str:
    """Return an operation as errors name it: ``AssignAddVariableOp in counter``."""
    return f"{kind} in {name.rpartition('/')[0] or name}"


def refuse_state(name: str, function: Any) -> None:
    """Refuse a function that changes variables."""
    change = next((place_of(*found) for found in operations_of(function) if _CHANGES_STATE.fullmatch(found[0])), None)
    if change is not None:
        raise IrbenchError(
            f"{name} keeps state: a call changes a variable ({change}) that the next call reads, and ONNX has none.",
            hint="Make the state an input and an output of the model, and export that: irbench run MODEL"
            " --feedback OUTPUT=INPUT gives it from one call to the next. A recurrent layer of Keras does so with"
            " stateful=False, return_state=True and initial_state=inputs.",
        )


@contextmanager
def blaming_state(name: str, function: Any) -> Iterator[None]:
    """Say that a function keeps state, where the body fails.

    A saved graph may change variables in branches of training that it never takes, so that it is not refused before.
    """
    try:
        yield
    except Exception:
        refuse_state(name, function)
        raise
