"""Reduce the samples of one round to one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import Round, ns_per_completion

_SHORTEST_NS = 1e-3
"""Keeps logarithms finite where a clock is too coarse to see a call."""


def call_latency_ns(round_: Round, calls_per_sample: int) -> NDArray[np.float64]:
    """Return issue to completion of each call in nanoseconds; where a sample is several calls, their mean."""
    return round_.latency_ns / calls_per_sample


def time_per_completion_ns(round_: Round) -> float:
    """Return the wall time of a round's window over what completed in it, in nanoseconds per sample."""
    return ns_per_completion(round_.completion_ns)


def round_statistic_ns(round_: Round, calls_per_sample: int, *, by_completion: bool) -> float:
    """Return what one round says of its cell's speed, in nanoseconds per call.

    Args:
        round_: The round.
        calls_per_sample: Calls that each of its samples lasts.
        by_completion: Compare by throughput rather than by the median latency: in groups with streams.
    """
    sample_ns = time_per_completion_ns(round_) if by_completion else float(np.median(round_.latency_ns))
    return max(sample_ns / calls_per_sample, _SHORTEST_NS)
