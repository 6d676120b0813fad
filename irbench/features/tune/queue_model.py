"""How high a rate of requests calls of a known length can be given, as far as a queue of them can tell.

A search measures calls back to back. A setting with the most samples per second need not hold the highest rate of
requests: where its calls are half as long as a service level allows, a request that waits for one of them is too late.
So a queue of calls that all take equally long is given requests of a Poisson process, the same ones for all settings,
at the rates of a bisection. It tells which settings are worth serving real requests; what they hold is measured.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

_REQUESTS = 4000
"""Of a load in the model: the slowest hundredth of it is 40 of them."""
_LOWEST = 1 / 64
"""The lowest share that is told apart from none."""
_HALVINGS = 7
_DIGITS = 2


def held_share(slots: int, batch: int, call_ms: float, wait_ms: float, percentile: float, limit_ms: float) -> float:
    """Return which share of its throughput a process can be loaded with so that its requests keep a service level.

    Args:
        slots: Calls in flight at most.
        batch: Requests that a call answers at most; it takes as long with fewer.
        call_ms: How long calls take that are side by side.
        wait_ms: How long a call waits for its batch to be full, from the arrival of its first request.
        percentile: Of the latency of requests, from 0 to 100.
        limit_ms: What it must not exceed.

    Returns:
        From 1/64, also where none is held, to 1.
    """
    return _share(slots, batch, round(call_ms / limit_ms, _DIGITS), round(wait_ms / limit_ms, _DIGITS), percentile)


@lru_cache(maxsize=4096)
def _share(slots: int, batch: int, call: float, wait: float, percentile: float) -> float:
    """Return the same with times as shares of the limit."""
    if call <= 0:
        return 1.0
    low, high = math.log(_LOWEST), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rate = math.exp(middle) * slots * batch / call
        latencies = request_latencies(_arrivals() / rate, slots, batch, call, wait)
        low, high = (middle, high) if np.percentile(latencies, percentile) <= 1 else (low, middle)
    return math.exp(low)


def request_latencies(
    due: NDArray[np.float64], slots: int, batch: int, call: float, wait: float = 0.0
) -> NDArray[np.float64]:
    """Return what each request takes from when it is due to its answer, in the unit of the arguments, float64.

    Args:
        due: When requests are due, ascending.
        slots: Calls in flight at most; the one that is free first takes the requests that wait.
        batch: Requests that a call answers at most.
        call: How long each call takes.
        wait: How long a call waits for its batch to be full, from when its first request was due.
    """
    arrivals: Sequence[float] = due.tolist()
    free, ends = [0.0] * slots, np.empty(due.size)
    first = 0
    while first < due.size:
        full = arrivals[first + batch - 1] if first + batch <= due.size else math.inf
        start = max(free[0], arrivals[first], min(full, arrivals[first] + wait))
        following = bisect_right(arrivals, start, first + 1, min(first + batch, due.size))
        ends[first:following] = start + call
        heapreplace(free, start + call)
        first = following
    latencies: NDArray[np.float64] = ends - due
    return latencies


@lru_cache(maxsize=1)
def _arrivals() -> NDArray[np.float64]:
    return np.cumsum(np.random.default_rng(0).exponential(1.0, _REQUESTS))
