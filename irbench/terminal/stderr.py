"""Lines on standard error, and Python's warnings as such."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from irbench.core.plain_text import plain_lines, unmarked
from irbench.system.home_warning import HomeWarning

if TYPE_CHECKING:
    from irbench.across_runs.changes import Unjudged

_USUAL_COLUMNS = 80
_WARNING = "warning: "


def say(text: str) -> None:
    """Write lines to stderr: nothing in them steers a terminal, which has warnings wrapped."""
    if text.startswith(_WARNING):
        say_in_width(text)
    else:
        _write(text)


def say_in_width(text: str, indent: str = "") -> None:
    """Write a line to stderr, wrapped where that is a terminal; programs that read it get one line."""
    if not sys.stderr.isatty():
        _write(f"{indent}{text}")
        return
    from irbench.render.line_wrapping import wrap_message

    for line in wrap_message(text, max(1, _columns() - len(indent))):
        _write(f"{indent}{line}")


def _write(text: str) -> None:
    click.echo(plain_lines(unmarked(text)), err=True)


def _columns() -> int:
    """Return the width of the terminal that stderr is, unless ``COLUMNS`` says another."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


@contextmanager
def home_warnings_shown() -> Iterator[None]:
    """Print once, when the block ends, that models are kept in a stand-in folder; other warnings show as before.

    It comes after an error, which matters more.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", HomeWarning)
        show = warnings.showwarning
        told: dict[str, None] = {}

        def tell(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, HomeWarning):
                told[str(message)] = None
            else:
                show(message, category, *place)

        setattr(warnings, "showwarning", tell)  # noqa: B010 - the documented way, of which type checkers know nothing
        try:
            yield
        finally:
            for text in told:
                say(f"{_WARNING}{text}")


@contextmanager
def plugin_warnings_shown() -> Iterator[None]:
    """Have each plugin that is broken become a line on stderr when the block ends, however it ends."""
    from irbench.core.registry import PluginWarning

    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PluginWarning)
            yield
    finally:
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            say(f"{_WARNING}{text}")


def say_unjudged(unjudged: Sequence[Unjudged], *, regressed: bool, is_shown: bool) -> None:
    """Write a line to stderr on conditions that could not be judged, unless the report on the screen has it."""
    from irbench.across_runs.texts import unjudged_text

    if unjudged and not is_shown:
        say(unjudged_text(unjudged, regressed=regressed))
