"""Words for what keeps a run from being continued."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irbench.render.line_wrapping import shorten
from irbench.runner.run_changes import ChangeKind, RunChange

_LONGEST_VALUE = 40
_MOST_CHANGES = 5


def _before_and_now(change: RunChange) -> str:
    return f"{change.name} was {_value(change.before)} and is {_value(change.now)}"


CHANGE_TEXTS: Mapping[ChangeKind, Callable[[RunChange], str]] = {
    "irbench": _before_and_now,
    "environment": _before_and_now,
    "confinement": lambda change: confinement_change(is_set=bool(change.now)),
    "setting": lambda change: f"the setting {_before_and_now(change)}",
    "file": lambda change: f"{change.name} has changed",
    "rows": lambda change: f"the table of {change.name} has different rows",
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


def changed_remedy(run: str, changes: Sequence[RunChange], results: str) -> str:
    """Return what to do about changes; takes what :func:`changed_message` does, and what names the folder of runs."""
    other = f"egin another run; what was measured stays: irbench show {run}{results}"
    confinement = next((change for change in changes if change.kind == "confinement"), None)
    if confinement is None or len(changes) > 1:
        return f"B{other}"
    return f"{confinement_remedy(is_set=bool(confinement.now))}, or b{other}"


def confinement_change(*, is_set: bool) -> str:
    """Return, as part of a sentence, that the workers of what was begun were confined otherwise than now.

    Args:
        is_set: Whether confinement is asked for now, other than then.
    """
    if is_set:
        return "its workers were not confined, and IRBENCH_CONFINE is set now"
    return "its workers were confined, and IRBENCH_CONFINE is not set now"


def confinement_remedy(*, is_set: bool) -> str:
    """Return how to go on with what was begun with, or without, confinement.

    Args:
        is_set: Whether it is asked for now, other than then.
    """
    return f"{'Unset IRBENCH_CONFINE' if is_set else 'Set IRBENCH_CONFINE=1'} to go on as it began"


def _value(value: Any) -> str:
    return "missing" if value is None else shorten(str(value), _LONGEST_VALUE)
