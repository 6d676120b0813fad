"""The inputs of a launch: those of the whole group, and those of this launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from irbench.record import WarmUp
from irbench.runner.reference import Expected
from irbench.spec import Artifact, Cell, Group, Timing
from irbench.stats import Room, Scatter


@dataclass(frozen=True)
class LaunchPlan:
    """What stays the same over a group's launches.

    Attributes:
        group: What is compared, with bound artifacts.
        number: The group's place in the run, counted from 0.
        timing: The protocol's numbers.
        seed: Of every random order.
        logs: Where the workers write what they print.
        expected: The expected outputs of each of the group's workloads.
        cpus: The processors that the workers may use.
        others: The other form of a cell's graph, by cell id; see :class:`irbench.runner.plan.PlannedGroup`.
    """

    group: Group
    number: int
    timing: Timing
    seed: int
    logs: Path
    expected: tuple[Expected, ...]
    cpus: tuple[int, ...]
    others: Mapping[str, Artifact] = field(default_factory=dict[str, Artifact])


@dataclass(frozen=True)
class Turn:
    """What is known before one launch.

    Attributes:
        number: Of the launch, counted from 0.
        cells: Those that take part.
        new: Ids of those that no launch before has measured: they are verified.
        room: The time that is left for it.
        samples: Samples per round, by cell id, as the first launch of each decided.
        scatters: Of the pairs that are compared, as far as launches have shown them.
        peak_bytes: What the cells together may need in memory while they compile; ``None`` where that is unknown, as
            before a cell was launched once.
        warm_ups: How each cell was warmed up in its first launch, by cell id; without those that are new.
        first: Calls of the blocks that count in earlier launches: samples that take turns go on from there.
    """

    number: int
    cells: tuple[Cell, ...]
    room: Room
    samples: Mapping[str, int] = field(default_factory=dict[str, int])
    scatters: Sequence[Scatter] = ()
    peak_bytes: int | None = None
    first: int = 0
    new: frozenset[str] = frozenset()
    warm_ups: Mapping[str, WarmUp] = field(default_factory=dict[str, WarmUp])
