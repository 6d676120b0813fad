"""A scripted machine with virtual time, on which the engine measures whole groups without a process or a wait."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import launches
import numpy as np
import pytest
from stored_plans import stored_plan

from irbench.core.record import Failure, LaunchRecord
from irbench.core.result import GroupResult
from irbench.measure import clock
from irbench.measure.core_to_core import CoreLink
from irbench.measure.disturbances import MachineSnapshot, foreign_cpu_ns
from irbench.runner import launch
from irbench.runner.launch_schedule import UNTIL_PRECISE, LaunchSchedule
from irbench.runner.plan import PlannedGroup
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.request import RunRequest
from irbench.runner.run_progress import Listener
from irbench.runs import group_measurement as comparison
from irbench.runs.group_measurement import GroupMeasurement
from irbench.spec import Cell, Timing
from irbench.store.runs import RunWriter, Store
from irbench.worker.cell import CellTask, PreparedSession, Warmed

STORING_S = 0.4
SIDE_BY_SIDE = 0.6


@dataclass
class Machine:
    """A machine on which everything takes a time that the test gives.

    Attributes:
        start_s: Of each cell, until it has answered once.
        call_s: Of each cell.
        reference_s: What the expected outputs take.
        disturbed: Share of blocks that other programs disturb.
        now_s: The time.
    """

    start_s: dict[str, float]
    call_s: dict[str, float]
    reference_s: float = 1.0
    disturbed: float = 0.0
    now_s: float = 1000.0

    def __post_init__(self) -> None:
        self._random = random.Random(1)
        self._foreign_ns = 0

    def seed(self, seed: int) -> None:
        """Draw other times than another seed does."""
        self._random = random.Random(seed)

    def start(self, cell: str) -> float:
        """Return how long a start of a cell takes, in seconds."""
        return self.start_s[cell]

    def read_ns(self) -> int:
        return round(self.now_s * 1e9)

    def call(self, cell: str, count: int) -> list[float]:
        """Let so many calls pass, and return the latency of each in nanoseconds."""
        latencies_s = [self.call_s[cell] * self._random.uniform(0.97, 1.03) for _ in range(count)]
        self.now_s += sum(latencies_s)
        return [latency_s * 1e9 for latency_s in latencies_s]

    def snapshot(self, _cpus: object) -> MachineSnapshot:
        if self._random.random() < self.disturbed:
            self._foreign_ns += 10**12
        return MachineSnapshot(self.read_ns(), {1: self._foreign_ns}, 0, 0)


class Crew:
    """Answers as the workers of a launch would on that machine."""

    def __init__(self, machine: Machine, tasks: Iterable[CellTask]) -> None:
        self._machine = machine
        self.tasks = {task.cell.id: task for task in tasks}
        self.cells: tuple[Cell, ...] = tuple(task.cell for task in self.tasks.values())
        self.failures: dict[str, Failure] = {}
        self.started_ns = {cell.id: 1 for cell in self.cells}

    def start(self, together: Collection[str] = ()) -> None: ...

    def start_and_prepare(self, together: Collection[str]) -> dict[str, PreparedSession]:
        self._machine.now_s += SIDE_BY_SIDE * sum(map(self._machine.start, sorted(together)))
        return dict.fromkeys(together, PreparedSession({"precision": "fp32"}, ()))

    def close(self) -> None:
        self._machine.now_s += 0.1

    def ask(self, cell: str, _stage: str, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        machine, call_s = self._machine, self._machine.call_s[cell]
        if method == "prepare":
            machine.now_s += machine.start(cell)
            return PreparedSession({"precision": "fp32"}, ())
        if method == "warm_up":
            calls = max(3 if 3 * call_s <= args[0].most_s else 1, round(0.3 / call_s))
            machine.call(cell, calls)
            return Warmed(call_s * 1e9, call_s * 1e9, 1, {}, {})
        if method == "tail":
            return np.array(machine.call(cell, args[0]), np.int64)
        if method == "take_round":
            machine.call(cell, args[2])
            return launches.synchronous(args[0], machine.call(cell, args[1]))
        return None


def result_of(
    machine: Machine,
    timing: Timing,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    listen: Listener = lambda _: None,
    prepared_s: float | None = None,
    expected_s: float | None = None,
    schedule: LaunchSchedule = UNTIL_PRECISE,
) -> tuple[GroupResult, float, list[LaunchRecord]]:
    """Return the table of a group, how long it took in seconds, and its launches.

    With ``prepared_s``, the budget is that of a whole run that has prepared for so long.
    """
    began_s = machine.now_s
    records: list[LaunchRecord] = []
    store = RunWriter.add_launch

    def add_launch(self: RunWriter, record: LaunchRecord) -> None:
        machine.now_s += STORING_S
        records.append(record)
        store(self, record)

    def expect(*_: object) -> ReferenceOutputs:
        machine.now_s += machine.reference_s
        return ReferenceOutputs(None, None)

    monkeypatch.setattr(clock, "now_ns", machine.read_ns)
    monkeypatch.setattr(launch, "snapshot", machine.snapshot)
    monkeypatch.setattr(launch, "foreign_cpu_ns", foreign_cpu_ns)
    monkeypatch.setattr(launch, "Workers", lambda tasks, _logs, _deadline_s: Crew(machine, tasks))
    monkeypatch.setattr(comparison, "expected_outputs", expect)
    monkeypatch.setattr(RunWriter, "add_launch", add_launch)
    request = RunRequest((), (), timing=timing, budget_s=None if prepared_s is None else timing.budget)
    writer = Store(tmp_path / "results").begin({}, stored_plan())
    planned = PlannedGroup(launches.group(*machine.call_s))
    if prepared_s is not None:
        machine.now_s += prepared_s
        document = comparison.run(request, (planned,), tmp_path, writer, listen, lambda: (), prepared_s=prepared_s)
        return document.groups[0], machine.now_s - began_s, records
    return (
        GroupMeasurement(
            planned,
            request,
            tmp_path,
            writer,
            listen,
            lambda: (),
            CoreLink((0,)),
            schedule=schedule,
            expected_s=expected_s,
        ).run(),
        machine.now_s - began_s,
        records,
    )
