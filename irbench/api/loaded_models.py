"""Models that were loaded or made in Python, kept in files by what they hold, so that they stand where a path does.

Workers are processes of their own, and read files. A file has the name of the model and the digest of its content:
equal models are one file, and so one bundle, and stored runs find it again. Exporters know the models of their
frameworks.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from irbench.core import registry
from irbench.errors import IrbenchError, first_line
from irbench.spi import Exporter, InMemoryExporter, ModelInMemory
from irbench.system.kept_files import kept_file

Model: TypeAlias = "str | PathLike[str] | Any"
"""A path or a name, an ``onnx.ModelProto``, or a model in memory that an exporter takes, as of Keras."""

_FOLDER = "loaded"
_LONGEST_NAME = 60


def model_name(model: Model) -> str:
    """Return what names a model: the text of a path or a name, or the file in which a loaded model is kept.

    Raises:
        IrbenchError: It is not a model, or one that cannot be written to a file.
    """
    if isinstance(model, str | PathLike):
        return str(model)
    if _is(model, "onnx", "ModelProto"):
        return str(_kept(_onnx_model(model)))
    exporters: Iterable[Exporter] = registry.load_all(registry.EXPORTERS).values()
    for exporter in exporters:
        found = exporter.in_memory(model) if isinstance(exporter, InMemoryExporter) else None
        if found is not None:
            return str(_kept(found))
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
    return "Give the path of its file, a name, an onnx.ModelProto, a Keras model, or a PyTorch module with its inputs."


def _onnx_model(model: Any) -> ModelInMemory:
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
    digest = hashlib.sha256(content).hexdigest()
    return ModelInMemory(model.graph.name, digest, ".onnx", lambda file: file.write_bytes(content))


def _kept(model: ModelInMemory) -> Path:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", model.name).strip("_")[:_LONGEST_NAME] or "model"
    return kept_file(_FOLDER, f"{name}-{model.digest[:12]}{model.suffix}", model.save)
