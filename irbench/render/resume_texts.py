"""Words for what keeps a run from being continued."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irbench.render.line_wrapping import shorten
from irbench.runner.run_changes import ChangeKind, RunChange

__all__ = ["CHANGE_TEXTS", "changed_message"]

_LONGEST_VALUE = 40
_MOST_CHANGES = 5


def _before_and_now(change: RunChange) -> str:
    return f"{change.name} was {_value(change.before)} and is {_value(change.now)}"


CHANGE_TEXTS: Mapping[ChangeKind, Callable[[RunChange], str]] = {
    "irbench": _before_and_now,
    "environment": _before_and_now,
    "setting": lambda change: f"the setting {_before_and_now(change)}",
    "file": lambda change: f"{change.name} has another content",
    "rows": lambda change: f"the table of {change.name} has other rows",
}


def changed_message(run: str, changes: Sequence[RunChange]) -> str:
    """Return that a run cannot be continued, and what has changed since it was begun.

    Args:
        run: Its id.
        changes: At least one.
    """
    shown = [CHANGE_TEXTS[change.kind](change) for change in changes[:_MOST_CHANGES]]
    more = [f"{len(changes) - len(shown)} more"] if len(changes) > len(shown) else []
    return f"{run} cannot be continued, since something has changed: {'; '.join((*shown, *more))}."


def _value(value: Any) -> str:
    return "missing" if value is None else shorten(str(value), "", _LONGEST_VALUE)
