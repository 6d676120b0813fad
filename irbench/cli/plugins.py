"""Everything of a group by name, with what is broken told on stderr."""

from __future__ import annotations

import warnings
from typing import Any

import click

from irbench import registry

__all__ = ["load_all"]


def load_all(group: str) -> dict[str, Any]:
    """Return what :func:`irbench.registry.load_all` does; a broken plugin becomes a line on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", registry.PluginWarning)
        found = registry.load_all(group)
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    return found
