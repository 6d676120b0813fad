"""Tables of training steps whose times are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import launches
import numpy as np

from irbench.core.record import Failure, LaunchRecord, Round
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.spec import Artifact, Bundle, Cell, Goal, Group, Load, Timing, Workload
from irbench.spec.training import INPUT, STEP, TrainedModel, TrainingArtifact, TrainingData, TrainingSettings
from irbench.stats.eligibility import Admission
from irbench.stats.run_modes.training import loss_check
from irbench.stats.summary import summarise

MS = 1_000_000
CALLS = 9
CRASH = Failure("measure", "it crashed with SIGSEGV")
FALLING = loss_check([2.3 - 0.04 * step for step in range(32)])

TRAINING = TrainingArtifact(
    "training", Path("model.py"), (), (), model=TrainedModel("net"), data=TrainingData("images"),
    settings=TrainingSettings(),
)  # fmt: skip


def cell(batch: int, **varied: str) -> Cell:
    artifact = Artifact("training", Path("model.py"), (), ())
    name = "-".join((str(batch), *varied.values()))
    return Cell(name, artifact, "tf", "cpu", Load(batch=batch, varied=varied), workload=batch // 64, loss=FALLING)


Steps = list[tuple[Cell, tuple[float | Sequence[float], float]]]


def table(
    steps_ms: Steps, alone_ms: tuple[float, ...] = (1.0, 3.0, 7.0, 8.0), *, failing: str = "", failing_launch: int = 0
) -> GroupResult:
    """Return the table of rows with these times of input and compute, in five launches; one may fail in one of them."""
    cells = tuple(each for each, _ in steps_ms)
    bundle = Bundle("net", (), (), workload="training")
    batches = sorted({each.load.batch for each in cells})
    group = Group(
        tuple(Workload(bundle, {"batch": batch}) for batch in batches),
        tuple(replace(each, workload=batches.index(each.load.batch)) for each in cells),
        cells[0].id,
        Goal("fps"),
    )
    beginnings = {
        name: np.full(5, round(time_ms * MS), np.int64)
        for name, time_ms in zip(("host", "forward", "backward", "optimizer"), alone_ms, strict=True)
    }
    records: list[LaunchRecord] = [
        launches.launch(
            number,
            [
                launches.measured(each.id, rounds(*times), stages=(INPUT, STEP), beginnings_ns=beginnings)
                for each, times in steps_ms
                if each.id != failing or number < failing_launch
            ],
            failures={failing: CRASH} if failing and number == failing_launch else {},
        )
        for number in range(5)
    ]
    return summarise(group, records, Timing(), Admission(), stopped_by="launches", seconds=1.0)


def rounds(input_ms: float | Sequence[float], compute_ms: float) -> list[Round]:
    waits_ms = np.broadcast_to(input_ms, CALLS)
    moments_ns = np.rint(np.cumsum([(wait, compute_ms) for wait in waits_ms], axis=1) * MS).astype(np.int64)
    return [
        replace(launches.synchronous(block, moments_ns[:, -1].tolist()), part_ns=moments_ns.ravel())
        for block in range(5)
    ]


def row(input_ms: float | Sequence[float], compute_ms: float) -> CellResult:
    (only,) = table([(cell(32), (input_ms, compute_ms))]).cells
    return only
