"""What to say of a name that no exporter takes, and what was probably meant."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from irbench import bundles, registry
from irbench.errors import IrbenchError
from irbench.exporter.code import makers
from irbench.exporter.other_formats import refusal
from irbench.exporter.source import Source
from irbench.suggestions import did_you_mean, nearest
from irbench.system.file_states import exists, is_file

_SHOWN = 8


def unknown_source(source: Source) -> IrbenchError:
    """Return why a source is no model, with what is nearest to it."""
    text, path = source.text, Path(source.text)
    if path.suffix == ".onnx":
        return IrbenchError(f"{text} is already an ONNX model.", hint=f"Measure it: irbench run {quote(text)}")
    without_function = _without_function(text, source.folder) or _without_function(f"{text}.py", source.folder)
    if without_function is not None:
        return without_function
    other = refusal(text)
    if other is not None:
        return other
    if exists(path):
        return IrbenchError(
            f"{text} is not an ONNX file (.onnx), a .keras file or a SavedModel folder.",
            hint="A SavedModel folder contains saved_model.pb; a function is written path/to/file.py:function.",
        )
    if len(path.parts) > 1:
        return IrbenchError(f"There is no file or folder {text}.", hint=similar_file(path) or "Check the path.")
    exported = did_you_mean(text, (folder.parent.name for folder in bundles.all()))
    hint = similar_file(path) or exported or registry.known_names(registry.MODELS, text)
    return IrbenchError(f"There is no model called {text}.", hint=hint)


def similar_file(path: Path) -> str:
    """Return the question whether a model file beside ``path`` was meant; empty where none has a similar name."""
    files = [file for suffix in (".onnx", ".keras") for file in sorted(path.parent.glob(f"*{suffix}"))]
    near = next((file.name for file in files if file.stem == path.stem), None)
    near = near or nearest(path.name, (file.name for file in files))
    return f"Did you mean {path.with_name(near)}?" if near else ""


def _without_function(text: str, folder: Path) -> IrbenchError | None:
    """Return that a file of Python needs a function with it, and which it has; ``None`` for anything else."""
    module = text.removesuffix(":")
    file = Source(module, folder).path
    if file.suffix != ".py" or not is_file(file):
        return None
    found = makers(file, module)
    if not found:
        hint = f"Write one that takes nothing and returns a Keras model, and name it: {quote(module)}:function."
        return IrbenchError(f"{module} has no function that could make a model.", hint=hint)
    names = ", ".join(quote(f"{module}:{name}") for name in found[:_SHOWN])
    more = ", ..." if len(found) > _SHOWN else ""
    return IrbenchError(f"{module} alone does not say which function makes the model.", hint=f"Name it: {names}{more}")
