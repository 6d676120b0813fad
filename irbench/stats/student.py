"""Student's distribution, which the mean of few values follows in units of its standard error."""

from __future__ import annotations

import math


def student_quantile(probability: float, freedom: int) -> float:
    """Return the value below which Student's t lies with a probability from 0.5 on, below 1; exact to 1e-9 of it.

    Args:
        probability: At least 0.5.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < 2 * probability - 1:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 2 * probability - 1 else (low, middle)
    return high


def _within(value: float, freedom: int) -> float:
    """Return the probability of lying between -value and value: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(freedom))
    odd = freedom % 2
    power = math.cos(angle) if odd else 1.0
    term = total = power if freedom > 1 else 0.0
    for place in range(2 + odd, freedom, 2):
        term *= math.cos(angle) ** 2 * (place - 1) / place
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
