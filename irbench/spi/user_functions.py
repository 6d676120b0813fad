"""Calling functions that a user named as ``package.module:function`` or ``path/to/file.py:function``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from irbench.core.address import function_address
from irbench.errors import IrbenchError, first_line

FIX_FUNCTION = "Fix the function; calling it in Python shows where it fails."
"""What to do about a function that raises."""


def is_function(source: str) -> bool:
    """Whether a source has the form ``module:function``."""
    return function_address(source) is not None


def import_first(modules: Sequence[str]) -> None:
    """Import modules, or files of Python, that define what a model is made of.

    Raises:
        IrbenchError: One cannot be imported.
    """
    for module in modules:
        with _searched_first(_folder_of(module)):
            _import_user_module(module)


def _is_no_model(_named: object) -> bool:
    return False


def call_user_function(source: str, is_model: Callable[[object], bool] = _is_no_model) -> Any:
    """Return what the function that a source names, ``module:function``, returns; what it raises is raised.

    Args:
        source: May also name a model itself, alone or in a tuple with its inputs, which is returned as it is.
        is_model: Whether something is a model, and nothing that makes one: ``owns`` of an exporter.

    Raises:
        IrbenchError: There is no such function, or its module cannot be imported.
    """
    module, _, name = source.rpartition(":")
    with _searched_first(_folder_of(module)):
        named = getattr(_import_user_module(module), name, None)
        if named is not None and is_model(named):
            return named
        if not callable(named):
            raise IrbenchError(
                f"{module} has no function {name}.",
                hint="Name a function without parameters that returns a model: package.module:function.",
            )
        return named()


@contextmanager
def blaming_function(source: str) -> Iterator[None]:
    """Say of what a function raises that the function failed; errors of irbench say enough."""
    try:
        yield
    except IrbenchError:
        raise
    except Exception as error:
        raise IrbenchError(f"{source}() failed: {first_line(error)}", hint=FIX_FUNCTION) from error


def _folder_of(module: str) -> Path:
    return Path(module).resolve().parent if module.endswith(".py") else Path.cwd()


@contextmanager
def _searched_first(folder: Path) -> Iterator[None]:
    """Let modules be found in the folder of code that a user named, which workers do not search otherwise.

    It ends with that code: what is imported later must not come from there.
    """
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # that code may have taken it out
            sys.path.remove(str(folder))


def _import_user_module(module: str) -> Any:
    try:
        return _import_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
    except IrbenchError:
        raise
    except Exception as error:
        raise IrbenchError(
            f"{module} cannot be imported: {type(error).__name__}: {first_line(error)}",
            hint=_as_module_of_package(Path(module), error)
            or "Import it in Python first: it must be importable in this environment.",
        ) from error


def _as_module_of_package(path: Path, error: Exception) -> str:
    """Return how to name a file that imports the package it lies in; empty where that is not why it failed."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if path.suffix != ".py" or missing is None or missing.partition(".")[0] not in path.parent.parts:
        return ""
    package = missing.partition(".")[0]
    names = path.with_suffix("").parts[path.parts.index(package) :]
    folder = Path(*path.parts[: path.parts.index(package)])
    return f"The file is part of the package {package}: in {folder.absolute()}, write {'.'.join(names)}:FUNCTION."


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise IrbenchError(f"There is no file {path}.", hint="Write it as path/to/file.py:function.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
