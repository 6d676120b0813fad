"""What requests of one queue wait that arrive as a Poisson process and are answered one by one: pure functions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray


def md1_mean_ms(service_ms: float, rate_per_s: float) -> float:
    """Return the mean latency where each call takes equally long.

    Pollaczek and Khinchine: s + rho * s / (2 * (1 - rho)).
    """
    busy = rate_per_s * service_ms / 1e3
    return service_ms + busy * service_ms / (2 * (1 - busy))


def md1_percentile_ms(service_ms: float, rate_per_s: float, percent: float) -> float:
    """Return a percentile of the latency where each call takes equally long; halves until it is exact to 1e-6 ms."""
    low, high = 0.0, service_ms
    while _waits_at_most(service_ms, rate_per_s, high) < percent / 100:
        low, high = high, 2 * high
    while high - low > 1e-6:
        middle = (low + high) / 2
        if _waits_at_most(service_ms, rate_per_s, middle) < percent / 100:
            low = middle
        else:
            high = middle
    return service_ms + high


def _waits_at_most(service_ms: float, rate_per_s: float, wait_ms: float) -> float:
    """Return the share of requests that wait no longer in M/D/1: Erlang, 1909.

    Its terms alternate in sign and are far larger than their sum: doubles would lose it.
    """
    with localcontext(prec=200):
        service, wait, per_ms = Decimal(service_ms), Decimal(wait_ms), Decimal(rate_per_s) / 1000
        total = Decimal(0)
        for ahead in range(math.floor(wait_ms / service_ms) + 1):
            exponent = per_ms * (wait - ahead * service)
            power = (-exponent) ** ahead if ahead else Decimal(1)
            total += power * exponent.exp() / math.factorial(ahead)
        return float((1 - per_ms * service) * total)


def latencies_ms(due_ms: NDArray[np.float64], service_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how long each request takes from when it is due, by Lindley's recursion.

    Args:
        due_ms: When requests are due, ascending, float64, one for each request.
        service_ms: How long the call of each lasts, float64, equally many.
    """
    work_ms = np.cumsum(service_ms)
    return work_ms + np.maximum.accumulate(due_ms - (work_ms - service_ms)) - due_ms
