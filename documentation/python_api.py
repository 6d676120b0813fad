"""The page of the Python API, made of signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, is_typeddict

import griffe

import irbench
from documentation.markdown import GENERATED, prose, table

PAGE = Path("docs/reference/python-api.md")
_INTRODUCTION = """\
These names are the public API (`irbench.__all__`). All other names and modules are private and may change without
notice. [irbench from Python](../python.md) shows them in use."""


def python_page() -> str:
    """Return the page of every public name: functions first."""
    names = [name for name in irbench.__all__ if name != "__version__"]
    functions = [name for name in names if inspect.isfunction(getattr(irbench, name))]
    keywords = [name for name in names if is_typeddict(getattr(irbench, name))]
    classes = [name for name in names if name not in functions and name not in keywords]
    parts = [
        f"# Python API\n\n{GENERATED}\n\n{_INTRODUCTION}\n",
        "## Functions\n",
        *(part for name in functions for part in _function(f"irbench.{name}", getattr(irbench, name), "###")),
        "## Classes\n",
        *(part for name in classes for part in _class(name, getattr(irbench, name))),
        "## Types of keywords\n",
        "For annotations: `**options: Unpack[irbench.RunKeywords]`. The functions above describe each keyword.\n",
        table(("name", "what it is"), [(f"`{name}`", _summary(getattr(irbench, name))) for name in keywords]),
        "## The version\n",
        "`irbench.__version__` is irbench's version, a string.\n",
    ]
    return "\n".join(parts)


def _function(name: str, function: Any, level: str) -> Iterator[str]:
    yield f"{level} {name}\n"
    yield f"```python\n{_signature(name.rpartition('.')[2], function)}\n```\n"
    yield from _docstring(function)


def _class(name: str, kind: type) -> Iterator[str]:
    yield f"### irbench.{name}\n"
    yield from _docstring(kind)
    for method, found in _members(kind).items():
        function = inspect.unwrap(found.__func__) if isinstance(found, classmethod | staticmethod) else found
        if method.startswith("_") or not function.__doc__:
            continue
        if inspect.isfunction(function):
            yield from _function(f"{name}.{method}", function, "####")
        elif isinstance(function, property) or hasattr(function, "func"):  # the latter: functools.cached_property
            yield f"#### {name}.{method}\n"
            yield from _docstring(function)


def _members(kind: type) -> dict[str, Any]:
    """Return what a class has of its own, and what it inherits from classes that have no part of the page."""
    public = {getattr(irbench, name) for name in irbench.__all__}
    inherited = [base for base in kind.__mro__[:0:-1] if base.__module__.startswith("irbench.") and base not in public]
    members = {name: found for base in inherited for name, found in vars(base).items() if name not in vars(kind)}
    return {**vars(kind), **members}


def _summary(found: Any) -> str:
    return words(inspect.cleandoc(found.__doc__ or "").partition("\n\n")[0])


def _signature(name: str, function: Any) -> str:
    """Return a signature as code: on one line where it fits, otherwise a line for each parameter."""
    signature = inspect.signature(function)
    shown = signature.replace(parameters=[item for item in signature.parameters.values() if item.name != "self"])
    text = f"{name}{_unquoted(str(shown))}"
    if len(text) <= 88:
        return text
    parameters, star = list[str](), False
    for item in shown.parameters.values():
        if item.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            parameters, star = [*parameters, "    *,"], True
        parameters.append(f"    {_unquoted(str(item))},")
    result = (
        "" if shown.return_annotation is inspect.Signature.empty else f" -> {_unquoted(str(shown.return_annotation))}"
    )
    return "\n".join([f"{name}(", *parameters, f"){result}"])


def _unquoted(text: str) -> str:
    """Return annotations as they are written: those of postponed evaluation are strings."""
    return re.sub(r"(?<=: )'([^']*)'|(?<=-> )'([^']*)'", lambda found: found[1] or found[2], text)


def sections(docstring: str) -> list[Any]:
    """Return the sections of a docstring in Google's style."""
    return list(griffe.parse_google(griffe.Docstring(docstring), warnings=False))


def _docstring(found: Any) -> Iterator[str]:
    """Yield the parts of a docstring."""
    text = inspect.cleandoc(found.__doc__ or "")
    if dataclasses.is_dataclass(found) and text.startswith(f"{getattr(found, '__name__', '')}("):
        return
    for section in sections(text):
        yield from _section(section)


def _section(section: Any) -> Iterator[str]:
    kind = section.kind.value
    if kind == "text":
        yield f"{marked(section.value)}\n"
    elif kind in ("parameters", "attributes", "other parameters"):
        head = "attribute" if kind == "attributes" else "argument"
        yield table((head, "meaning"), [(f"`{item.name}`", words(item.description)) for item in section.value])
    elif kind == "raises":
        rows = [(f"`{item.annotation}`", words(item.description)) for item in section.value]
        yield table(("raises", "when"), rows)
    elif kind in ("returns", "yields"):
        yield f"{kind.capitalize()}: {words(' '.join(item.description for item in section.value))}\n"
    else:
        yield f"{marked(str(section.value))}\n"


def marked(text: str) -> str:
    """Return paragraphs with what reStructuredText marks as Markdown; blocks after ``::`` stay code."""
    text = re.sub(r":[a-z]+:`~?(?:irbench\.)?([^`]*)`", r"`\1`", text).replace("``", "`")
    return re.sub(r"::\n", ":\n", text)


def words(text: str) -> str:
    """Return a description for a cell of a table."""
    return prose(marked(text))
