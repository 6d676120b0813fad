"""Calling a driver until its calls get no faster, within limits of time and calls."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import WarmUp
from irbench.measure.clock import Stopwatch
from irbench.measure.drive import Driver
from irbench.measure.ledger import Window
from irbench.spec import Timing
from irbench.stats.warm_up import Course, calls_of_later_launches, course_of
from irbench.worker.inference import Retries

_Number = TypeVar("_Number", np.int64, np.float64)


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
    _window: Window = field(init=False)
    _watch: Stopwatch = field(default_factory=Stopwatch)
    _times_ns: list[NDArray[np.float64]] = field(default_factory=list[NDArray[np.float64]])
    _undisturbed: list[NDArray[np.bool_]] = field(default_factory=list[NDArray[np.bool_]])
    _calls: int = 0
    _least_s: float = 0.0

    def run(self, fewest: int) -> None:
        """Call as often as ``fewest`` at least."""
        self._drive(fewest)
        least = max(self.timing.warm_up_calls, self.request.calls)
        in_time = int(min(self._calls_in(self.timing.warm_up), self.request.most_calls))
        if max(in_time, least - self._calls) > 0:
            self._drive(max(fewest, in_time, least - self._calls - self.streams))
        self._least_s = self._watch.elapsed_s
        if self._is_worth_looking():
            self._look(fewest)

    @property
    def call_ns(self) -> float:
        """Median latency of the last calls, in nanoseconds, without those that waited for the server."""
        latencies_ns = self._window.completion_ns - self._window.issue_ns
        return float(np.median(_chosen(latencies_ns, self._undisturbed[-1])))

    @property
    def completion_ns(self) -> float:
        """Median time per completion of the last calls, in nanoseconds, without those that waited for the server."""
        if self._undisturbed[-1].all():
            return median_completion_ns(self._window, self.streams)
        return float(np.median(_chosen(self._times_ns[-1], self._undisturbed[-1])))

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

    def _look(self, fewest: int) -> None:
        """Go on until as many calls as a look has were made and calls get no faster, or the time is over."""
        calls = self.timing.look_calls
        while (left := self._calls_in(self.request.look_s)) > 0:
            if self._calls >= calls:
                course = self._course()
                if course is not None and course.after is not None:
                    break
                calls = 2 * self._calls
            self._drive(max(fewest, min(left, calls - self._calls)))

    def _is_worth_looking(self) -> bool:
        return bool(self.request.look_s) and self._calls + self._calls_in(self.request.look_s) >= min(
            _FEWEST_WORTH_LOOKING, self.timing.look_calls
        )

    def _drive(self, samples: int) -> None:
        settled = self.retries.answered + self.streams
        self._window = self.driver.drive(samples)
        timed = self._window.completion_ns.size  # of a command with streams a multiple of these
        self._calls += timed + self.streams  # those that settle
        self._times_ns.append(completion_times_ns(self._window, self.streams))
        self._undisturbed.append(self.retries.undisturbed(settled, timed, self.streams))

    def _course(self) -> Course | None:
        """Return how the times of the calls went on that did not wait; ``None`` where these are too few."""
        places = np.flatnonzero(np.concatenate(self._undisturbed))
        course = course_of(np.concatenate(self._times_ns)[places])
        if course is None or not course.after:
            return course
        return replace(course, after=int(places[course.after - 1]) + 1)

    def _calls_in(self, seconds: float) -> int:
        """Return how many calls fit into what is left of so many seconds, as fast as the last ones."""
        left_ns = 1e9 * (seconds - self._watch.elapsed_s)
        return math.ceil(left_ns / self.completion_ns) if left_ns > 0 else 0

    def _seconds_of(self, calls: int) -> float:
        """Return how long so many first calls took, in seconds; those that were not made last as long as the last.

        Those that waited for the server count as others do.
        """
        times_ns = _chosen(np.concatenate(self._times_ns), np.concatenate(self._undisturbed))
        more = max(0, calls - times_ns.size) * float(times_ns[-1])
        return (float(times_ns[:calls].sum()) + more) / 1e9


def _chosen(values: NDArray[_Number], wanted: NDArray[np.bool_]) -> NDArray[_Number]:
    """Return the wanted values, or all where none is."""
    return values[wanted] if wanted.any() else values
