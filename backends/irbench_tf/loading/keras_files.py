"""Load ``.keras`` files, after a look at what they make Keras build: its ``safe_mode`` alone lets more through.

That mode refuses code that a file carries, but a file may also name any function or class of Keras by its public name,
and have operations call it with arguments of the file's choosing while the model is built: ``keras.datasets`` fetches
files and unpickles them, ``keras.utils`` writes some, and the class ``TFSMLayer`` loads a program from another folder.
"""

from __future__ import annotations

import builtins
import json
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from irbench.errors import IrbenchError, first_line

_LOADING = ("TFSMLayer", "TorchModuleWrapper")
"""Layers that load another file, or a pickle."""
_COMPUTING = ("activations", "constraints", "initializers", "losses", "metrics", "ops", "random", "regularizers")
"""Modules of Keras whose functions only compute."""
_BUILDING = (*_COMPUTING, "", "dtype_policies", "layers", "models", "optimizers", "quantizers")
"""Modules of Keras whose classes are parts of a model; the empty name is ``keras`` itself."""
_LAYERS_OF_APPLICATIONS = ("CustomScaleLayer", "LayerScale", "StochasticDepth")
"""Classes in ``keras.applications``, beside functions with capitals that fetch weights."""
_ALWAYS_BYTES, _MOST_RATIO = 1 << 27, 100
"""What an archive may unpack to in any case, and over its own size beyond that. Keras does not compress weights."""
_HINT = "If you trust it, load it in a function of your own and export path/to/file.py:function."


def _require_harmless(path: Path, config: Any) -> None:
    """Refuse a configuration that has Keras do more than build layers which compute."""
    for node in nodes(config):
        if _is_code(node):
            raise IrbenchError(f"{path} contains Python code (a Lambda layer), which irbench does not run.", hint=_HINT)
        harm = _harmful(node)
        if harm is not None:
            raise IrbenchError(f"{path} names {harm}, which does more than compute.", hint=_HINT)


def _require_small(path: Path, archive: ZipFile) -> None:
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(_ALWAYS_BYTES, _MOST_RATIO * path.stat().st_size):
        raise IrbenchError(
            f"{path} unpacks to {unpacked / 1e6:.0f} MB, more than {_MOST_RATIO} times its own size.",
            hint="Keras writes no such file: do not trust it.",
        )


def _is_code(node: dict[str, Any]) -> bool:
    """Whether a node of a configuration is Python code, or calls a function with arguments that the file gives."""
    return node.get("class_name") in ("Lambda", "__lambda__")


def nodes(config: Any) -> Iterator[dict[str, Any]]:
    """Yield every dictionary of a configuration, however deep, in the order in which they stand there."""
    pending = [config]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(reversed(node.values()))
        elif isinstance(node, list):
            pending.extend(reversed(node))


def _harmful(node: dict[str, Any]) -> str | None:
    """Return what a node names that does more than compute: a layer, or a function of Keras or Python."""
    kind, module, name = node.get("class_name"), node.get("module"), node.get("config")
    if kind in _LOADING:
        return str(kind)
    if not isinstance(kind, str) or not isinstance(module, str):
        return None
    package, _, inner = module.partition(".")
    if kind != "function":
        return None if package != "keras" or _is_part(inner, kind) else f"{module}.{kind}"
    if (package == "keras" and inner not in _COMPUTING) or (package == "builtins" and hasattr(builtins, str(name))):
        return f"the function {module}.{name}"
    return None


def _is_part(inner: str, name: str) -> bool:
    """Whether a name in a module of Keras is that of a class which models are made of.

    Keras takes the public name of a function for a class, too, and one with dots for a module and a name in it.
    Functions that load or write have small letters, or are those of ``keras.applications``.
    """
    area = inner.removeprefix("src.").partition(".")[0]
    if area == "applications":
        return name in _LAYERS_OF_APPLICATIONS
    return area in _BUILDING and "." not in name and (name[:1].isupper() or name.startswith("__"))


_CONFIG = "config.json"
_MOST_BYTES = 1 << 26
_OF_KERAS = frozenset({"keras", "keras_hub", "keras_cv", "keras_nlp", "builtins"})
"""Packages that Keras imports by itself."""
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,  # encrypted, or nested too deeply
    NotImplementedError,  # an unknown compression
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What reading a damaged archive or its configuration raises."""


@dataclass(frozen=True)
class _CustomObject:
    """A layer or function that code of the user's defines.

    Attributes:
        registered_name: The name under which ``register_keras_serializable`` knows it.
        module: Where it was defined when the file was saved; empty where the file does not say.
    """

    name: str
    registered_name: str
    module: str


def require_registered(path: Path, imports: Sequence[str]) -> None:
    """Refuse a file that needs code of the user's where none is to be imported, before Keras is imported."""
    if "keras" not in sys.modules and not imports:  # nothing can have been registered
        for custom in _custom_objects(_config(path)):
            raise _not_registered(path, custom, imports)


def load_keras_file(path: Path, imports: Sequence[str] = ()) -> Any:
    """Return the model in a ``.keras`` file."""
    import keras

    if not path.is_file():
        raise IrbenchError(f"There is no file {path}.", hint="Check the path; model.save('name.keras') writes one.")
    if not zipfile.is_zipfile(path):
        raise IrbenchError(f"{path} is not a .keras file.", hint="model.save('name.keras') writes one.")
    require_trustworthy(path)
    try:
        # safe mode is the second line: the first is that of irbench, which names what it refuses
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:
        raise _explained(path, error, imports) from error


def require_trustworthy(path: Path) -> None:
    """Refuse what Keras would build or unpack and must not."""
    config = _config(path)
    if config is None:
        raise IrbenchError(
            f"{path} cannot be loaded: its configuration cannot be read.",
            hint="Save it again: model.save('name.keras').",
        )
    with zipfile.ZipFile(path) as archive:
        _require_small(path, archive)
    _require_harmless(path, config)


def saved_losses(path: Path) -> Any:
    """Return the losses that a file names for its outputs, in the form of its configuration; ``None`` without any."""
    saved = (_config(path) or {}).get("compile_config")
    return saved.get("loss") if isinstance(saved, dict) else None


def compile_as_saved(model: Any, path: Path) -> None:
    """Compile a model with the loss and the optimizer that its file names, if it names any."""
    saved = (_config(path) or {}).get("compile_config")
    if saved:
        model.compile_from_config(saved)


def _explained(path: Path, error: Exception, imports: Sequence[str]) -> IrbenchError:
    import keras

    for custom in _custom_objects(_config(path)):
        if keras.saving.get_registered_object(custom.registered_name) is None:
            return _not_registered(path, custom, imports)
    return IrbenchError(
        f"{path} cannot be loaded: {first_line(error)}",
        hint="Load it in a function of your own, and export path/to/file.py:function.",
    )


def _not_registered(path: Path, custom: _CustomObject, imports: Sequence[str]) -> IrbenchError:
    where = f" of the module {custom.module}" if custom.module else ""
    module = custom.module if custom.module not in ("", "__main__") else "MODULE"
    hint = f"Add `--import {module}`: a module that defines it with @keras.saving.register_keras_serializable()."
    for imported in imports:
        if module in (imported, Path(imported).stem):
            register = f'keras.saving.get_custom_objects()["{custom.registered_name}"] = {custom.name}'
            hint = f"Register it in {imported}: {register}"
    return IrbenchError(
        f"{path} needs {custom.name}{where}, which is not part of Keras and has not been registered"
        f" as {custom.registered_name}.",
        hint=hint,
    )


def _config(path: Path) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_CONFIG).file_size > _MOST_BYTES:
                return None
            return json.loads(archive.read(_CONFIG))
    except _UNREADABLE:
        return None


def _custom_objects(config: Any) -> Iterator[_CustomObject]:
    for node in nodes(config):
        name, registered, module = (node.get(key) for key in ("class_name", "registered_name", "module"))
        named = registered or name
        if not isinstance(name, str) or not isinstance(named, str) or "config" not in node or _is_code(node):
            continue
        of_keras = isinstance(module, str) and module.partition(".")[0] in _OF_KERAS
        if not of_keras and ("module" in node or registered):
            yield _CustomObject(name, named, module if isinstance(module, str) else "")
