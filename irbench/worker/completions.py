"""How long completions take, by the times at which a window's calls completed."""

from __future__ import annotations

import numpy as np

from irbench.measure.drive import Window

__all__ = ["median_completion_ns"]


def median_completion_ns(window: Window, streams: int) -> float:
    """Return the median time per completion over a window, in nanoseconds, at least 1.

    With streams it is taken over every ``streams`` completions in a row: requests that keep in step complete in
    bursts, between which the single gaps say nothing.

    Args:
        window: At least ``streams`` samples.
        streams: Inferences in flight.
    """
    stamps = np.concatenate(([0], window.completion_ns))
    return max(1.0, float(np.median(stamps[streams:] - stamps[:-streams])) / streams)
