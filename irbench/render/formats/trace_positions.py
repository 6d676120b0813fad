"""Where the spans of a launch lie in time, as far as that is known.

A launch's file holds how long each block and round took, in which order the rounds of a block ran, and when each call
of a round was issued and completed from the opening of the round's timed window. It does not hold when a block, a round
or a window began. So blocks are laid end to end, the rounds of a block too, from its beginning, and a window ends where
its round ends. Phases before the first block are laid end to end for each row from the beginning of the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irbench.record import BlockEvidence, CellLaunch, LaunchRecord, Round
from irbench.stats.observed import Blocks

_PHASES = ("import", "load", "compile", "first_inference", "new_shape", "warm_up")
"""In the order of time."""

BLOCKS = ""
"""The id of the track that shows blocks rather than a row."""


@dataclass(frozen=True)
class Track:
    """A line of the picture: a row, and which of its requests in flight.

    Attributes:
        cell: The row's id, or :data:`BLOCKS`.
        lane: Counted from 0.
    """

    cell: str
    lane: int = 0


@dataclass(frozen=True)
class Span:
    """Something that took time.

    Attributes:
        name: What it is.
        category: ``phase``, ``block``, ``round``, ``call``, ``tail``, ``paced`` or ``sustained``.
        track: Where it is drawn.
        start_ns: From the beginning of the launch.
        duration_ns: How long it took; measured, wherever it lies.
        facts: What else is known of it.
    """

    name: str
    category: str
    track: Track
    start_ns: int
    duration_ns: int
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def end_ns(self) -> int:
        """Where it ends, from the beginning of the launch."""
        return self.start_ns + self.duration_ns


def launch_spans(record: LaunchRecord, blocks: Blocks, in_flight: Mapping[str, int]) -> Iterator[Span]:
    """Yield the spans of a launch.

    Args:
        record: The launch.
        blocks: Which of its blocks were disturbed, and which count.
        in_flight: How many requests each row keeps in flight, by its id.
    """
    end_ns = 0
    for cell in record.cells:
        for span in _phases(cell):
            end_ns = max(end_ns, span.end_ns)
            yield span
    for block in record.blocks:
        spans = list(_block(record, block, blocks, end_ns))
        end_ns = max(span.end_ns for span in spans if span.category in ("block", "round"))
        yield from spans
    for cell in record.cells:
        for span in _alone(cell, in_flight.get(cell.cell, 1), end_ns):
            end_ns = max(end_ns, span.end_ns)
            yield span
    for run in record.sustained:
        facts = {"completions": run.completions}
        yield Span("sustained run", "sustained", Track(run.cell), end_ns, run.wall_ns, facts)
        end_ns += run.wall_ns


def lanes_of(issue_ns: Sequence[int], completion_ns: Sequence[int]) -> list[int]:
    """Return a lane for each request, so that those of a lane do not overlap and there are as few lanes as can be.

    Which stream a request ran on is not known; how many were in flight is.
    """
    lanes, free_at_ns = [0] * len(issue_ns), list[int]()
    for index in sorted(range(len(issue_ns)), key=lambda index: issue_ns[index]):
        fitting = (lane for lane, free in enumerate(free_at_ns) if free <= issue_ns[index])
        lane = next(fitting, len(free_at_ns))
        if lane == len(free_at_ns):
            free_at_ns.append(0)
        free_at_ns[lane], lanes[index] = completion_ns[index], lane
    return lanes


def _phases(cell: CellLaunch) -> Iterator[Span]:
    start_ns = 0
    for phase in _PHASES:
        if phase in cell.phases_ns:
            yield Span(phase.replace("_", " "), "phase", Track(cell.cell), start_ns, cell.phases_ns[phase])
            start_ns += cell.phases_ns[phase]


def _block(record: LaunchRecord, block: BlockEvidence, blocks: Blocks, start_ns: int) -> Iterator[Span]:
    state = {"disturbed": block.block in blocks.dirty, "counts": block.block in blocks.counted}
    facts = {
        **state,
        "foreign_cpu_ns": block.foreign_cpu_ns,
        "throttled_ns": block.throttled_ns,
        "steal_ns": block.steal_ns,
    }
    yield Span(f"block {block.block}", "block", Track(BLOCKS), start_ns, block.wall_ns, facts)
    rounds = {cell.cell: (cell, found) for cell in record.cells for found in cell.rounds if found.block == block.block}
    for name in block.order:
        if name in rounds:
            cell, round_ = rounds[name]
            yield from _round(cell, round_, state, start_ns)
            start_ns += _wall_ns(round_)


def _wall_ns(round_: Round) -> int:
    """Return how long a round lasted, its earliest request included."""
    return max(round_.evidence.wall_ns, int(round_.completion_ns[-1] - min(0, round_.issue_ns.min())))


def _round(cell: CellLaunch, round_: Round, state: Mapping[str, bool], start_ns: int) -> Iterator[Span]:
    wall_ns = _wall_ns(round_)
    block = {"block": round_.block, **state}
    yield Span("round", "round", Track(cell.cell), start_ns, wall_ns, {**block, "cpu_ns": round_.evidence.cpu_ns})
    opening_ns = start_ns + wall_ns - int(round_.completion_ns[-1])
    name = "call" if cell.calls_per_sample == 1 else f"{cell.calls_per_sample} calls"
    issued, completed = round_.issue_ns.tolist(), round_.completion_ns.tolist()
    for sample, (issue_ns, completion_ns, lane) in enumerate(
        zip(issued, completed, lanes_of(issued, completed), strict=True)
    ):
        span_start_ns = opening_ns + issue_ns
        yield Span(
            name, "call", Track(cell.cell, lane), span_start_ns, completion_ns - issue_ns, {**block, "sample": sample}
        )


def _alone(cell: CellLaunch, in_flight: int, start_ns: int) -> Iterator[Span]:
    """Yield what a row did alone after the blocks: its tail, then its calls at a pace."""
    tail = list(_tail(cell, in_flight, start_ns))
    yield from tail
    yield from _paced(cell, max((span.end_ns for span in tail), default=start_ns))


def _tail(cell: CellLaunch, in_flight: int, start_ns: int) -> Iterator[Span]:
    """Yield the calls of ``--tail``: of several in flight only how long each took is known, so lanes take turns."""
    free_at_ns = [start_ns] * in_flight
    for sample, latency_ns in enumerate(cell.tail_ns.tolist()):
        lane = sample % in_flight
        yield Span("call", "tail", Track(cell.cell, lane), free_at_ns[lane], latency_ns, {"sample": sample})
        free_at_ns[lane] += latency_ns


def _paced(cell: CellLaunch, start_ns: int) -> Iterator[Span]:
    """Yield the calls of ``--pace``, each from its issue, from the moment at which the first one was due."""
    if cell.paced is None:
        return
    issued, completed = cell.paced.issue_ns.tolist(), cell.paced.completion_ns.tolist()
    for sample, (issue_ns, completion_ns) in enumerate(zip(issued, completed, strict=True)):
        track = Track(cell.cell, sample % cell.paced.concurrency)
        due = {"sample": sample, "due_ns": sample * cell.paced.pace_ns, "issue_ns": issue_ns}
        yield Span("call", "paced", track, start_ns + issue_ns, completion_ns - issue_ns, due)
