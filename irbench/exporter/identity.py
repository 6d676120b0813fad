"""The identity of an export: a digest of everything that affects its result."""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from irbench import registry
from irbench.bundles import digest
from irbench.exporter.options import ExportOptions

__all__ = ["identity"]

_FORMAT = 1
"""Raise it when the same request must no longer be answered by a bundle of an earlier irbench."""

_TOOLS = ("irbench", "onnx")


def identity(source: str, exporter: str, options: ExportOptions) -> str:
    """Return the key of an export, SHA-256 in hexadecimal.

    It covers the content of the model's file, folder or module, of the zoo's package and of the exporter's,
    but not of other modules that a user's own imports.
    """
    described = {
        "format": _FORMAT,
        "source": source if source in registry.names(registry.MODELS) else _absolute(source),
        "content": [digest(path) for path in _files(source)],
        "exporter": [digest(path) for path in _package_files(_module_of(registry.EXPORTERS, exporter))],
        "opset": options.opset,
        "batch": options.batch,
        "seed": options.seed,
        "layout": options.layout,
        "signature": options.signature,
        "weights": options.weights if options.weights in (None, "random") else digest(Path(str(options.weights))),
        "versions": {name: _version(name) for name in (*_TOOLS, *registry.describe_exporter(exporter).distributions)},
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _absolute(source: str) -> str:
    path, separator, function = source.rpartition(":")
    if separator and path.endswith(".py"):
        return f"{Path(path).absolute()}:{function}"
    return str(Path(source).absolute()) if Path(source).exists() else source


def _files(source: str) -> Iterator[Path]:
    path = Path(source)
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (file for file in sorted(path.rglob("*")) if file.is_file())
    elif source in registry.names(registry.MODELS):
        yield from _package_files(_module_of(registry.MODELS, source))
    else:
        module = source.rpartition(":")[0]
        file = Path(module) if module.endswith(".py") else _users_module_file(module)
        if file is not None and file.is_file():
            yield file


def _package_files(module: str) -> list[Path]:
    file = _module_file(module.partition(".")[0])
    return [] if file is None else sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]


def _module_of(group: str, name: str) -> str:
    return next(entry.module for entry in metadata.entry_points(group=group) if entry.name == name)


def _users_module_file(module: str) -> Path | None:
    """Find the file that an exporter will import: the folder one is in comes before the environment."""
    return _module_file(module, [str(Path.cwd()), *sys.path])


def _module_file(module: str, search: list[str] | None = None) -> Path | None:
    """Find a module's file, in the environment unless told where, without importing the packages around it."""
    origin: str | None = None
    for part in module.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, search) if part else None
        if spec is None:
            return None
        origin, search = spec.origin, list(spec.submodule_search_locations or ())
    return Path(origin) if origin else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
