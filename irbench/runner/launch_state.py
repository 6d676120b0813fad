"""What is known before a launch, of its group and of itself, and what each of its cells has brought so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from irbench.core.cold_row import COLD_PHASES
from irbench.core.record import CellLaunch, NeighbourActivity, OutputError, PacedRun, Round, WarmUp
from irbench.runner.reference import ReferenceOutputs
from irbench.spec import Artifact, Cell, Group, Timing
from irbench.stats.launch_planning import Room, Scatter
from irbench.worker.cell import CellTask, PreparedSession, Warmed

_WEIGHTS_FACTOR = 3
"""A runtime holds the weights as stored, its own copy and a repacked one while it compiles."""
_RUNTIME_BYTES = 300_000_000
_RESERVE = 0.05
_FEWEST = 2
"""Cells of a launch: a comparison needs two; one that does not fit fails by itself and says so."""


class GroupTooLarge(Exception):
    """Not all cells of a group fit into memory together.

    Attributes:
        fitting: Ids of the cells that did, in the order in which they were loaded.
    """

    def __init__(self, fitting: tuple[str, ...]) -> None:
        super().__init__(f"{len(fitting)} cells fit")
        self.fitting = fitting


def needs_split(cell: Cell, peaks_bytes: Sequence[int], available_bytes: int) -> bool:
    """Return whether loading ``cell`` beside the loaded ones would ask for more memory than is available."""
    if len(peaks_bytes) < _FEWEST:
        return False
    needed = max(*peaks_bytes, _expected_bytes(cell))
    return needed > available_bytes * (1 - _RESERVE)


def needs_split_on_gpu(cell: Cell, taken_bytes: Sequence[int], free_bytes: int | None) -> bool:
    """Return whether loading ``cell`` beside the loaded ones would ask for more memory than the GPU has left.

    Args:
        cell: One that runs on the GPU.
        taken_bytes: What each of the loaded ones took of it.
        free_bytes: ``None`` where that is unknown.
    """
    if len(taken_bytes) < _FEWEST or free_bytes is None or cell.artifact is None:
        return False
    needed = max(*taken_bytes, cell.load.instances * _stored_bytes(cell.artifact))
    return needed > free_bytes * (1 - _RESERVE)


def _expected_bytes(cell: Cell) -> int:
    if cell.artifact is None:
        return 0
    return cell.load.instances * (_RUNTIME_BYTES + _WEIGHTS_FACTOR * _stored_bytes(cell.artifact))


def _stored_bytes(artifact: Artifact) -> int:
    """Return the size of a graph, the weights that an ONNX file keeps in other files included where it is known."""
    return artifact.path.stat().st_size if artifact.files is None else artifact.files.size_bytes


@dataclass(frozen=True)
class LaunchPlan:
    """What stays the same over a group's launches.

    Attributes:
        number: The group's place in the run, counted from 0.
        others: The other form of a cell's graph, by cell id; see :class:`irbench.runner.plan.PlannedGroup`.
        neighbours: What is called of a model that others run beside, by its name.
        right: Fingerprints of outputs that were found right, by cell id; launches add to them.
    """

    group: Group
    number: int
    timing: Timing
    seed: int
    logs: Path
    expected: tuple[ReferenceOutputs, ...]
    cpus: tuple[int, ...]
    others: Mapping[str, Artifact] = field(default_factory=dict[str, Artifact])
    neighbours: Mapping[str, CellTask] = field(default_factory=dict[str, CellTask])
    right: dict[str, set[str]] = field(default_factory=dict[str, set[str]])


@dataclass(frozen=True)
class LaunchInputs:
    """What is known before one launch.

    Attributes:
        new: Ids of those that no launch before has measured: they are verified.
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


@dataclass
class CellProgress:
    """What one cell's launch has brought so far."""

    prepared: PreparedSession | None = None
    warmed: Warmed | None = None
    output_error: OutputError | None = None
    rounds: list[Round] = field(default_factory=list[Round])
    tail_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    paced: PacedRun | None = None
    run_peak_bytes: int | None = None
    gpu_bytes: int | None = None
    gpu_peak_bytes: int | None = None
    run_private_bytes: int | None = None
    repeat_error: OutputError | None = None
    neighbour_alone: NeighbourActivity | None = None
    beginnings_ns: Mapping[str, NDArray[np.int64]] = field(default_factory=dict[str, NDArray[np.int64]])

    def share(self, other: CellProgress) -> None:
        """Take over how far the session has come that it shares with another cell."""
        self.prepared, self.warmed, self.output_error = other.prepared, other.warmed, other.output_error

    def take_of_gpu(self, before_bytes: int | None, after_bytes: int | None) -> None:
        """Count what the GPU's memory in use grew by in a turn of the cell, while all others stood still."""
        if before_bytes is not None and after_bytes is not None:
            self.gpu_bytes = (self.gpu_bytes or 0) + after_bytes - before_bytes
            self.gpu_peak_bytes = max(self.gpu_peak_bytes or 0, self.gpu_bytes)

    @property
    def speed(self) -> Warmed:
        """How the warm-up ended, for a cell that has come so far."""
        assert self.warmed is not None
        return self.warmed

    @property
    def first_inference_s(self) -> float:
        """How long the first inference took, in seconds."""
        return 0.0 if self.prepared is None else self.prepared.first_inference_s

    def as_launch(self, cell: Cell, started_ns: int) -> CellLaunch:
        """Return the record of a cell that measured.

        ``started_ns`` is from its worker's start until it held the cell.
        """
        assert self.prepared is not None
        phases = {"start": started_ns, **self.speed.phases_ns}
        peaks = dict(self.speed.peak_memory_bytes)
        if self.run_peak_bytes is not None:
            peaks["run"] = self.run_peak_bytes
        if peaks:
            peaks["process"] = max(peaks.values())
        if self.gpu_peak_bytes is not None:
            peaks["gpu"] = self.gpu_peak_bytes
        private = dict(self.speed.private_memory_bytes)
        if self.run_private_bytes is not None:
            private["run"] = self.run_private_bytes
        return CellLaunch(
            cell=cell.id,
            streams=cell.load.streams,
            calls_per_sample=self.speed.calls_per_sample,
            rounds=tuple(self.rounds),
            phases_ns={**phases, "ready": sum(phases.get(name, 0) for name in COLD_PHASES)},
            peak_memory_bytes=peaks,
            effective=self.prepared.effective,
            output_error=self.output_error,
            tail_ns=self.tail_ns,
            repeat_error=self.repeat_error,
            paced=self.paced,
            private_memory_bytes=private,
            warm_up=self.speed.warm_up,
            stages=self.prepared.stages,
            token_memory_bytes=self.prepared.token_memory_bytes,
            neighbour_alone=self.neighbour_alone,
            beginnings_ns=self.beginnings_ns,
        )
