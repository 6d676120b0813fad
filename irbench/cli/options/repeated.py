"""Options that may be given several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import click

from irbench.cli.options import types

__all__ = ["Decorator", "repeated"]

FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


class Decorator(Protocol):
    """What adds an option to a command."""

    def __call__(self, command: FC, /) -> FC:
        """Return the command with the option."""
        ...


def repeated(*names: str, kind: types.Parsed[Any], collect: Callable[[Any], object], help_text: str) -> Decorator:
    """Return an option that may be given several times; a command gets what ``collect`` makes of its values."""
    return click.option(
        *names,
        type=kind,
        multiple=True,
        callback=lambda _context, _option, given: collect(given),
        help=help_text,
    )
