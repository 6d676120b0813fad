"""Keywords where notebooks look for them: in the signature and the docstring of a function."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from irbench.api.options import RunKeywords, RunOptions

__all__ = ["names_run_keywords"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PLACEHOLDER = "    options: Those of :class:`irbench.RunKeywords`.\n"


def names_run_keywords(function: _Function) -> _Function:
    """Name each keyword of :class:`RunKeywords` in a function's signature and docstring; a decorator.

    ``help`` and Shift-Tab in Jupyter read both, and show nothing of the keywords behind ``**options``.

    Args:
        function: It ends in ``**options``, and its docstring has a line for ``options``.
    """
    attributes = vars(function)
    attributes["__signature__"] = _with_keywords(inspect.signature(function))
    if function.__doc__:  # there is none under python -OO
        function.__doc__ = inspect.cleandoc(function.__doc__).replace(_PLACEHOLDER, _descriptions())
    return function


def _with_keywords(signature: inspect.Signature) -> inspect.Signature:
    kept = [item for item in signature.parameters.values() if item.kind is not inspect.Parameter.VAR_KEYWORD]
    defaults = {item.name: _default(item) for item in dataclasses.fields(RunOptions)}
    keywords = (
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
        for name, annotation in get_type_hints(RunKeywords).items()
    )
    return signature.replace(parameters=[*kept, *keywords])


def _default(item: dataclasses.Field[Any]) -> Any:
    return item.default_factory() if item.default_factory is not dataclasses.MISSING else item.default


def _descriptions() -> str:
    """Return the lines of each keyword, as the docstring of :class:`RunKeywords` has them."""
    return inspect.cleandoc(RunKeywords.__doc__ or "").partition("Attributes:\n")[2] + "\n"
