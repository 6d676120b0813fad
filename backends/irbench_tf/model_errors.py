"""What goes wrong inside a user's model: its cause in one line, out of what Keras and TensorFlow wrap around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shlex import quote
from textwrap import dedent
from typing import Protocol

from irbench.errors import IrbenchError
from irbench.spec import BATCH

PYTHON_ON_TENSORS = "Use keras.ops or TensorFlow in place of Python's if, for and NumPy on tensors: a graph is traced."

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CALLED = re.compile(r"Exception encountered when calling (?P<layer>.+?)\.(?:\w+)\(\)\.\n\n(?P<cause>.*)", re.DOTALL)
_TRACED = re.compile(r"(?:\w+: )?in user code:\n(?:\s*\n|\s*File \".*\n(?:\s{8,}.*\n)?)*")
"""What a traced function puts before an error: the lines that were called, each with its place."""
_ARGUMENTS = re.compile(r"\n\nArguments received by .*", re.DOTALL)
_INFERRED = "Error encountered:"
"""What Keras writes before an error in a layer whose output shape it infers by calling it."""
_PLACES = re.compile(r"\{\{[^{}]*\}\}|\[\[.*?\]\]|\[Op:[^\]]*\](?: name:.*)?|\bname: *$")
_LONGEST = 240
_NOISE = (
    "Detected at node", "Graph execution error", "in user code:", "File ", "<stack traces", "Stack trace for op",
    "Errors may have originated", "Original stack trace", "Arguments received by", "Call arguments received",
)  # fmt: skip
_GRAPH_ONLY = (
    "OperatorNotAllowedInGraphError",
    "symbolic tf.Tensor",
    "symbolic tensor",
    "SymbolicTensor",
    "numpy() is only available",
)
_TOO_LARGE = ("MemoryError", "ResourceExhausted", "OOM when allocating")


def cause_of(error: BaseException) -> str:
    """Return why a model failed, in one line, with the layer that failed where Keras names it.

    Keras puts the layer before the message and its arguments behind it; TensorFlow puts the place of an operation
    around it; a traced function puts the lines of the user's code before it.
    """
    text, layer = _COLOUR.sub("", str(error)).strip(), ""
    while True:
        if (traced := _TRACED.match(text)) is not None:
            text = dedent(text[traced.end() :]).strip()
            kind, _, said = text.partition(": ")
            text = said.strip() if kind == type(error).__name__ else text
        elif (called := _CALLED.match(text)) is not None:
            layer, text = called["layer"], _ARGUMENTS.sub("", called["cause"]).strip()
        else:
            break
    text = text.rpartition(_INFERRED)[2].strip()
    lines = [_PLACES.sub("", line).strip() for line in _ARGUMENTS.sub("", text).splitlines()]
    useful = [line for line in lines if line and not line.startswith(_NOISE)]
    is_wrapped = text.startswith("Graph execution error")
    chosen = (useful[-1] if is_wrapped else useful[0]) if useful else type(error).__name__
    chosen, kind = _shortened(chosen), type(error).__name__
    named = chosen if kind in chosen or not useful else f"{kind}: {chosen}"
    return f"{named} (in {layer})" if layer else named


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rpartition('. ')[0] or line[:_LONGEST]} ..."


def is_python_on_tensors(error: BaseException) -> bool:
    """Return whether a model failed because a tensor without values was used as a number or an array."""
    return any(sign in f"{type(error).__name__}: {error}" for sign in _GRAPH_ONLY)


class NamedModel(Protocol):
    """A model as errors name it."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def source(self) -> str:
        """What a user types to export it."""
        ...


@contextmanager
def blaming_model(model: NamedModel, sizes: Mapping[str, int], *, traces: bool = False) -> Iterator[None]:
    """Say that a model cannot be run, and why, where the body fails; what irbench raises itself is left alone."""
    try:
        yield
    except IrbenchError:
        raise
    except Exception as error:
        shown = ", ".join(f"{dimension}={size}" for dimension, size in sizes.items())
        where = "cannot be traced" if traces else f"cannot be run with {shown}" if shown else "cannot be run"
        hint = _hint(error, model.source, sizes, traces)
        raise IrbenchError(f"{model.name} {where}: {cause_of(error)}", hint=hint) from error


def _hint(error: Exception, source: str, sizes: Mapping[str, int], traces: bool) -> str:
    said = f"{type(error).__name__}: {error}"
    free = [name for name in sizes if name != BATCH]
    if any(sign in said for sign in _TOO_LARGE):
        smaller = f"Export it with a smaller size: {_export(source, free[0], sizes)}" if free else ""
        return smaller or "Use a machine with more memory, or export a smaller variant of the model."
    if is_python_on_tensors(error):
        return PYTHON_ON_TENSORS
    if traces:
        batch = sizes.get(BATCH)
        return f"Check that it runs on a batch of {batch or 'any size'}." + (
            "" if batch else " --batch 1 exports it for one."
        )
    if free:
        return f"If it takes no such size, export it with another, then run it: {_export(source, free[0], sizes)}"
    return "Fix the model: calling it in Python on such inputs shows where it fails."


def _export(source: str, dimension: str, sizes: Mapping[str, int]) -> str:
    return f"irbench export {quote(source)} --shape {quote(f'{dimension}={max(sizes[dimension] // 2, 1)}')}"
