"""Words for what is found when stored runs are looked at together: problems, differences, conditions, obstacles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from irbench.across_runs.changes import Change
from irbench.across_runs.changes_view import (
    amount,
    change_and_figures,
    signed_amount,
    signed_percent,
    signed_percent_end,
)
from irbench.across_runs.comparison import RunComparison
from irbench.across_runs.conditions import (
    CONDITION_TEXTS,
    UNJUDGED_TEXTS,
    CheckedCondition,
    Unjudged,
)
from irbench.across_runs.environments import DIFFERENCE_TEXTS, Difference
from irbench.core.quantities import listing, plural
from irbench.errors import ExitCode
from irbench.stats.two_samples import Shift

_LONGEST_VALUE = 60
_REACHES = "not met, but cannot be ruled out: the interval reaches beyond the limit"


def difference_text(difference: Difference) -> str:
    """Return ``software: onnxruntime 1.22.0 → 1.23.0``."""
    before, after = (_values(values) for values in (difference.base, difference.new))
    return f"{DIFFERENCE_TEXTS[difference.kind]}: {difference.name} {before} → {after}"


def blocked_message(found: RunComparison) -> str:
    """Return why two sides are not compared."""
    facts = "; ".join(f"{item.name} {_values(item.base)} and {_values(item.new)}" for item in found.blocking)
    return f"{found.base.name} and {found.new.name} were measured on different machines: {facts}."


def checked_text(name: str, checked: CheckedCondition) -> str:
    """Return ``p50>5% on ort: +6.1 % [+3.0 %, +8.2 %], met``."""
    change = "" if checked.change is None else f"{change_text(checked.change, relative=checked.relative)}, "
    return f"{checked.condition} on {name}: {change}{_outcome(checked)}"


def _outcome(checked: CheckedCondition) -> str:
    """Return whether a condition is met, and what it takes to decide where that is open."""
    if checked.unjudged is not None:
        reason = UNJUDGED_TEXTS[checked.unjudged](checked.change)
        return reason if checked.unjudged == "no-figure" else f"not judged: {reason}"
    return _REACHES if checked.outcome == "not-met" and not checked.excluded else CONDITION_TEXTS[checked.outcome]


def unjudged_text(unjudged: Iterable[Unjudged], *, regressed: bool) -> str:
    """Return a line that says which conditions could not be judged and why; empty where all could.

    Args:
        unjudged: All of them.
        regressed: Whether another condition is met, which decides the exit code.
    """
    conditions: dict[tuple[str, str], list[str]] = {}
    for item in unjudged:
        conditions.setdefault((UNJUDGED_TEXTS[item.reason](item.change), item.row), []).append(item.condition)
    rows: dict[tuple[str, str], list[str]] = {}
    for (reason, row), found in conditions.items():
        rows.setdefault((reason, listing(found)), []).append(row)
    reasons = "; ".join(f"{asked} on {listing(names)}: {reason}" for (reason, asked), names in rows.items())
    code = "" if regressed else f", so this is no pass (exit code {ExitCode.NOT_JUDGED:d})"
    return f"warning: not judged{code}: {reasons}." if reasons else ""


def change_text(change: Change, *, relative: bool = True) -> str:
    """Return ``37.1 ms → 39.4 ms, +6.2 % [+3.0 %, +8.2 %]``, the change in the figure's unit unless ``relative``.

    Of pairs the change is not that of two medians, so that only one of them stands beside it.
    """
    shift = (change.relative if relative else None) or change.difference
    is_relative = relative and change.relative is not None
    shown = signed_percent if is_relative else partial(signed_amount, unit=change.unit)
    interval = _interval(shift, signed_percent_end if is_relative else shown, exact=change.exact)
    if change.counted == "pairs":
        pairs = plural(change.new_count, "launch")
        return f"{amount(change.new, change.unit)}, {shown(shift.value)}{interval} side by side in {pairs}"
    base, new, by = change_and_figures(change.base, change.new, change.unit, relative=is_relative)
    return f"{base} → {new}, {by}{interval}"


def _interval(shift: Shift, shown: Callable[[float], str], *, exact: bool) -> str:
    if exact:
        return ""
    if shift.confidence is None:
        return " (no interval)"
    return f" [{shown(shift.low)}, {shown(shift.high)}]"


def _values(values: tuple[str, ...]) -> str:
    text = " or ".join(value.strip('"') for value in values)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"
