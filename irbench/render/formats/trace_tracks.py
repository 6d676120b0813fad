"""Tracks of a trace: which slices of a thread are drawn in one row.

Viewers take slices of a row for calls and what they call: these nest, or one ends before the next begins. Times of
operators are without what is nested in them, so drawn from their start they may end in the middle of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Slice:
    """What is drawn of one execution of an operator.

    Attributes:
        operator: Place of the operator in its cell.
        thread: Number of its thread or queue; 0 where it is unknown.
        start_ns: Since the inference's first operator.
        end_ns: Later than its start.
        is_overhead: Whether this is the runtime's own work.
    """

    operator: int
    thread: int
    start_ns: int
    end_ns: int
    is_overhead: bool = False


@dataclass(frozen=True)
class Track:
    """One row of a trace, in which slices nest or are disjoint.

    Attributes:
        number: Unique in its trace's process; the first row of a thread's operators has the thread's number.
        name: What the viewer calls it.
        slices: By their start, enclosing ones first.
    """

    number: int
    name: str
    slices: tuple[Slice, ...]


def tracks_of(slices: Iterable[Slice]) -> tuple[Track, ...]:
    """Return the rows of all threads: of each its operators, then the runtime's own work.

    A thread has as many rows as its slices need.

    Args:
        slices: Of one cell.
    """
    found = list(slices)
    threads = sorted({each.thread for each in found})
    following = max(threads, default=0) + 1
    tracks: list[Track] = []
    for thread in threads:
        for is_overhead in (False, True):
            own = [each for each in found if (each.thread, each.is_overhead) == (thread, is_overhead)]
            for place, row in enumerate(_rows(own)):
                is_first = not (place or is_overhead)
                number = thread if is_first else following
                following += not is_first
                tracks.append(Track(number, _name(thread, place, is_overhead=is_overhead), tuple(row)))
    return tuple(tracks)


def _name(thread: int, place: int, *, is_overhead: bool) -> str:
    whose = f"thread {thread}: runtime's own time" if is_overhead else f"thread {thread}"
    return f"{whose} ({place + 1})" if place else whose


@dataclass
class _Row:
    slices: list[Slice] = field(default_factory=list[Slice])
    open_: list[Slice] = field(default_factory=list[Slice])

    def takes(self, new: Slice) -> bool:
        """Add a slice that begins no earlier than all before, unless it would end in the middle of another."""
        while self.open_ and self.open_[-1].end_ns <= new.start_ns:
            self.open_.pop()
        if self.open_ and self.open_[-1].end_ns < new.end_ns:
            return False
        self.open_.append(new)
        self.slices.append(new)
        return True


def _rows(slices: Sequence[Slice]) -> list[list[Slice]]:
    rows: list[_Row] = []
    for each in sorted(slices, key=lambda each: (each.start_ns, -each.end_ns)):
        if not any(row.takes(each) for row in rows):
            rows.append(_Row())
            rows[-1].takes(each)
    return [row.slices for row in rows]
