"""How commands in texts name stored runs."""

from __future__ import annotations

from shlex import quote

__all__ = ["results_of"]


def results_of(results: str | None) -> str:
    """Return what a command needs behind a run's id where the user named the folder that it is kept in."""
    return "" if results is None else f" --results {quote(results)}"
