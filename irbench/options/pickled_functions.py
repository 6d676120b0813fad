"""Functions that no other process can import, such as those of a notebook, kept in files by what they do.

cloudpickle writes a function with the code, variables and functions that it uses. A file has the name of its content,
so that equal functions are one, and one that was changed is another. Where a function was written is left out of it:
each start of a notebook has its own name for that, and a line above it moves it. Sets are written in order: Python
iterates over those of texts in another one in each process.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from irbench.system.kept_files import kept_file

SUFFIX = ".pickle"
_FOLDER = "functions"
_PROTOCOL = 5
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class NotPicklable(ValueError):
    """A function uses something that cannot be written to a file."""


def kept_function(function: Callable[..., Any]) -> str:
    """Keep a function in a file, and return where a worker finds it: ``path/to/content.pickle:name``.

    Raises:
        NotPicklable: It uses something that cannot be written; says what.
        IrbenchError: The file cannot be written.
    """
    try:
        content = _pickled(function)
    except Exception as error:
        raise NotPicklable(_reason(function, error)) from error
    return f"{keep(content, SUFFIX)}:{_name(function)}"


def keep(content: bytes, suffix: str) -> Path:
    """Keep content in a file that is called what it is, and return the file.

    Raises:
        IrbenchError: It cannot be written.
    """
    return kept_file(_FOLDER, f"{digest_of(content)}{suffix}", lambda file: file.write_bytes(content))


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


def unpickled(content: bytes) -> Any:
    """Return the function of a file that holds ``content``; it is the user's own code, as a module is."""
    return _Unpickler(io.BytesIO(content)).load()


class _Unpickler(pickle.Unpickler):
    """Makes sets again; one that several functions use stays one."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._sets: dict[int, set[Any] | frozenset[Any]] = {}

    def persistent_load(self, pid: Any) -> Any:
        """Return a set: ``pid`` holds its number in the file, its class and its elements."""
        number, kind, elements = pid
        return self._sets.setdefault(number, kind(elements))


def _pickled(value: object) -> bytes:
    import cloudpickle

    usual = cloudpickle.Pickler.dispatch_table
    numbered: dict[int, tuple[int, object]] = {}  # with the sets: nothing else may get the identity of one

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc] # it has no types
        def persistent_id(self, value: Any) -> Any:  # sets are written by pickle itself, and reach no reducer
            if type(value) not in (set, frozenset) or not all(map(_has_order, value)):
                return None
            number, _ = numbered.setdefault(id(value), (len(numbered), value))
            return number, type(value), sorted(value, key=_place)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType):
                return usual[CodeType](_without_place(obj))
            reduced = super().reducer_override(obj)
            if isinstance(obj, FunctionType) and isinstance(reduced, tuple):
                _drop_file(reduced[1])
            return reduced

    buffer = io.BytesIO()
    Pickler(buffer, protocol=_PROTOCOL).dump(value)
    return buffer.getvalue()


def _has_order(element: object) -> bool:
    """Whether an element of a set is written the same in each process, so that it can be sorted by that."""
    return type(element) in _PLAIN or (type(element) is tuple and all(map(_has_order, element)))


def _place(element: object) -> tuple[str, str]:
    return type(element).__name__, repr(element)


def _drop_file(arguments: tuple[Any, ...]) -> None:
    """Forget where a function's module is; a function that reads ``__file__`` has it among its variables as well."""
    for argument in arguments:
        if isinstance(argument, dict):
            argument.pop("__file__", None)


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
