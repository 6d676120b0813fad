"""When calls stop getting faster: the rule that ends a warm-up.

A process is slow from its first call on until it is warm, however many calls that takes: a just-in-time compiler,
caches that fill, kernels that are chosen by timing them. The rule therefore looks for one thing only: calls that are
slower than the last ones *from the beginning on*. What slows calls for a while later, as other programs do, is not
warm-up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
_STILL_FALLS = 0.4
"""The first half of the calls after the warm-up may be slower than the second by this share of what is slow."""
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
    chunk, which are taken from second differences, so that neither a step nor a steady fall counts as noise. The
    warm-up ends with the last slow chunk up to which most chunks were slow, unless the calls after it still get faster.
    """
    calls = times_ns.size
    if calls < FEWEST_JUDGED:
        return None
    logarithms = np.log(times_ns)
    parts = np.array_split(logarithms, min(_MOST_CHUNKS, calls // _FEWEST_IN_CHUNK))
    levels = np.array([np.median(part) for part in parts])
    end = min(_end(levels, _TAIL), _end(levels, _TAIL / 2))
    noise = _NORMAL_MAD * float(np.median(np.abs(np.diff(levels, n=2)))) / math.sqrt(6)
    above = max(math.log1p(_MATTERS), _NOISE * noise)
    slow = [
        number
        for number in range(len(parts))
        if levels[number] > end + above and float(np.median(levels[: number + 1])) > end + above
    ]
    chunks = slow[-1] + 1 if slow else 0
    after = sum(part.size for part in parts[:chunks])
    slower = math.expm1(float(np.median(levels[:chunks])) - end) if slow else 0.0
    is_steady = after <= (1 - _TAIL) * calls and not _falls(logarithms[after:], above)
    return Course(after if is_steady else None, slower)


def _falls(times: NDArray[np.float64], above: float) -> bool:
    """Whether the calls after the last slow chunk go on to get faster.

    All of them lie within ``above`` of the end, however slowly calls get faster. So what falls in a straight line falls
    by half of that from the first half of these calls to the second, and what comes to rest by less.

    Args:
        times: Logarithms of the times of these calls.
        above: By how much a chunk must exceed the end to be slow, as a logarithm.
    """
    first, second = np.array_split(times, 2)
    return float(np.median(first) - np.median(second)) > _STILL_FALLS * above


def calls_of_later_launches(after: int) -> int:
    """Return for how many calls later launches warm up where the first one was warm after so many."""
    return math.ceil(_MARGIN * after)


def _end(levels: NDArray[np.float64], share: float) -> float:
    return float(np.median(levels[-max(2, round(share * levels.size)) :]))
