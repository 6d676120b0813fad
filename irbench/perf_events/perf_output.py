"""Read what ``perf stat -j`` writes, of any of its versions.

It is nearly JSON: an object for each event or metric, by version with numbers bare or quoted, with ``nan``, with a
comma before the closing brace, and with lines of metrics that belong to the event above. What is not counted is words
in place of a number.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

_OBJECT = re.compile(r"\{[^{}]*\}")
_TRAILING_COMMA = re.compile(r",\s*\}")
_NOT_A_NUMBER = re.compile(r":\s*-?(?:nan|inf)\b", re.IGNORECASE)
_KINDS = r"cpu_core|cpu_atom|armv\w+|apple_\w+"
_OF_CORE = re.compile(rf"(?:cpu|{_KINDS})/(?P<name>[^/=]+)/(?P<modifiers>\w*)")
_KIND_OF_EVENT = re.compile(rf"({_KINDS})/")
_KIND_OF_GROUP = re.compile(rf"\(({_KINDS})\)$")
_USER_ONLY = re.compile(r"(?:/|:)[a-jl-zA-Z]*u[a-jl-zA-Z]*$")

_NEEDED = ("Area", "Value", "Unit")


@dataclass(frozen=True)
class EventCount:
    """What an event came to.

    Attributes:
        value: The count, in milliseconds for the clocks; ``None`` where it was not counted or is not supported.
        running_share: Share of the time in which it was wanted that it was on a counter; below 1 perf has scaled it.
        is_supported: Whether this machine can count it at all.
    """

    value: float | None
    running_share: float = 1.0
    is_supported: bool = True


@dataclass(frozen=True)
class PerfReading:
    """One reading of all counters.

    Attributes:
        events: By the name that perf wrote; where there are several kinds of cores, one for each of them.
        metrics: What perf computed itself, by its own name, in its own unit; ``None`` for what is not a number. Where
            there are several kinds of cores, the name is that of :func:`of_kind`.
    """

    events: Mapping[str, EventCount] = field(default_factory=dict[str, EventCount])
    metrics: Mapping[str, tuple[float | None, str]] = field(default_factory=dict[str, tuple[float | None, str]])

    def count(self, names: Collection[str]) -> EventCount:
        """Return the sum over the names that perf writes for one event; no value where none of them is there."""
        return _sum([self.events[name] for name in names if name in self.events])


def read_perf(text: str) -> PerfReading:
    """Return the counts of an output without intervals."""
    return _reading(tuple(_objects(text)))


def read_intervals(text: str) -> tuple[tuple[float, PerfReading], ...]:
    """Return the readings of an output with intervals (``-I``), each with its end in seconds."""
    by_end: dict[float, list[Mapping[str, Any]]] = {}
    for line in _objects(text):
        end_s = _number(line.get("interval"))
        if end_s is not None:
            by_end.setdefault(end_s, []).append(line)
    return tuple((end_s, _reading(tuple(lines))) for end_s, lines in by_end.items())


def matching_names(event: str, reported: Collection[str]) -> tuple[str, ...]:
    """Return which of perf's names mean an event: several where it has one for each kind of core.

    perf writes ``cycles`` as ``cpu_core/cycles/`` and ``cpu_atom/cycles/`` where there are two kinds of cores, and adds
    a ``u`` where it may count user space alone. Nothing else is the same event: ``cycles:k`` is not ``cycles``.
    """
    added = "u" if "/" in event or ":" in event else ":u"
    for spelling in (event, event + added):
        for written in (str, _of_all_cores):
            names = _equal(spelling, reported, written)
            if names:
                return names
    return ()


def of_kind(name: str, kind: str) -> str:
    """Return a name with a kind of core as perf writes events, ``cpu_core/tma_retiring/``; as it is without a kind."""
    return f"{kind}/{name}/" if kind else name


def has_kind(event: str) -> bool:
    """Whether an event is that of one kind of core: ``cpu_atom/cycles/``."""
    return _KIND_OF_EVENT.match(event) is not None


def is_user_only(event: str) -> bool:
    """Whether the modifiers of an event leave out the kernel."""
    return _USER_ONLY.search(event) is not None


def _equal(spelling: str, reported: Collection[str], written: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(name for name in reported if written(name) == spelling)


def _of_all_cores(name: str) -> str:
    """Return a name as it is written without a kind of core: ``cpu_core/cycles/u`` is ``cycles:u``."""
    match = _OF_CORE.fullmatch(name)
    if match is None:
        return name
    return f"{match['name']}:{match['modifiers']}" if match["modifiers"] else match["name"]


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    for text_ in _OBJECT.findall(text):
        try:
            yield json.loads(_NOT_A_NUMBER.sub(": null", _TRAILING_COMMA.sub("}", text_)))
        except ValueError:
            continue  # what a later version writes besides


def _reading(lines: tuple[Mapping[str, Any], ...]) -> PerfReading:
    reported: dict[str, EventCount] = {}
    metrics: dict[str, tuple[float | None, str]] = {}
    kinds = _kinds(lines)
    are_several = len({*kinds} - {""}) > 1
    for line, kind in zip(lines, kinds, strict=True):
        if "event" in line and "counter-value" in line:
            reported.setdefault(str(line["event"]), _count(line))  # metrics name an event several times
        name, unit = _metric_name(line)
        if not name or (are_several and not kind):
            continue
        name = of_kind(name, kind if are_several else "")
        if metrics.get(name, (None, ""))[0] is None:
            metrics[name] = (_number(line.get("metric-value")), unit)
    return PerfReading(reported, metrics)


def _kinds(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the kind of core of each line; a metric is of the kind of the event, or of the group, above it."""
    kinds: list[str] = []
    for line in lines:
        if "event" in line:
            named = _KIND_OF_EVENT.match(str(line["event"]))
        elif "metricgroup" in line:
            named = _KIND_OF_GROUP.search(str(line["metricgroup"]))
        else:
            kinds.append(kinds[-1] if kinds else "")
            continue
        kinds.append(named[1] if named else "")
    return kinds


def _count(line: Mapping[str, Any]) -> EventCount:
    running = _number(line.get("pcnt-running"))
    share = 1.0 if running is None else running / 100
    value = _number(line["counter-value"])
    return EventCount(value, share, is_supported="not supported" not in str(line["counter-value"]))


def _metric_name(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return a metric's name and unit, which perf writes as one text: ``%  tma_retiring``."""
    text = line.get("metric-unit")
    if not isinstance(text, str) or text in ("", "(null)"):
        return "", ""
    unit, gap, name = text.partition("  ")
    return (name.strip(), unit.strip()) if gap else (text.strip(), "")


def _sum(counts: list[EventCount]) -> EventCount:
    """Return the sum over kinds of cores; a process that never ran on one of them has no count there."""
    if not counts:
        return EventCount(None)
    known = [count for count in counts if count.value is not None]
    if not known:
        return EventCount(None, 0.0, is_supported=any(count.is_supported for count in counts))
    return EventCount(sum(count.value or 0.0 for count in known), min(count.running_share for count in known))


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def read_toplev(text: str) -> dict[str, float]:
    """Return the share of slots of each node, from 0 to 1, by the node's name.

    The kinds of cores and the processors that toplev tells apart are weighted alike; one line is the rule, because it
    is attached to one process.
    """
    by_node: dict[str, list[float]] = {}
    for line in _lines(text):
        share = _share(line)
        if share is not None:
            by_node.setdefault(line["Area"], []).append(share)
    return {node: sum(shares) / len(shares) for node, shares in by_node.items()}


def _lines(text: str) -> Iterator[Mapping[str, str]]:
    rows = csv.reader(line for line in text.splitlines() if line and not line.startswith("#"))
    columns: Sequence[str] = ()
    for row in rows:
        if set(_NEEDED) <= set(row):
            columns = row
        elif columns and len(row) >= len(_NEEDED):
            yield dict(zip(columns, row, strict=False))


def _share(line: Mapping[str, str]) -> float | None:
    """Return a node's share; ``None`` for a metric that is not a share of slots, and where there is no number."""
    if not line.get("Unit", "").startswith("% Slots"):
        return None
    try:
        return float(line["Value"]) / 100
    except (KeyError, ValueError):
        return None


CountedPhase: TypeAlias = Literal["import", "compile", "warm_up", "inference"]
PHASE_TEXTS: Mapping[CountedPhase, str] = {
    "import": "import",
    "compile": "compile",
    "warm_up": "warm-up",
    "inference": "per inference",
}
PHASES: tuple[CountedPhase, ...] = ("import", "compile", "warm_up", "inference")
"""In the order of time; ``compile`` includes loading and the first inference."""

RATIOS: Mapping[str, tuple[str, str]] = {
    "ipc": ("instructions", "cycles"),
    "cache_miss_share": ("cache-misses", "cache-references"),
    "l1d_miss_share": ("L1-dcache-load-misses", "L1-dcache-loads"),
    "branch_miss_share": ("branch-misses", "branches"),
}
"""What is divided by what. Both are of the same launch and phase, so that what was counted beside cancels."""

_CLOCKS = ("task-clock", "cpu-clock")


def figures_of(
    events: Mapping[str, EventCount], shares: Mapping[str, float], inferences: int, requested: Collection[str]
) -> dict[str, float]:
    """Return the figures of one phase of one launch.

    Args:
        events: What was counted, by event.
        shares: Of the pipeline's slots, by name.
        inferences: That were made while the counters ran; 0 where the phase is not divided by them.
        requested: The events that the user asked for; others were counted for a formula only.

    Returns:
        Counts for each inference, or of the whole phase; ratios, and shares from 0 to 1. An event that was not counted
        has no figure, nor has a ratio with it.
    """
    counts = {name: count.value for name, count in events.items() if count.value is not None}
    figures = {name: counts[name] / max(1, inferences) for name in requested if name in counts}
    for name, (part, whole) in RATIOS.items():
        if part in requested and whole in requested and counts.get(whole) and part in counts:
            figures[name] = counts[part] / counts[whole]
    return {**figures, **shares}


def unit_of(figure: str, *, is_share: bool = False) -> str:
    """Return the unit of a figure: ``ms`` for clocks, ``share`` for shares from 0 to 1, empty for counts and IPC."""
    if figure in _CLOCKS:
        return "ms"
    return "share" if is_share or figure.endswith("_share") else ""
