"""What a ``.keras`` file makes Keras build is looked at before Keras does: ``safe_mode`` alone lets more through.

It refuses code that a file carries, but a file may also name any function or class of Keras by its public name, and
have operations call it with arguments of the file's choosing while the model is built: ``keras.datasets`` fetches files
and unpickles them, ``keras.utils`` writes some, and the class ``TFSMLayer`` loads a program from another folder.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from irbench.errors import IrbenchError

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


def require_harmless(path: Path, config: Any) -> None:
    """Refuse a configuration that has Keras do more than build layers which compute."""
    for node in nodes(config):
        if is_code(node):
            raise IrbenchError(f"{path} contains Python code (a Lambda layer), which irbench does not run.", hint=_HINT)
        found = _harmful(node)
        if found is not None:
            raise IrbenchError(f"{path} names {found}, which does more than compute.", hint=_HINT)


def require_small(path: Path, archive: ZipFile) -> None:
    """Refuse an archive that unpacks to far more than it holds."""
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(_ALWAYS_BYTES, _MOST_RATIO * path.stat().st_size):
        raise IrbenchError(
            f"{path} unpacks to {unpacked / 1e6:.0f} MB, more than {_MOST_RATIO} times its own size.",
            hint="Keras writes no such file: do not trust it.",
        )


def is_code(node: dict[str, Any]) -> bool:
    """Whether a node of a configuration is Python code, or calls a function with arguments that the file gives."""
    return node.get("class_name") in ("Lambda", "__lambda__")


def nodes(config: Any) -> Iterator[dict[str, Any]]:
    """Yield every dictionary of a configuration, however deep, in the order in which they stand there."""
    pending = [config]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            yield found
            pending.extend(reversed(found.values()))
        elif isinstance(found, list):
            pending.extend(reversed(found))


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
