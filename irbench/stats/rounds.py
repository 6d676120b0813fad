"""From the samples of one round to one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from irbench.record import Round

__all__ = ["call_latency_ns", "round_statistic_ns", "time_per_completion_ns"]

_SHORTEST_NS = 1e-3
"""Keeps logarithms finite where a clock is too coarse to see a call."""


def call_latency_ns(one: Round, calls_per_sample: int) -> NDArray[np.float64]:
    """Return issue to completion of each call in nanoseconds; where a sample is several calls, their mean."""
    return one.latency_ns / calls_per_sample


def time_per_completion_ns(one: Round, streams: int) -> float:
    """Return the median time between completions of a round, in nanoseconds.

    With s streams it is the median over i of (c[i+s] - c[i]) / s: whatever the order in which s requests
    complete, each span holds every stream about once, so that bursts of simultaneous completions do not show.
    The window opens at a completion too, which is therefore the first of the c. For one stream it is the
    median latency of back-to-back calls.
    """
    completions = np.concatenate(([0], np.sort(one.completion_ns)))
    span = min(streams, completions.size - 1)
    return float(np.median(completions[span:] - completions[:-span])) / span


def round_statistic_ns(one: Round, streams: int, calls_per_sample: int, *, by_completion: bool) -> float:
    """Return what one round says of its cell's speed, in nanoseconds per call.

    Args:
        one: The round.
        streams: Inferences the cell keeps in flight.
        calls_per_sample: Calls that each of its samples lasts.
        by_completion: Compare by time per completion rather than latency: in groups with streams.
    """
    sample_ns = time_per_completion_ns(one, streams) if by_completion else float(np.median(one.latency_ns))
    return max(sample_ns / calls_per_sample, _SHORTEST_NS)
