"""Models that were loaded or made in Python, kept in files by what they hold, so that they stand where a path does.

Workers are processes of their own, and read files. A file has the name of the model and the digest of its content:
equal models are one file, and so one bundle, and stored runs find it again. Nothing is imported here: an object of
Keras or ONNX was made by a module that is there already.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from irbench.errors import IrbenchError, first_line
from irbench.system.file_access import write_atomically
from irbench.system.home import home
from irbench.system.locks import temporary_folder

Model: TypeAlias = "str | PathLike[str] | Any"
"""A path or a name, a ``keras.Model``, or an ``onnx.ModelProto``."""

_FOLDER = "loaded"
_LONGEST_NAME = 60
_OF_NOTEBOOK = "__main__"
_HINTS = (
    (
        "torch",
        "nn.Module",
        'Export it first: torch.onnx.export(model, (example,), "model.onnx", dynamo=True); then give "model.onnx".',
    ),
    (
        "tensorflow",
        "Module",
        'Save it first: tf.saved_model.save(model, "folder"); then give "folder".',
    ),
)
"""By module and class: the way to a file, of models that have none of their own."""


def model_name(model: Model) -> str:
    """Return what names a model: the text of a path or a name, or the file in which a loaded model is kept.

    Raises:
        IrbenchError: It is no model, or one that cannot be written to a file.
    """
    if isinstance(model, str | PathLike):
        return str(model)
    if _is(model, "onnx", "ModelProto"):
        return str(_kept_onnx(model))
    if _is(model, "keras", "Model"):
        return str(_kept_keras(model))
    raise IrbenchError(f"A model cannot be given as {type(model).__name__}.", hint=_hint(model))


def is_loaded(model: Model) -> bool:
    """Whether a model is an object in memory."""
    return not isinstance(model, str | PathLike)


def _is(model: object, module: str, name: str) -> bool:
    """Whether an object is of a class of a module that somebody imported."""
    kind: Any = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, part, None)
    return isinstance(kind, type) and isinstance(model, kind)


def _hint(model: object) -> str:
    if isinstance(model, list | tuple):
        return "Give several models as arguments of their own: irbench.run(*models)."
    for module, name, hint in _HINTS:
        if _is(model, module, name):
            return hint
    return "Give the path of its file, a name, a keras.Model or an onnx.ModelProto."


def _kept_onnx(model: Any) -> Path:
    if any(tensor.external_data for tensor in model.graph.initializer):
        raise IrbenchError(
            "The weights of this onnx.ModelProto are in other files.",
            hint="Give the path of its file, or load it with them: onnx.load(path).",
        )
    try:
        content = model.SerializeToString(deterministic=True)
    except ValueError as error:  # protobuf's limit of 2 GB
        raise IrbenchError(
            f"The onnx.ModelProto cannot be written: {first_line(error)}.",
            hint='Save it first: onnx.save(model, "model.onnx", save_as_external_data=True); then give "model.onnx".',
        ) from error
    digest = hashlib.sha256(content)
    return _kept(model.graph.name, digest.hexdigest(), ".onnx", lambda file: write_atomically(file, content))


def _kept_keras(model: Any) -> Path:
    if not model.built:
        raise IrbenchError(
            f"The Keras model {model.name} has no weights yet.", hint="Build it, or call it with an example, first."
        )
    try:
        config = json.loads(model.to_json())
        _refuse_own_classes(model.name, config)
        return _kept(model.name, _digest(model, config), ".keras", lambda file: _save(model, file))
    except (NotImplementedError, TypeError, ValueError) as error:
        raise IrbenchError(
            f"The Keras model {model.name} cannot be saved: {first_line(error)}",
            hint="A class of its own needs get_config; or write a function that makes the model, and give"
            ' "models.py:build".',
        ) from error


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
    with temporary_folder(file.parent, "saving-") as folder:  # another process may keep the same model now
        model.save(folder / file.name)
        (folder / file.name).replace(file)


def _kept(name: str, digest: str, suffix: str, write: Callable[[Path], object]) -> Path:
    plain_name = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:_LONGEST_NAME] or "model"
    file = home() / _FOLDER / f"{plain_name}-{digest[:12]}{suffix}"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(file)
        except OSError as error:
            raise IrbenchError(
                f"{file} cannot be written: {error.strerror}.", hint="Make room there, or set IRBENCH_HOME."
            ) from error
    return file
