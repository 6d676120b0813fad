"""Words for what is found when stored runs are looked at together: problems, differences, conditions, obstacles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from irbench.across_runs.changes import (
    FEWEST_RUNS,
    CheckedCondition,
    ConditionOutcome,
    Counted,
    FigureChange,
    Unjudged,
    UnjudgedReason,
)
from irbench.across_runs.differences import DifferenceKind, RunDifference
from irbench.across_runs.side_comparison import RunComparison
from irbench.core.quantities import NOT_MEASURED, listing, plural, significant
from irbench.errors import ExitCode
from irbench.options.conditions import Unit
from irbench.spec import Timing
from irbench.stats.two_samples import Shift

_LONGEST_VALUE = 60
_REACHES = "not met, but cannot be ruled out: the interval reaches beyond the limit"
_CORRECTED = "undecided: beyond the limit, but not significant after Holm's correction for all rows and conditions"
_DIFFERENCES: Mapping[DifferenceKind, str] = {
    "machine": "another machine",
    "software": "software",
    "model": "model",
    "settings": "settings",
    "inputs": "inputs",
}
CONDITION_TEXTS: Mapping[ConditionOutcome, str] = {
    "met": "met",
    "not-met": "not met",
    "undecided": "undecided: beyond the limit, but the interval includes no change",
    "not-measured": "not measured on both sides",
}
_FEWEST_LAUNCHES = Timing().min_launches
_WITHOUT_INTERVAL: Mapping[Counted, str] = {
    "launches": f"an interval takes {_FEWEST_LAUNCHES} launches on both sides",
    "pairs": "there are too few launches of both side by side for an interval",
    "runs": f"it takes {2 * FEWEST_RUNS} runs, of which the oldest and the newest {FEWEST_RUNS} are compared",
    "values": f"there is one value a run, and an interval takes {FEWEST_RUNS} runs on both sides",
}
"""What it takes to decide, by what an interval is over."""
_BUSY = f"the machine was busy on {{side}}, which may hide the change; {FEWEST_RUNS} runs on both sides decide"
_LOAD = f"met, but the machine was busy on {{side}}, which may be the reason; {FEWEST_RUNS} runs on both sides decide"
_UNJUDGED: Mapping[UnjudgedReason, str] = {
    "too-few": "there are too few values for an interval",
    "no-figure": "not measured on both sides",
    "base-busy": _BUSY.format(side="the older side"),
    "new-busy": _BUSY.format(side="the newer side"),
    "base-load": _LOAD.format(side="the older side"),
    "new-load": _LOAD.format(side="the newer side"),
    "row-missing": "no figures on the newer side",
    "not-repeated": "met, but undecided when measured again",
    "uneven-load": "other programs were busier in the turns of one row than in those of another",
    "unknown-load": "the machine was busy, and it is not known in whose turns",
    "blocks-disagree": "met, but the other blocks say that the newer side is faster",
}
"""Why a condition could not be judged."""
_FEWEST_DIGITS = 3
_MOST_DIGITS = 9
_LEAST_WITH_ONE_DECIMAL = 0.0005
SCALES: Mapping[Unit, float] = {"bytes": 1e6, "ms": 1, "fps": 1, "tokens/s": 1, "J": 1, "": 1}
"""What figures are divided by where they are shown: bytes are shown as megabytes."""
UNIT_NAMES: Mapping[Unit, str] = {"bytes": "MB", "ms": "ms", "fps": "FPS", "tokens/s": "tokens/s", "J": "J", "": ""}


def difference_text(difference: RunDifference) -> str:
    """Return ``software: onnxruntime 1.22.0 → 1.23.0``."""
    before, after = (_values(values) for values in (difference.base, difference.new))
    return f"{_DIFFERENCES[difference.kind]}: {difference.name} {before} → {after}"


def blocked_message(comparison: RunComparison) -> str:
    """Return why two sides are not compared."""
    facts = "; ".join(f"{item.name} {_values(item.base)} and {_values(item.new)}" for item in comparison.blocking)
    return f"{comparison.base.name} and {comparison.new.name} were measured on different machines: {facts}."


def checked_text(name: str, checked: CheckedCondition) -> str:
    """Return ``p50>5% on ort: +6.1 % [+3.0 %, +8.2 %], met``."""
    change = "" if checked.change is None else f"{change_text(checked.change, relative=checked.relative)}, "
    return f"{checked.condition} on {name}: {change}{_outcome(checked)}"


def _outcome(checked: CheckedCondition) -> str:
    if checked.unjudged is not None:
        reason = _why_unjudged(checked.unjudged, checked.change)
        return reason if checked.unjudged == "no-figure" else f"not judged: {reason}"
    if checked.is_significant_alone:
        return _CORRECTED
    return _REACHES if checked.outcome == "not-met" and not checked.excluded else CONDITION_TEXTS[checked.outcome]


def _why_unjudged(reason: UnjudgedReason, change: FigureChange | None) -> str:
    return _WITHOUT_INTERVAL[change.counted] if reason == "too-few" and change is not None else _UNJUDGED[reason]


def unjudged_text(unjudged: Iterable[Unjudged], *, regressed: bool) -> str:
    """Return a line that says which conditions could not be judged and why; empty where all could."""
    conditions: dict[tuple[str, str], list[str]] = {}
    for item in unjudged:
        conditions.setdefault((_why_unjudged(item.reason, item.change), item.row), []).append(item.condition)
    rows: dict[tuple[str, str], list[str]] = {}
    for (reason, row), texts in conditions.items():
        rows.setdefault((reason, listing(texts)), []).append(row)
    reasons = "; ".join(f"{unmet} on {listing(names)}: {reason}" for (reason, unmet), names in rows.items())
    code = "" if regressed else f", so this is not a pass (exit code {ExitCode.NOT_JUDGED:d})"
    return f"warning: not judged{code}: {reasons}." if reasons else ""


def change_text(change: FigureChange, *, relative: bool = True) -> str:
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


def change_and_figures(base: float, new: float, unit: Unit, *, relative: bool = True) -> tuple[str, str, str]:
    """Return ``37.04 ms``, ``39.26 ms`` and ``+6.0 %``: the change is what a reader computes from both figures.

    Args:
        base: The older figure.
        new: The newer one.
        unit: Of both.
        relative: Whether the change is a fraction of ``base``, which is above 0 then, or in the unit.
    """
    before, after = (value / SCALES[unit] for value in (base, new))
    if relative:
        digits, change = digits_for_changes([(before, after)], _relative), _relative(before, after)
    else:
        digits, change = _difference(before, after, unit)
    first, last = (_with_unit(significant(value, digits=digits), unit) for value in (before, after))
    return first, last, change


def digits_for_changes(steps: Iterable[tuple[float, float]], shown: Callable[[float, float], str]) -> int:
    """Return how many significant digits figures take so that the changes between them follow from what is shown."""
    pairs = list(steps)
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        rounded = ((float(significant(value, digits=digits)) for value in pair) for pair in pairs)
        if all(shown(*pair) == shown(*exact) for pair, exact in zip(rounded, pairs, strict=True)):
            return digits
    return _MOST_DIGITS


def signed_percent(fraction: float) -> str:
    """Return ``+5.2 %``; whole percents from 100 on, and no sign where all digits are 0."""
    shown = f"{100 * fraction:+.1f}" if abs(fraction) < 1 else f"{100 * fraction:+.0f}"
    return f"{'0.0' if float(shown) == 0 else shown} %"


def signed_percent_end(fraction: float) -> str:
    """Return the end of an interval: as :func:`signed_percent`, with a sign also where it is next to 0.

    On which side of 0 it lies is what a verdict follows from.
    """
    if fraction == 0 or abs(fraction) >= _LEAST_WITH_ONE_DECIMAL:
        return signed_percent(fraction)
    return f"{100 * fraction:+.2g} %"


def outwards(fraction: float, *, up: bool) -> float:
    """Return the end of an interval, rounded away from its inside to what :func:`signed_percent_end` shows of it."""
    if fraction == 0:
        return 0.0
    decimals = 3 if abs(fraction) < 1 else 2
    if abs(fraction) < _LEAST_WITH_ONE_DECIMAL:
        decimals = 1 - math.floor(math.log10(abs(fraction)))
    scaled = round(fraction * 10.0**decimals, 6)
    return (math.ceil(scaled) if up else math.floor(scaled)) / 10.0**decimals


def amount(value: float | None, unit: Unit) -> str:
    """Return a figure with its unit: ``37.1 ms``, ``310 MB``."""
    return NOT_MEASURED if value is None else _with_unit(significant(value / SCALES[unit]), unit)


def signed_amount(value: float, unit: Unit) -> str:
    """Return a difference with its sign and its unit: ``+2.30 ms``."""
    return f"{'+' if value >= 0 else ''}{amount(value, unit)}"


def _relative(base: float, new: float) -> str:
    return signed_percent(new / base - 1)


def _difference(base: float, new: float, unit: Unit) -> tuple[int, str]:
    """Return how many digits figures take so that their difference follows, and the difference with their decimals."""
    digits, shown = _FEWEST_DIGITS, ""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        first, last = (significant(value, digits=digits) for value in (base, new))
        decimals = max(len(figure.partition(".")[2]) for figure in (first, last))
        shown = f"{new - base:+.{decimals}f}"
        is_lost = float(shown) == 0 and new != base
        if not is_lost and float(shown) == float(f"{float(last) - float(first):+.{decimals}f}"):
            break
    return digits, _with_unit(shown, unit)


def _with_unit(number: str, unit: Unit) -> str:
    return f"{number} {UNIT_NAMES[unit]}".rstrip()
