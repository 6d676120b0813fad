"""Python warnings as lines on stderr."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["plugin_warnings_told", "say"]


def say(text: str) -> None:
    """Write a line to stderr."""
    click.echo(text, err=True)


@contextmanager
def plugin_warnings_told() -> Iterator[None]:
    """Have each plugin that cannot be loaded become a line on stderr."""
    from irbench.registry import PluginWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PluginWarning)
        yield
    for warning in caught:
        say(f"warning: {warning.message}")
