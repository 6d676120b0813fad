"""Keras models that were loaded or made in Python: what tells one from others, and how it is saved.

A ``.keras`` file holds the moment in which it was saved, so that the digest is that of the configuration and weights.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError, first_line
from irbench.spi import ModelInMemory

_OF_NOTEBOOK = "__main__"


def in_memory(model: Any) -> ModelInMemory | None:
    """Return how a Keras model is saved; ``None`` for what is none.

    Raises:
        IrbenchError: It has no weights, or classes that no other process finds, or it is a module of TensorFlow.
    """
    if _is(model, "keras", "Model"):
        return _keras_model(model)
    if _is(model, "tensorflow", "Module"):
        raise IrbenchError(
            f"A model cannot be given as {type(model).__name__}, a tf.Module.",
            hint='Save it first: tf.saved_model.save(model, "folder"); then give "folder".',
        )
    return None


def is_of_framework(model: object) -> bool:
    """Whether an object is a Keras model or a module of TensorFlow."""
    return _is(model, "keras", "Model") or _is(model, "tensorflow", "Module")


def _is(model: object, module: str, name: str) -> bool:
    """Whether an object is of a class of a module that somebody imported; an object of another was not made by it."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)


def _keras_model(model: Any) -> ModelInMemory:
    if not model.built:
        raise IrbenchError(
            f"The Keras model {model.name} has no weights yet.", hint="Build it, or call it with an example, first."
        )
    try:
        config = json.loads(model.to_json())
        _refuse_own_classes(model.name, config)
        return ModelInMemory(model.name, _digest(model, config), ".keras", partial(_save, model))
    except (NotImplementedError, TypeError, ValueError) as error:
        raise _cannot_be_saved(model, error) from error


def _digest(model: Any, config: dict[str, Any]) -> str:
    """Return what tells a model from others: its configuration without what it is trained with, and its weights."""
    own = {key: value for key, value in config.items() if key != "compile_config"}
    digest = hashlib.sha256(json.dumps(own, sort_keys=True).encode())
    for array in model.get_weights():
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _refuse_own_classes(model: str, config: dict[str, Any]) -> None:
    here = vars(sys.modules[_OF_NOTEBOOK])
    named = {str(part.get("class_name")) for part in _objects(config) if part.get("registered_name")}
    own = sorted(name for name in named if getattr(here.get(name), "__module__", None) == _OF_NOTEBOOK)
    if own:
        raise IrbenchError(
            f"{', '.join(own)} of the Keras model {model} {'is' if len(own) == 1 else 'are'} defined in {_OF_NOTEBOOK},"
            " which no other process can import.",
            hint="Write it to a module that registers it with keras.saving.register_keras_serializable, and give"
            ' imports=["my_layers"].',
        )


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping in a configuration."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part)


def _save(model: Any, file: Path) -> None:
    try:
        model.save(file)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise _cannot_be_saved(model, error) from error


def _cannot_be_saved(model: Any, error: Exception) -> IrbenchError:
    return IrbenchError(
        f"The Keras model {model.name} cannot be saved: {first_line(error)}",
        hint="A class of its own needs get_config; or write a function that makes the model, and give"
        ' "models.py:build".',
    )
