"""Calling a driver until its calls get no faster, within limits of time and calls."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import WarmUp
from irbench.measure.clock import Stopwatch
from irbench.measure.drive import Driver
from irbench.measure.ledger import Window
from irbench.spec import Timing
from irbench.stats.warm_up import Course, calls_of_later_launches, course_of
from irbench.worker.inference import Retries


def median_completion_ns(window: Window, streams: int) -> float:
    """Return the median time per completion over a window, in nanoseconds, at least 1.

    With streams it is taken over every ``streams`` completions in a row: requests that keep in step complete in
    bursts, between which the single gaps say nothing.

    ``window`` has at least ``streams`` samples.
    """
    return max(1.0, float(np.median(_over_streams(window, streams))) / streams)


def completion_times_ns(window: Window, streams: int) -> NDArray[np.float64]:
    """Return the time per completion of a window, one value for each sample, in nanoseconds, at least 1.

    With streams each is the mean over ``streams`` completions in a row; the first ones repeat the first of these.

    ``window`` has at least ``streams`` samples.
    """
    times_ns = _over_streams(window, streams) / streams
    every: NDArray[np.float64] = np.concatenate((np.full(streams - 1, times_ns[0]), times_ns))
    return np.maximum(1.0, every)


def _over_streams(window: Window, streams: int) -> NDArray[np.int64]:
    stamps = np.concatenate(([0], window.completion_ns))
    gaps_ns: NDArray[np.int64] = stamps[streams:] - stamps[:-streams]
    return gaps_ns


_FEWEST_WORTH_LOOKING = 100
"""A look that has no time for so many calls is not made: it would see little, and slow models would pay most for it."""


@dataclass(frozen=True)
class WarmUpRequest:
    """What a launch asks of a warm-up beyond what the protocol does.

    Attributes:
        most_s: Where the fewest calls that a warm-up has would take longer, judged by the first one, each slot is
            called once.
        look_s: For how long, in seconds from its beginning, it may go on to see whether calls get faster later; 0 does
            not look.
        calls: For how many calls it lasts at least.
        most_calls: How many it makes in the protocol's time at most, after the fewest.
    """

    most_s: float = math.inf
    look_s: float = 0.0
    calls: int = 0
    most_calls: float = math.inf


@dataclass
class Warming:
    """One warm-up."""

    driver: Driver
    streams: int
    timing: Timing
    request: WarmUpRequest
    retries: Retries
    _watch: Stopwatch = field(default_factory=Stopwatch)
    _times_ns: list[NDArray[np.float64]] = field(default_factory=list[NDArray[np.float64]])
    _calls: int = 0
    _least_s: float = 0.0

    def run(self, fewest: int) -> Window:
        """Call as often as ``fewest`` at least, and return the last calls."""
        window = self._drive(fewest)
        least = max(self.timing.warm_up_calls, self.request.calls)
        in_time = int(min(self._calls_in(self.timing.warm_up, window), self.request.most_calls))
        if max(in_time, least - self._calls) > 0:
            window = self._drive(max(fewest, in_time, least - self._calls - self.streams))
        self._least_s = self._watch.elapsed_s
        if self._is_worth_looking(window):
            window = self._look(fewest, window)
        return window

    def record(self) -> WarmUp:
        """Return what the warm-up was."""
        course = self._course()
        return WarmUp(
            calls=self._calls,
            judged=course is not None,
            steady_after=None if course is None else course.after,
            slower=0.0 if course is None else course.slower,
            refused=self.retries.refused,
        )

    def repeat_s(self, warm_up: WarmUp) -> float:
        """Return how long the warm-up of a later launch takes, in seconds, from what this one was."""
        return max(self._least_s, self._seconds_of(calls_of_later_launches(warm_up.steady_after or 0)))

    def _look(self, fewest: int, window: Window) -> Window:
        """Go on until as many calls as a look has were made and calls get no faster, or the time is over."""
        calls = self.timing.look_calls
        while (left := self._calls_in(self.request.look_s, window)) > 0:
            if self._calls >= calls:
                course = self._course()
                if course is not None and course.after is not None:
                    break
                calls = 2 * self._calls
            window = self._drive(max(fewest, min(left, calls - self._calls)))
        return window

    def _is_worth_looking(self, window: Window) -> bool:
        if self.retries.refused:  # what is looked for could not be seen
            return False
        return bool(self.request.look_s) and self._calls + self._calls_in(self.request.look_s, window) >= min(
            _FEWEST_WORTH_LOOKING, self.timing.look_calls
        )

    def _drive(self, samples: int) -> Window:
        window = self.driver.drive(samples)
        self._calls += samples + self.streams  # those that settle
        self._times_ns.append(completion_times_ns(window, self.streams))
        return window

    def _course(self) -> Course | None:
        """Return how the calls' times went on; ``None`` also where some of them are times of waiting."""
        if self.retries.refused:
            return None
        return course_of(np.concatenate(self._times_ns))

    def _calls_in(self, seconds: float, window: Window) -> int:
        """Return how many calls fit into what is left of so many seconds, as fast as those of a window."""
        left_ns = 1e9 * (seconds - self._watch.elapsed_s)
        return math.ceil(left_ns / median_completion_ns(window, self.streams)) if left_ns > 0 else 0

    def _seconds_of(self, calls: int) -> float:
        """Return how long so many first calls took, in seconds; those that were not made last as long as the last."""
        times_ns = np.concatenate(self._times_ns)
        more = max(0, calls - times_ns.size) * float(times_ns[-1])
        return (float(times_ns[:calls].sum()) + more) / 1e9
