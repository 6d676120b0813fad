"""Words for what is found when stored runs are looked at together: problems, differences, conditions, obstacles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from irbench.across_runs.changes import FEWEST_RUNS, Change, Counted
from irbench.across_runs.comparison import RunComparison
from irbench.across_runs.conditions import CheckedCondition, ConditionOutcome
from irbench.across_runs.confirmation import Obstacle, ObstacleCode
from irbench.across_runs.environments import Difference, DifferenceKind
from irbench.across_runs.figures import Unit
from irbench.across_runs.problems import Problem, ProblemCode
from irbench.plain_text import plain
from irbench.render.figures import NOT_MEASURED, significant
from irbench.render.quantities import listing, plural
from irbench.render.resume_texts import confinement_change
from irbench.render.unsearched_texts import UNSEARCHED_TEXTS
from irbench.spec import Timing
from irbench.stats.two_samples import Shift

__all__ = [
    "CONDITION_TEXTS",
    "DIFFERENCE_TEXTS",
    "OBSTACLE_TEXTS",
    "PROBLEM_TEXTS",
    "amount",
    "blocked_message",
    "change_text",
    "checked_text",
    "difference_text",
    "obstacle_text",
    "problem_text",
    "signed_percent",
]

_LONGEST_VALUE = 60
_FEWEST_LAUNCHES = Timing().min_launches
_WITHOUT_INTERVAL: Mapping[Counted, str] = {
    "launches": f"{_FEWEST_LAUNCHES} launches on both sides have an interval",
    "pairs": f"{_FEWEST_LAUNCHES} launches of both side by side have an interval",
    "runs": f"{FEWEST_RUNS} runs on both sides have an interval",
    "values": f"there is one value a run, and {FEWEST_RUNS} runs on both sides have an interval",
}
"""What it takes to decide, by what an interval is over."""

PROBLEM_TEXTS: Mapping[ProblemCode, Callable[[str, Mapping[str, Any]], str]] = {
    "unreadable": lambda _run, facts: str(facts["message"]),
    "without-samples": lambda run, _facts: f"{run} is stored without its samples, and is not used.",
    "figures-altered": lambda run, facts: (
        f"{run} is not used: the figures of {listing(facts['rows'])} do not follow from its samples, so it was changed."
    ),
    "no-speeds": lambda run, _facts: f"{run} measured cold starts or memory and not speeds, and is not used.",
    "not-measured": lambda run, _facts: f"{run} has no launch, and is not used.",
    "incomplete": lambda run, facts: f"{run} is incomplete: {plural(facts['launches'], 'launch')} of it are used.",
    "same-names": lambda run, facts: (
        f"{run} has different models of the name {listing(facts['models'])}, and rows of one name are not used."
    ),
    "several-files": lambda _run, facts: (
        f"{facts['model']} is the name of different files with different graphs, so this may be the history of"
        f" different models: {_counted_files(facts['runs'])}. Give each file a name of its own."
    ),
    "unsearched": lambda run, facts: f"{plain(run)} {UNSEARCHED_TEXTS[facts['reason']]}",
}

DIFFERENCE_TEXTS: Mapping[DifferenceKind, str] = {
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

_OPEN: Mapping[ConditionOutcome, str] = {"undecided": "undecided", "not-met": "not met, but cannot be ruled out"}
_REACHES = "the interval reaches beyond the limit"

OBSTACLE_TEXTS: Mapping[ObstacleCode, Callable[[Mapping[str, Any]], str]] = {
    "other-machine": lambda _facts: "this is not the machine that it was measured on",
    "other-software": lambda facts: f"other versions are installed now: {listing(facts['names'])}",
    "other-confinement": lambda facts: (
        f"{confinement_change(is_set=facts['is_set'])}:"
        f" {'unset it' if facts['is_set'] else 'set it to 1'} to measure as it was measured"
    ),
    "model-changed": lambda facts: f"the graph of {listing(facts['names'])} is not the one that was measured",
    "own-code": lambda facts: (
        f"the stored plan would run code: {_as_written('; '.join(facts['code']))} (read it, then allow it with"
        " --allow-own-code)"
    ),
    "not-repeatable": lambda facts: f"{facts['message']} {facts['hint']}".strip(),
    "interrupted": lambda _facts: "it was interrupted",
}


def problem_text(problem: Problem) -> str:
    """Return what is wrong with a run, in a sentence."""
    return PROBLEM_TEXTS[problem.code](problem.run, problem.facts)


def obstacle_text(obstacle: Obstacle) -> str:
    """Return why nothing was measured again, as the rest of a sentence."""
    return OBSTACLE_TEXTS[obstacle.code](obstacle.facts)


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
    is_open = checked.outcome in ("undecided", "not-met") and not checked.excluded
    if not is_open or checked.change is None:
        return CONDITION_TEXTS[checked.outcome]
    if not checked.change.has_interval:
        return f"{_OPEN[checked.outcome]}: {_WITHOUT_INTERVAL[checked.change.counted]}"
    return CONDITION_TEXTS["undecided"] if checked.outcome == "undecided" else f"{_OPEN['not-met']}: {_REACHES}"


def change_text(change: Change, *, relative: bool = True) -> str:
    """Return ``37.1 ms → 39.4 ms, +6.1 % [+3.0 %, +8.2 %]``, the change in the figure's unit unless ``relative``."""
    fraction = change.relative if relative else None
    shift = fraction or change.difference
    shown = signed_percent if fraction is not None else partial(_signed_amount, unit=change.unit)
    values = f"{amount(change.base, change.unit)} → {amount(change.new, change.unit)}"
    return f"{values}, {shown(shift.value)}{_interval(shift, shown, exact=change.exact)}"


def signed_percent(fraction: float) -> str:
    """Return ``+5.2 %``; whole percents from 100 on."""
    return f"{100 * fraction:+.1f} %" if abs(fraction) < 1 else f"{100 * fraction:+.0f} %"


def amount(value: float | None, unit: Unit) -> str:
    """Return a figure with its unit: ``37.1 ms``, ``310 MB``."""
    if value is None:
        return NOT_MEASURED
    if unit == "bytes":
        return f"{significant(value / 1e6)} MB"
    return f"{significant(value)} {unit.replace('fps', 'FPS')}".rstrip()


def _signed_amount(value: float, unit: Unit) -> str:
    return f"{'+' if value >= 0 else ''}{amount(value, unit)}"


def _counted_files(runs: Mapping[str, int]) -> str:
    return ", ".join(f"{source} ({plural(count, 'run')})" for source, count in runs.items())


def _interval(shift: Shift, shown: Callable[[float], str], *, exact: bool) -> str:
    if exact:
        return ""
    if shift.confidence is None:
        return " (no interval)"
    return f" [{shown(shift.low)}, {shown(shift.high)}]"


def _as_written(code: str) -> str:
    """Return code whole, with escapes in place of what a terminal would not show."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in code)


def _values(values: tuple[str, ...]) -> str:
    text = " or ".join(value.strip('"') for value in values)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"
