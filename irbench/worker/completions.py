"""How long completions take, by the times at which a window's calls completed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from irbench.measure.ledger import Window


def median_completion_ns(window: Window, streams: int) -> float:
    """Return the median time per completion over a window, in nanoseconds, at least 1.

    With streams it is taken over every ``streams`` completions in a row: requests that keep in step complete in
    bursts, between which the single gaps say nothing.

    Args:
        window: At least ``streams`` samples.
        streams: Inferences in flight.
    """
    return max(1.0, float(np.median(_over_streams(window, streams))) / streams)


def completion_times_ns(window: Window, streams: int) -> NDArray[np.float64]:
    """Return the time per completion of a window, one value for each sample, in nanoseconds, at least 1.

    With streams each is the mean over ``streams`` completions in a row; the first ones repeat the first of these.

    Args:
        window: At least ``streams`` samples.
        streams: Inferences in flight.
    """
    times_ns = _over_streams(window, streams) / streams
    every: NDArray[np.float64] = np.concatenate((np.full(streams - 1, times_ns[0]), times_ns))
    return np.maximum(1.0, every)


def _over_streams(window: Window, streams: int) -> NDArray[np.int64]:
    stamps = np.concatenate(([0], window.completion_ns))
    gaps_ns: NDArray[np.int64] = stamps[streams:] - stamps[:-streams]
    return gaps_ns
