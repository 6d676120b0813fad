"""Conditions on changes, such as ``p50>5%``: what is asked, and whether it is met."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from irbench.across_runs.changes import Change
from irbench.across_runs.figures import FIGURES, Unit
from irbench.stats.two_samples import Shift
from irbench.suggestions import did_you_mean

ConditionOutcome = Literal["met", "not-met", "undecided", "not-measured"]
"""``undecided``: the change is beyond the limit, and its interval includes no change."""

UnjudgedReason = Literal[
    "too-few", "no-figure", "base-busy", "new-busy", "base-load", "new-load", "row-missing", "not-repeated"
]
"""Why a condition could not be judged. ``too-few``: launches or runs for an interval; ``no-figure``: a side does not
have it; ``base-busy``, ``new-busy``: other programs disturbed most blocks of that side, which may hide the change;
``base-load``, ``new-load``: they did, and the condition is met, which may be for that reason alone;
``row-missing``: the older side has the row, and the newer one has no figures of it; ``not-repeated``: it is met, and a
second measurement neither confirmed nor refuted it."""

_FORM = re.compile(r"\s*([a-z][a-z0-9_.]*)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*([%a-zA-Z]*)\s*", re.ASCII)
_UNITS: Mapping[Unit, Mapping[str, float]] = {
    "ms": {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3},
    "bytes": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "fps": {"": 1.0},
    "J": {"mJ": 1e-3, "J": 1.0},
    "": {"": 1.0},
}


@dataclass(frozen=True)
class Condition:
    """What must not happen.

    Attributes:
        increase: Whether an increase beyond the limit meets it, or a decrease.
        limit: The change, a fraction where ``relative``, otherwise in the figure's unit; below 0 for a decrease.
        relative: Whether the limit is a percentage of the older side.
    """

    text: str
    figure: str
    increase: bool
    limit: float
    relative: bool


@dataclass(frozen=True)
class CheckedCondition:
    """One condition on one row.

    Attributes:
        change: Of its figure; ``None`` where a side does not have it.
        relative: Whether its limit is a percentage.
        excluded: Whether it is certainly not met: the whole interval lies within the limit.
        unjudged: Why its outcome decides nothing; ``None`` where it does.
    """

    condition: str
    outcome: ConditionOutcome
    change: Change | None
    relative: bool = True
    excluded: bool = False
    unjudged: UnjudgedReason | None = None

    @property
    def is_met(self) -> bool:
        """Whether it is met, and nothing keeps that from being judged."""
        return self.outcome == "met" and self.unjudged is None


@dataclass(frozen=True)
class Unjudged:
    """A condition that could not be judged on a row.

    Attributes:
        change: Of its figure; ``None`` where a side does not have it.
    """

    row: str
    condition: str
    reason: UnjudgedReason
    change: Change | None = None


def read_condition(text: str) -> Condition:
    """Return the condition that a text such as ``p50>5%``, ``fps<-3%`` or ``peak_memory>50MB`` spells.

    Raises:
        ValueError: It is no condition, names no figure or a wrong unit, or is met where nothing changed.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a condition on a change")
    name, sign, number, unit = found.groups()
    if name not in FIGURES:
        near = did_you_mean(name, FIGURES)
        raise ValueError(f"there is no figure {name!r} in {text!r}. {near}Figures: {', '.join(FIGURES)}")
    limit = float(number) * _factor(name, unit, text)
    if limit < 0 if sign == ">" else limit > 0:
        raise ValueError(f"{text!r} holds where nothing changed: limits of > are above 0, and those of < below 0")
    return Condition(text.strip(), name, sign == ">", limit, unit == "%")


def slower_than(within: float) -> Condition:
    """Return the condition that a time is longer by more than a fraction."""
    return Condition(f"time>{100 * within:g}%", "time", increase=True, limit=within, relative=True)


def checked_condition(
    condition: Condition, change: Change | None, *, busy_base: bool = False, busy_new: bool = False
) -> CheckedCondition:
    """Return a condition with what a change of its figure says of it.

    Args:
        condition: Which.
        change: Of its figure; ``None`` where a side does not have it.
        busy_base: Whether the older side was measured on a busy machine.
        busy_new: Whether the newer side was.
    """
    outcome = outcome_of(condition, change)
    return CheckedCondition(
        condition=condition.text,
        outcome=outcome,
        change=change,
        relative=condition.relative,
        excluded=_is_excluded(condition, change),
        unjudged=_why_unjudged(condition, change, (busy_base, busy_new), is_met=outcome == "met"),
    )


def _why_unjudged(
    condition: Condition, change: Change | None, busy: tuple[bool, bool], *, is_met: bool
) -> UnjudgedReason | None:
    """Return why a change decides nothing, which was measured beside other programs on the older or the newer side.

    Load makes figures worse: that of the older side hides a loss or makes a gain, and that of the newer side makes a
    loss or hides a gain. It is no obstacle to what was measured side by side, nor where runs are counted: their scatter
    contains it.
    """
    if change is None or _shift(condition, change) is None:
        return "no-figure"
    if change.exact:
        return None
    if not change.has_interval:
        return "too-few"
    figure = FIGURES[condition.figure]
    if not figure.depends_on_load or change.counted in ("runs", "pairs"):
        return None
    busy_base, busy_new = busy
    is_loss = condition.increase == figure.more_is_worse
    if is_met:
        return ("new-load" if busy_new else None) if is_loss else "base-load" if busy_base else None
    return ("base-busy" if busy_base else None) if is_loss else "new-busy" if busy_new else None


def outcome_of(condition: Condition, change: Change | None) -> ConditionOutcome:
    """Return whether a change meets a condition.

    It does where the estimate lies beyond the limit and the interval excludes that nothing changed. Without an
    interval only figures that are counted decide: a single measured value says nothing of how much it scatters.
    """
    shift = _shift(condition, change)
    if change is None or shift is None:
        return "not-measured"
    direction = 1 if condition.increase else -1
    if direction * shift.value <= direction * condition.limit:
        return "not-met"
    return "met" if change.exact or _excludes_nothing_changed(shift, direction) else "undecided"


def _is_excluded(condition: Condition, change: Change | None) -> bool:
    """Return whether a change certainly does not meet a condition: its whole interval lies within the limit."""
    shift = _shift(condition, change)
    if change is None or shift is None:
        return False
    direction = 1 if condition.increase else -1
    if change.exact:
        return direction * shift.value <= direction * condition.limit
    farthest = shift.high if condition.increase else shift.low
    return shift.confidence is not None and direction * farthest <= direction * condition.limit


def _shift(condition: Condition, change: Change | None) -> Shift | None:
    """Return the change in the unit of the condition's limit."""
    return None if change is None else change.relative if condition.relative else change.difference


def _excludes_nothing_changed(shift: Shift, direction: int) -> bool:
    nearest = shift.low if direction > 0 else shift.high
    return shift.confidence is not None and direction * nearest > 0


def _factor(name: str, unit: str, text: str) -> float:
    if unit == "%":
        return 0.01
    known = _UNITS[FIGURES[name].unit]
    if unit not in known:
        units = ", ".join(["%", *filter(None, known)])
        plain = " or none" if "" in known else ""
        raise ValueError(f"{text!r} has no unit of {name}: {units}{plain}")
    return known[unit]
