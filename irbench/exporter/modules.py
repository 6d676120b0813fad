"""Find the files of modules as a worker would import them, without importing anything."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def find_users_module(module: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a module of the user's: what lies in ``folders`` comes before the environment."""
    importlib.invalidate_caches()  # files that were written just now are there too
    search = [*map(str, folders), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return _in_folders(module, search) or find_module(module)


def find_module(module: str) -> Path | None:
    """Return the file of a module of the environment."""
    top, _, rest = module.partition(".")
    spec = importlib.machinery.PathFinder.find_spec(top) or _from_any_finder(top)
    return _below(spec, rest)


def package_files(module: str) -> list[Path]:
    """Return every Python file of the top-level package or module that a module belongs to, sorted."""
    file = find_module(module.partition(".")[0])
    if file is None:
        return []
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def _in_folders(module: str, search: list[str]) -> Path | None:
    top, _, rest = module.partition(".")
    return _below(importlib.machinery.PathFinder.find_spec(top, search), rest) if top else None


def _below(spec: importlib.machinery.ModuleSpec | None, rest: str) -> Path | None:
    """Return the file of a module below another; of the other itself where ``rest`` is empty."""
    for part in filter(None, rest.split(".")):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return Path(os.path.normpath(spec.origin)) if spec is not None and spec.has_location and spec.origin else None


def _from_any_finder(top: str) -> importlib.machinery.ModuleSpec | None:
    """Ask the finders of editable installations too."""
    if not top or top in sys.builtin_module_names:
        return None
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
