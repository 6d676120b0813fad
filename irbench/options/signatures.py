"""Keywords where notebooks look for them: in the signature and the docstring of a function."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from irbench.options.option import CommandOptions, described, flag_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


def names_keywords(command: CommandOptions[Any]) -> Callable[[_Function], _Function]:
    """Name each option of a command in a function's signature and docstring; a decorator.

    ``help`` and Shift-Tab in Jupyter read both, and show nothing of the keywords behind ``**options``.

    Args:
        command: What declares them. The function ends in ``**options``, and its docstring has a line for ``options``.
    """

    def named(function: _Function) -> _Function:
        attributes = vars(function)
        attributes["__signature__"] = _with_keywords(inspect.signature(function), command)
        if function.__doc__:  # there is none under python -OO
            lines = inspect.cleandoc(function.__doc__).split("\n")
            (place,) = (number for number, line in enumerate(lines) if line.startswith("    options: "))
            lines[place : place + 1] = keyword_descriptions(command)
            function.__doc__ = "\n".join(lines)
        return function

    return named


def keyword_descriptions(command: CommandOptions[Any]) -> Iterator[str]:
    """Yield a paragraph for each keyword of a function."""
    flags = {flag_of(name, declared): name for name, declared in command.options.items()}
    for name, declared in command.options.items():
        text = described(name, declared, flags)
        yield textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)


def _shown_default(default: Any) -> Any:
    """Return a default as a signature shows it: ``None`` for empty containers and texts, which mean the same."""
    return None if default in ((), {}, "") else default


def _with_keywords(signature: inspect.Signature, command: CommandOptions[Any]) -> inspect.Signature:
    kept = [item for item in signature.parameters.values() if item.kind is not inspect.Parameter.VAR_KEYWORD]
    keywords = (
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if declared.required else _shown_default(declared.default),
            annotation=f"{declared.kind.given}{'' if declared.required else ' | None'}",
        )
        for name, declared in command.options.items()
    )
    return signature.replace(parameters=[*kept, *keywords])
