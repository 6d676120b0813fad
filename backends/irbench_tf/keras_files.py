"""Load ``.keras`` files; which code a file needs is read from its configuration, not from what Keras says."""

from __future__ import annotations

import json
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError, first_line
from irbench_tf.keras_contents import is_code, nodes, require_harmless, require_small

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
        require_small(path, archive)
    require_harmless(path, config)


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
    hint = f"Add --import {module}: a module that defines it with @keras.saving.register_keras_serializable()."
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
    """Return the configuration in a ``.keras`` file; nothing where it has none that can be read."""
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
        if not isinstance(name, str) or not isinstance(named, str) or "config" not in node or is_code(node):
            continue
        of_keras = isinstance(module, str) and module.partition(".")[0] in _OF_KERAS
        if not of_keras and ("module" in node or registered):
            yield _CustomObject(name, named, module if isinstance(module, str) else "")
