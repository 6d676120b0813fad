"""Lines on standard error, and Python's warnings as such."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from irbench.plain_text import plain_lines
from irbench.system.home_warning import HomeWarning

__all__ = ["home_warnings_told", "plugin_warnings_told", "say"]


def say(text: str) -> None:
    """Write lines to stderr: nothing in them steers a terminal."""
    click.echo(plain_lines(text), err=True)


@contextmanager
def home_warnings_told() -> Iterator[None]:
    """Have it be a line on stderr that models are kept in another folder than they should; others show as before."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", HomeWarning)
        show = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, HomeWarning):
                say(f"warning: {message}")
            else:
                show(message, category, *place)

        setattr(warnings, "showwarning", tell)  # noqa: B010 - the documented way, of which type checkers know nothing
        yield


@contextmanager
def plugin_warnings_told() -> Iterator[None]:
    """Have each plugin that is broken become a line on stderr when the block ends, however it ends."""
    from irbench.registry import PluginWarning

    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PluginWarning)
            yield
    finally:
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            say(f"warning: {text}")
