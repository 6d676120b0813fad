"""When calls stop getting faster: the rule that ends a warm-up.

A process is slow from its first call on until it is warm, however many calls that takes: a just-in-time compiler,
caches that fill, kernels that are chosen by timing them. The rule therefore looks for one thing only: calls that are
slower than the last ones *from the beginning on*. What slows calls for a while later, as other programs do, is no
warm-up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST_JUDGED", "Course", "calls_of_later_launches", "course_of"]

FEWEST_JUDGED = 24
"""Of fewer calls nothing is said."""
_MOST_CHUNKS = 24
_FEWEST_IN_CHUNK = 4
_MATTERS = 0.05
"""Calls that are slower by less are warm."""
_NOISE = 4.0
"""How many standard deviations of a chunk's median calls must be slower by."""
_NORMAL_MAD = 1.4826
"""A standard deviation is so many median absolute deviations, of normally distributed values."""
_TAIL = 0.25
"""The share of calls at the end that must be as fast as the last ones."""
_MARGIN = 1.25
"""By how much later launches exceed the calls that the first one needed."""


@dataclass(frozen=True)
class Course:
    """How the times of a warm-up's calls went on.

    Attributes:
        after: After how many calls they got no faster; 0 where none was slower, ``None`` where they still did.
        slower: By how much the calls before were slower than the last ones, as a fraction; 0 where none was.
    """

    after: int | None
    slower: float


def course_of(times_ns: NDArray[np.float64]) -> Course | None:
    """Return when calls got no faster; ``None`` for fewer than :data:`FEWEST_JUDGED`.

    Medians of up to 24 chunks, on a logarithmic scale. The level of the end is the lower of the medians of the last
    quarter and of the last eighth. A chunk is slow where it lies above that by 5 % and by four standard deviations of a
    chunk, which are taken from differences of neighbours, so that a step does not count as noise. The warm-up ends with
    the last slow chunk up to which most chunks were slow.

    Args:
        times_ns: Time per call in the order of calls, all above 0.
    """
    calls = times_ns.size
    if calls < FEWEST_JUDGED:
        return None
    parts = np.array_split(np.log(times_ns), min(_MOST_CHUNKS, calls // _FEWEST_IN_CHUNK))
    levels = np.array([np.median(part) for part in parts])
    end = min(_end(levels, _TAIL), _end(levels, _TAIL / 2))
    noise = _NORMAL_MAD * float(np.median(np.abs(np.diff(levels)))) / math.sqrt(2)
    limit = end + max(math.log1p(_MATTERS), _NOISE * noise)
    slow = [
        number
        for number in range(len(parts))
        if levels[number] > limit and float(np.median(levels[: number + 1])) > limit
    ]
    if not slow:
        return Course(0, 0.0)
    after = sum(part.size for part in parts[: slow[-1] + 1])
    slower = math.expm1(float(np.median(levels[: slow[-1] + 1])) - end)
    return Course(after if after <= (1 - _TAIL) * calls else None, slower)


def calls_of_later_launches(after: int) -> int:
    """Return for how many calls later launches warm up where the first one was warm after so many."""
    return math.ceil(_MARGIN * after)


def _end(levels: NDArray[np.float64], share: float) -> float:
    return float(np.median(levels[-max(2, round(share * levels.size)) :]))
