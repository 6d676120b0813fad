"""Launches whose workers only keep books: what was asked of them, and how long it was allowed to take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import numpy as np
import pytest

from irbench.core.record import Failure, PacedRun, Sustained
from irbench.measure.core_to_core import CoreLink
from irbench.runner import launch
from irbench.runner.launch import Launch
from irbench.runner.launch_state import LaunchInputs, LaunchPlan
from irbench.runner.reference import ReferenceOutputs
from irbench.spec import Cell, Deadline, Feeding, Group, Scalar, Timing
from irbench.stats.launch_planning import Room
from irbench.worker.cell import CellTask, PreparedSession, Warmed

CALL_NS = {"slow": 2_000_000_000.0, "short": 5_000.0}
CALLS_PER_SAMPLE = {"slow": 1, "short": 10}
DEADLINE_S = 100.0
NOTHING = ReferenceOutputs(None, None)


class ScriptedCrew:
    """Answers as workers would whose calls last what the script says."""

    def __init__(self, tasks: Iterable[CellTask], logs: Path, deadline: Callable[[], Deadline]) -> None:
        self.cells: tuple[Cell, ...] = tuple(task.cell for task in tasks)
        self.failures: dict[str, Failure] = {}
        self.started_ns = {cell.id: 1 for cell in self.cells}
        self.allowed_s: dict[tuple[str, str], float] = {}
        self._deadline = deadline
        self.effective: dict[str, Scalar] = {}
        self.asked: list[tuple[str, str, tuple[Any, ...]]] = []

    def start(self, together: Collection[str] = ()) -> None: ...

    def start_and_prepare(self, together: Collection[str]) -> dict[str, Any]:
        return {}

    def close(self) -> None: ...

    def dismiss(self, cell: str, failure: Failure) -> None:
        self.failures[cell] = failure
        self.cells = tuple(each for each in self.cells if each.id != cell)

    def ask(self, cell: str, stage: str, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        self.allowed_s[cell, method] = deadline_s or self._deadline().seconds
        self.asked.append((cell, method, args))
        match method:
            case "prepare":
                return PreparedSession({"precision": "fp32", **self.effective}, (), CALL_NS[cell] / 1e9)
            case "warm_up":
                return Warmed(
                    CALL_NS[cell], CALL_NS[cell], CALLS_PER_SAMPLE[cell], {}, {"load": 7, "warm_up": 5}, {"import": 3}
                )
            case "take_round":
                return launches.synchronous(args[0], [CALL_NS[cell]] * args[1])
            case "tail":
                return np.full(args[0], round(CALL_NS[cell]), np.int64)
            case "paced":
                return PacedRun(args[0], 1, *(np.arange(args[1], dtype=np.int64),) * 2)
            case "peak_memory_bytes" | "private_memory_bytes":
                return {"peak_memory_bytes": 11, "private_memory_bytes": 9}[method]
            case "last_responses":
                return ()
            case "beginnings":
                return {}
            case _:
                if cell == "slow":
                    self.failures[cell] = Failure(stage, "lost")
                    return None
                return Sustained(cell, 1, 1)


def install(patch: pytest.MonkeyPatch) -> list[ScriptedCrew]:
    """Put the scripted workers in place, and tell of each that is made."""
    made: list[ScriptedCrew] = []

    def make(tasks: Iterable[CellTask], logs: Path, deadline_s: float) -> ScriptedCrew:
        made.append(ScriptedCrew(tasks, logs, deadline_s))
        return made[-1]

    patch.setattr(launch, "Workers", make)
    return made


def fed(group: Group, feeding: Feeding) -> Group:
    return replace(group, workloads=tuple(replace(workload, feeding=feeding) for workload in group.workloads))


def all_of(group: Group) -> frozenset[str]:
    return frozenset(cell.id for cell in group.cells)


def one(folder: Path, *names: str, feeding: Feeding | None = None, **numbers: Any) -> Launch:
    group = fed(launches.group(*names), feeding or Feeding())
    timing = Timing(deadline=DEADLINE_S, **numbers)
    plan = LaunchPlan(group, 0, timing, seed=0, logs=folder, expected=(NOTHING,), cpus=(0,))
    inputs = LaunchInputs(0, group.cells, Room(timing.budget, timing.min_launches), new=all_of(group))
    return Launch(plan, inputs, CoreLink((0,)), lambda _: None)
