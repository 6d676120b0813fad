"""Finding the user's own code: a function or stages of a module or a file, or what was kept of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from irbench.errors import IrbenchError, first_line
from irbench.options import pipeline_stages
from irbench.options.pickled_functions import digest_of, file_of, is_kept, unpickled

Code: TypeAlias = Callable[..., Any] | Mapping[str, Any]
"""A function, or stages by name."""


def imported_code(target: str) -> Code:
    """Return what runs a row: a function, or a mapping of stages, which nobody has checked.

    Args:
        target: As for :func:`imported_function`; or that of stages that were kept.
    """
    if not pipeline_stages.are_kept(target):
        code: Code = _imported(target, lambda code: callable(code) or isinstance(code, Mapping))
        return code
    try:
        return pipeline_stages.read_stages(target)
    except ValueError as error:
        raise IrbenchError(f"{error}.", hint="Measure them again from where they are defined.") from error


def imported_function(target: str) -> Any:
    """Return a function of a module, which is searched in the current folder first, or of a file.

    Args:
        target: ``package.module:function``, ``path/to/file.py:function``, or that of a function that was kept.
    """
    return _imported(target, callable)


def _imported(target: str, is_code: Callable[[Any], bool]) -> Any:
    if is_kept(target):
        return _kept_function(file_of(target))
    module, _, name = target.rpartition(":")
    is_file = module.endswith(".py")
    # stays in front: the function may import more when it is called
    sys.path.insert(0, str(Path(module).resolve().parent if is_file else Path.cwd()))
    try:
        loaded = _from_file(Path(module)) if is_file else importlib.import_module(module)
    except IrbenchError:
        raise
    except Exception as error:
        raise IrbenchError(
            f"{module} cannot be imported: {type(error).__name__}: {first_line(error)}",
            hint="Import it in Python, which shows where it fails.",
        ) from error
    function = getattr(loaded, name, None)
    if not is_code(function):
        raise IrbenchError(f"{module} has no function {name}.", hint="Write it as package.module:function.")
    return function


def _from_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise IrbenchError(f"There is no file {path}.", hint="Write it as path/to/file.py:function.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _kept_function(file: Path) -> Any:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise IrbenchError(
            f"The function in {file} cannot be read: {error.strerror}.",
            hint="Measure it again from where it is defined.",
        ) from error
    if digest_of(content) != file.stem:
        raise IrbenchError(
            f"The function in {file} is not the one that was kept there.",
            hint="Remove the file, and measure the function again from where it is defined.",
        )
    sys.path.insert(0, str(Path.cwd()))  # for the modules that it imports, as those of any function
    try:
        return unpickled(content)
    except Exception as error:
        raise IrbenchError(
            f"The function cannot be made in a process of its own: {type(error).__name__}: {first_line(error)}",
            hint='Write it to a file, and give cells={"mine": "my_file.py:infer"}.',
        ) from error
