"""Functions that no other process can import, such as those of a notebook, kept in files by what they do.

cloudpickle writes a function with the code, variables and functions that it uses. A file has the name of its content,
so that equal functions are one, and one that was changed is another. Where a function was written is left out of it:
each start of a notebook has its own name for that, and a line above it moves it.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from irbench.system.file_access import write_atomically
from irbench.system.home import home

SUFFIX = ".pickle"
_FOLDER = "functions"
_PROTOCOL = 5


class NotPicklable(ValueError):
    """A function uses something that cannot be written to a file."""


def kept_function(function: Callable[..., Any]) -> str:
    """Keep a function in a file, and return where a worker finds it: ``path/to/content.pickle:name``.

    Raises:
        NotPicklable: It uses something that cannot be written; says what.
    """
    try:
        content = _pickled(function)
    except Exception as error:
        raise NotPicklable(_reason(function, error)) from error
    return f"{keep(content, SUFFIX)}:{_name(function)}"


def keep(content: bytes, suffix: str) -> Path:
    """Keep content in a file that is called what it is, and return the file."""
    file = home() / _FOLDER / f"{digest_of(content)}{suffix}"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return file


def digest_of(content: bytes) -> str:
    """Return what a file with this content is called."""
    return hashlib.sha256(content).hexdigest()[:32]


def is_kept(target: str) -> bool:
    """Whether a function was kept in a file, by where a worker finds it."""
    return file_of(target).suffix == SUFFIX


def file_of(target: str) -> Path:
    """Return the file in which a function was kept."""
    return Path(target.rpartition(":")[0])


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else "function"


def _pickled(value: object) -> bytes:
    import cloudpickle

    usual = cloudpickle.Pickler.dispatch_table

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
        dispatch_table = usual.new_child({CodeType: lambda code: usual[CodeType](_without_place(code))})

    buffer = io.BytesIO()
    Pickler(buffer, protocol=_PROTOCOL).dump(value)
    return buffer.getvalue()


def _without_place(code: CodeType) -> CodeType:
    return code.replace(co_filename=f"<{code.co_name}>", co_firstlineno=1)


def _reason(function: Callable[..., Any], error: Exception) -> str:
    obstacle = next(_unpicklable(function, ()), None)
    if obstacle is None:
        return f"the function cannot be sent to a process of its own ({error})"
    names, value = obstacle
    used = f"the variable {names[-1]}, a {type(value).__name__}"
    through = f" through {' and '.join(names[:-1])}" if len(names) > 1 else ""
    return f"the function uses {used},{through} which cannot be sent to a process of its own"


def _unpicklable(function: Callable[..., Any], names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the variables that a function uses and that cannot be written, each with the functions that use it."""
    try:
        used = inspect.getclosurevars(inspect.unwrap(function))
    except (TypeError, ValueError):  # an object that can be called
        return
    for name, value in {**used.nonlocals, **used.globals}.items():
        if name in names or value is function:
            continue
        try:
            _pickled(value)
        except Exception:  # noqa: BLE001 - whatever a type raises that has no way to be written
            inner = next(_unpicklable(value, (*names, name)), None) if inspect.isfunction(value) else None
            yield inner or ((*names, name), value)
