"""Words for why a run cannot be continued, and for what the first run of a model is going to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irbench.render.line_wrapping import shorten
from irbench.runner.continuation import ConfinementChange, RunChange, confinement_remedy

_LONGEST_VALUE = 40
_MOST_CHANGES = 5


def changed_message(run: str, changes: Sequence[RunChange]) -> str:
    """Return that a run cannot be continued, and what has changed since it was begun."""
    shown = [change.text(_value) for change in changes[:_MOST_CHANGES]]
    more = [f"{len(changes) - len(shown)} more"] if len(changes) > len(shown) else []
    return f"{run} cannot be continued, since something has changed: {'; '.join((*shown, *more))}."


def changed_remedy(run: str, changes: Sequence[RunChange], results: str) -> str:
    """Return what to do about changes."""
    other = f"egin another run; what was measured stays: irbench show {run}{results}"
    confinement = next((change for change in changes if isinstance(change, ConfinementChange)), None)
    if confinement is None or len(changes) > 1:
        return f"B{other}"
    return f"{confinement_remedy(is_set=bool(confinement.now))}, or b{other}"


def _value(value: Any) -> str:
    return "missing" if value is None else shorten(str(value), _LONGEST_VALUE)


def first_run_text(model: str, backends: Sequence[str]) -> str:
    """Return what a run is going to do that names no model where nothing was exported yet."""
    return (
        f"Nothing was exported yet: this exports {model} from TensorFlow (a minute or less) and then measures it"
        f" on {', '.join(backends)} (up to 90 s, unless options say otherwise)."
    )
