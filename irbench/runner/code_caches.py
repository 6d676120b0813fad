"""The folders in which runtimes and drivers keep compiled code, and the one that a launch has in place of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from irbench import registry
from irbench.spec import Cell

_CACHE_VARIABLES = ("XDG_CACHE_HOME", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "TRITON_CACHE_DIR")
"""Environment variables that name the folder in which a runtime or a driver keeps what it compiled."""


def caches_in(folder: Path) -> dict[str, str]:
    """Return the environment variables of a process whose caches are in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return dict.fromkeys(_CACHE_VARIABLES, str(folder))


def with_caches_in(cell: Cell, folder: Path) -> Cell:
    """Return a cell whose options that name a folder of compiled code name this one."""
    keys = registry.describe(registry.BACKENDS, cell.backend).cache_folders
    given = {key: str(folder) for key in keys if key in cell.load.options}
    return replace(cell, load=replace(cell.load, options={**cell.load.options, **given}))
