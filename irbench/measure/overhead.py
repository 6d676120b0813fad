"""The overhead of irbench's synchronous loop per timed call, compared with bare loops."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from irbench.core.record import ns_per_completion
from irbench.measure.clock import now_ns
from irbench.measure.drive import Driver, make_driver
from irbench.spi import Feed, Outputs

_FEED: Feed = ()


@dataclass(frozen=True)
class Repeats:
    """One quantity, measured several times."""

    values_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        """The median over the repeats."""
        return statistics.median(self.values_ns)

    def beyond(self, other: Repeats) -> Repeats:
        """Return the differences to another quantity, repeat by repeat."""
        return Repeats(tuple(own - its for own, its in zip(self.values_ns, other.values_ns, strict=True)))


@dataclass(frozen=True)
class Overhead:
    """Nanoseconds per timed call of three loops that took turns in one process.

    Attributes:
        bare: A loop that reads the clock and stores the reading, and nothing else.
        calls: The same loop with ``stage``, ``run`` and ``fetch`` of a slot that does nothing.
        driver: irbench's synchronous driver with that slot, host arrays in and out.
    """

    bare: Repeats
    calls: Repeats
    driver: Repeats

    @property
    def cost(self) -> Repeats:
        """What the driver and the three empty calls add to a bare loop."""
        return self.driver.beyond(self.bare)


class NullSlot:
    """Does nothing, at once."""

    def stage(self, feed: Feed, /) -> None:
        """Take nothing."""

    def run(self) -> None:
        """Compute nothing."""

    def fetch(self) -> Outputs:
        """Return no output."""
        return ()


def measure_overhead(repeats: int = 401, calls: int = 1_000) -> Overhead:
    """Time the driver and both bare loops in turn, every other time in reverse order, after an untimed turn.

    Takes under a second. A turn lasts a fraction of a millisecond, so that few are disturbed and the
    median stands.
    """
    slot = NullSlot()
    driver = make_driver([slot], [_FEED], "copy")
    loops: list[Callable[[int], float]] = [
        _bare,
        lambda count: _bare_calls(slot, count),
        lambda count: _driven(driver, count),
    ]
    turns: list[list[float]] = [[] for _ in loops]
    for loop in loops:
        loop(calls)
    for repeat in range(repeats):
        for index in (0, 1, 2) if repeat % 2 == 0 else (2, 1, 0):
            turns[index].append(loops[index](calls))
    return Overhead(*(Repeats(tuple(values)) for values in turns))


def _bare(count: int) -> float:
    stamps = [0] * (count + 1)
    stamps[0] = now_ns()
    for index in range(1, count + 1):
        stamps[index] = now_ns()
    return (stamps[-1] - stamps[0]) / count


def _bare_calls(slot: NullSlot, count: int) -> float:
    stage, run, fetch = slot.stage, slot.run, slot.fetch
    stamps = [0] * (count + 1)
    stamps[0] = now_ns()
    for index in range(1, count + 1):
        stage(_FEED)
        run()
        fetch()
        stamps[index] = now_ns()
    return (stamps[-1] - stamps[0]) / count


def _driven(driver: Driver, count: int) -> float:
    return ns_per_completion(driver.drive(count).completion_ns)
