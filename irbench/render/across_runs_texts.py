"""Words for what is found when stored runs are looked at together: problems, differences, conditions, obstacles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from irbench.across_runs.changes import FEWEST_RUNS, Change, Counted
from irbench.across_runs.comparison import RunComparison
from irbench.across_runs.conditions import CheckedCondition, ConditionOutcome, Unjudged, UnjudgedReason
from irbench.across_runs.confirmation import Obstacle, ObstacleCode
from irbench.across_runs.environments import Difference, DifferenceKind
from irbench.across_runs.problems import Problem, ProblemCode
from irbench.errors import ExitCode
from irbench.plain_text import plain
from irbench.quantities import listing, plural
from irbench.render.changes import amount, change_and_figures, signed_amount, signed_percent, signed_percent_end
from irbench.render.resume_texts import confinement_change
from irbench.render.unsearched_texts import UNSEARCHED_TEXTS
from irbench.spec import Timing
from irbench.stats.two_samples import Shift

_LONGEST_VALUE = 60
_FEWEST_LAUNCHES = Timing().min_launches
_WITHOUT_INTERVAL: Mapping[Counted, str] = {
    "launches": f"an interval takes {_FEWEST_LAUNCHES} launches on both sides",
    "pairs": f"an interval takes {_FEWEST_LAUNCHES} launches of both side by side",
    "runs": f"it takes {2 * FEWEST_RUNS} runs, of which the oldest and the newest {FEWEST_RUNS} are compared",
    "values": f"there is one value a run, and an interval takes {FEWEST_RUNS} runs on both sides",
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

_REACHES = "not met, but cannot be ruled out: the interval reaches beyond the limit"

_BUSY = f"the machine was busy on {{side}}, which may hide the change; {FEWEST_RUNS} runs on both sides decide"
_LOAD = f"met, but the machine was busy on {{side}}, which may be the reason; {FEWEST_RUNS} runs on both sides decide"
UNJUDGED_TEXTS: Mapping[UnjudgedReason, Callable[[Change | None], str]] = {
    "too-few": lambda change: "" if change is None else _WITHOUT_INTERVAL[change.counted],
    "no-figure": lambda _change: "not measured on both sides",
    "base-busy": lambda _change: _BUSY.format(side="the older side"),
    "new-busy": lambda _change: _BUSY.format(side="the newer side"),
    "base-load": lambda _change: _LOAD.format(side="the older side"),
    "new-load": lambda _change: _LOAD.format(side="the newer side"),
    "row-missing": lambda _change: "no figures on the newer side",
    "not-repeated": lambda _change: "met, but undecided when measured again",
}
"""Why a condition could not be judged."""

OBSTACLE_TEXTS: Mapping[ObstacleCode, Callable[[Mapping[str, Any]], str]] = {
    "other-machine": lambda _facts: "this is not the machine that it was measured on",
    "other-software": lambda facts: f"other versions are installed now: {listing(facts['names'])}",
    "other-confinement": lambda facts: (
        f"{confinement_change(is_set=facts['is_set'])}:"
        f" {'unset it' if facts['is_set'] else 'set it to 1'} to measure as it was measured"
    ),
    "model-changed": lambda facts: f"the graph of {listing(facts['names'])} is not the one that was measured",
    "own-code": lambda facts: (
        f"the stored plan would run code or use files: {_as_written('; '.join(facts['code']))}"
        " (read it, then allow it with --allow-own-code)"
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
