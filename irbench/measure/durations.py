"""What a program that times itself writes, read as durations, and the timed window that they make."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irbench.errors import IrbenchError
from irbench.measure.ledger import Window

_UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_NUMBER = re.compile(
    r"([-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?))\s*(ns|us|µs|ms|s)?", re.IGNORECASE
)
_USUAL_UNIT = "ms"
_TOTAL = "total_"
_LONGEST_SHOWN = 60
_TOLERANCE, _TOLERANCE_NS = 1.02, 1_000_000
"""Two clocks may differ by so much, and writing a line takes time."""

_HOW_TO_WRITE = (
    'A line on standard output is a duration such as 12.5 ms, or JSON such as {"ms": [12.5, 12.4]}; everything else'
    " belongs on standard error."
)


class BadDurations(IrbenchError):
    """A program wrote no durations, or ones that cannot be."""

    def __init__(self, message: str, hint: str = _HOW_TO_WRITE) -> None:
        super().__init__(message, hint=hint)


@dataclass(frozen=True)
class Durations:
    """What one line holds.

    Attributes:
        calls_ns: Duration of each call, in nanoseconds; at least one.
        total_ns: From the beginning of the first to the end of the last of them, where the line tells.
    """

    calls_ns: tuple[int, ...]
    total_ns: int | None = None


def parse_durations(line: str) -> Durations:
    """Return the durations in a line: a number with its unit, or JSON.

    Units are ``ns``, ``us``, ``ms`` and ``s``; a number without one is in milliseconds. JSON is a number, a list of
    them, or an object with either under the name of the unit, and maybe a ``total_`` of the same unit.

    Raises:
        BadDurations: It holds none, or one that is not above 0.
    """
    text = line.strip()
    match = _NUMBER.fullmatch(text)
    if match is not None:
        return Durations((_nanoseconds(float(match[1]), (match[2] or _USUAL_UNIT).lower(), text),))
    try:
        value = json.loads(text)
    except ValueError:
        raise BadDurations(f"It wrote {_shown(text)} in place of a duration.") from None
    return _of_object(value, text) if isinstance(value, dict) else Durations(_of_list(value, _USUAL_UNIT, text))


def window_of(calls: Sequence[Durations]) -> Window:
    """Return a timed window of calls that a program timed itself.

    Calls follow each other without gaps, as they do for who waits for them. Where the program tells how long all took
    together, that is how long the window is, and completions are spread over it evenly: nobody saw when they were.
    """
    latencies = np.array([duration for line in calls for duration in line.calls_ns], np.int64)
    if len(calls) == 1 and calls[0].total_ns is not None:
        completion = np.rint(calls[0].total_ns * np.arange(1, latencies.size + 1) / latencies.size).astype(np.int64)
    else:
        completion = np.cumsum(latencies)
    return Window(completion - latencies, completion)


def require_within(window: Window, elapsed_ns: int) -> None:
    """Refuse durations that add up to more than the time that passed."""
    reported_ns = int(window.completion_ns[-1])
    if reported_ns > _TOLERANCE * elapsed_ns + _TOLERANCE_NS:
        raise BadDurations(
            f"Its durations add up to {reported_ns / 1e6:.4g} ms, but only {elapsed_ns / 1e6:.4g} ms passed.",
            "A number without a unit is in milliseconds. Write and flush a line as soon as its call has ended.",
        )


def _of_object(value: dict[str, Any], text: str) -> Durations:
    units = [unit for unit in _UNITS_NS if unit in value]
    if len(units) != 1:
        raise BadDurations(f"It wrote {_shown(text)}, which has no duration, or several.")
    (unit,) = units
    calls_ns = _of_list(value[unit], unit, text)
    total = value.get(f"{_TOTAL}{unit}")
    if total is None:
        return Durations(calls_ns)
    if isinstance(total, list):
        raise BadDurations(f"It wrote {_shown(text)}: the total is one number.")
    return Durations(calls_ns, *_of_list(total, unit, text))


def _of_list(value: Any, unit: str, text: str) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(item, bool) or not isinstance(item, int | float) for item in values):
        raise BadDurations(f"It wrote {_shown(text)} in place of durations.")
    return tuple(_nanoseconds(item, unit, text) for item in values)


def _nanoseconds(value: float, unit: str, text: str) -> int:
    ns = value * _UNITS_NS[unit]
    if not (math.isfinite(ns) and ns > 0):
        raise BadDurations(f"It wrote {_shown(text)}: a duration is a number above 0.")
    return max(1, round(ns))


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")
