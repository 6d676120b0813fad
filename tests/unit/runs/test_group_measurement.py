"""One group, interrupted: what is stored, and what its notes say of others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import launches
import models
import pytest
from run_requests import run_request
from stored_plans import stored_plan

from irbench.core.record import Failure, LaunchRecord
from irbench.core.result import RunDocument
from irbench.measure.core_to_core import CoreLink
from irbench.measure.lock import Holder
from irbench.notices.notes import NativePrecision
from irbench.runner.launch_size import Tempo
from irbench.runner.launch_state import LaunchInputs, LaunchPlan
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import prepare
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.request import RunRequest
from irbench.runner.run_progress import Progress
from irbench.runs import group_measurement as comparison
from irbench.runs.group_measurement import GroupMeasurement
from irbench.spec import Bundle, Feeding, Group, InputSpec, Timing
from irbench.stats.launch_planning import launch_limits
from irbench.store.runs import RunWriter, Store

ONE = Holder(7, "2026-01-05T10:00:00+00:00", "vgg16")


@pytest.fixture
def writer(tmp_path: Path) -> RunWriter:
    return Store(tmp_path / "results").begin({}, stored_plan())


def planned_run(tmp_path: Path, **changes: Any) -> tuple[RunRequest, PlannedGroup]:
    artifact = models.mlp(tmp_path)
    bundle = Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))
    request = run_request(**{"bundles": (bundle,), "backends": (("fake-a", "cpu"),), **changes})
    planned, *_ = plan(request, prepare(request, tmp_path / "scratch"))
    return request, planned


def interrupted(tmp_path: Path, writer: RunWriter, others: Iterator[tuple[Holder, ...]]) -> GroupMeasurement:
    """Return a comparison that is interrupted before its first launch."""
    request, planned = planned_run(tmp_path)

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    return GroupMeasurement(planned, request, tmp_path, writer, interrupt, lambda: next(others), CoreLink((0,)))


def test_all_who_measured_meanwhile_are_noted_once(tmp_path: Path, writer: RunWriter) -> None:
    result = interrupted(tmp_path, writer, iter([(ONE,), (ONE, Holder())])).run()
    assert [note.what for note in result.notes if note.code == "another-irbench"] == ["vgg16", None]


def test_a_second_interrupt_does_not_cut_the_storing_of_what_the_first_kept(
    tmp_path: Path, writer: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = RunWriter.commit

    def interrupt_and_commit(self: RunWriter, document: RunDocument) -> RunDocument:
        signal.raise_signal(signal.SIGINT)
        return commit(self, replace(document))

    monkeypatch.setattr(comparison.RunWriter, "commit", interrupt_and_commit)
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path, writer, iter([(), ()])).run()
    (group,) = writer.document.groups
    assert group.stopped_by == "interrupt"


@pytest.mark.parametrize("can_run", [True, False])
def test_a_default_precision_is_noted_where_its_backend_can_run_the_model(
    tmp_path: Path, writer: RunWriter, can_run: bool
) -> None:
    request, planned = planned_run(tmp_path, backends=(("fake-a", "cpu"), ("fake-b", "cpu")))
    note = NativePrecision(backend="fake-b", precision="bf16", measured=("fp32",))
    others = [cell.id for cell in planned.group.cells if cell.backend == "fake-b"]
    absent = {} if can_run else dict.fromkeys(others, Failure("compile", "it cannot"))

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    planned, request = replace(planned, absent=absent), replace(request, notes=(note,))
    GroupMeasurement(planned, request, tmp_path, writer, interrupt, tuple[Holder, ...], CoreLink((0,))).run()
    (table,) = writer.document.groups
    assert (note in table.notes) == can_run


@pytest.mark.parametrize(
    ("batches", "apart", "told"),
    [
        (None, False, "mlp"),
        ((2,), True, "mlp"),
        ((1, 8), False, "mlp batches 1, 8"),
        ((1, 8), True, "mlp batch 1"),
    ],
)
def test_progress_names_the_batches_where_a_run_has_several(
    tmp_path: Path, writer: RunWriter, batches: tuple[int, ...] | None, apart: bool, told: str
) -> None:
    request, planned = planned_run(tmp_path, batch=batches, apart=apart)
    heard: list[str] = []

    def listen(progress: Progress) -> None:
        heard.append(progress.table)
        raise KeyboardInterrupt

    GroupMeasurement(planned, request, tmp_path, writer, listen, tuple[Holder, ...], CoreLink((0,))).run()
    assert heard == [told]


def fed(group: Group, feeding: Feeding) -> Group:
    return replace(group, workloads=tuple(replace(workload, feeding=feeding) for workload in group.workloads))


class Scripted:
    """A launch of six blocks, the first of which is burn-in, with seven calls in each."""

    firsts: ClassVar[list[int]] = []

    def __init__(self, plan: LaunchPlan, inputs: LaunchInputs, *_: Any) -> None:
        self.plan, self.inputs = plan, inputs
        self.firsts.append(inputs.first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def measure(self) -> tuple[LaunchRecord, Tempo]:
        rounds = [launches.synchronous(block, [1e6] * 7) for block in range(6)]
        cells = [launches.measured(cell.id, rounds) for cell in self.inputs.cells]
        samples = {cell.id: 7 for cell in self.inputs.cells}
        return launches.launch(self.inputs.number, cells), Tempo(samples, self.plan.timing, stride=7)


@pytest.mark.parametrize(("samples", "timed"), [(1000, [70]), (60, [])])
def test_launches_share_the_samples_and_a_note_counts_them_where_some_are_left(
    tmp_path: Path, writer: RunWriter, monkeypatch: pytest.MonkeyPatch, samples: int, timed: list[int]
) -> None:
    monkeypatch.setattr(Scripted, "firsts", [])
    monkeypatch.setattr(comparison, "Launch", Scripted)
    monkeypatch.setattr(comparison, "expected_outputs", lambda *_: ReferenceOutputs(None, None))
    feeding = Feeding(samples=tuple(Path(f"{number}.npz") for number in range(samples)))
    request, planned = planned_run(tmp_path, timing=Timing(min_launches=2, max_launches=2))
    result = GroupMeasurement(
        replace(planned, group=fed(planned.group, feeding)),
        request,
        tmp_path,
        writer,
        lambda _: None,
        tuple[Holder, ...],
        CoreLink((0,)),
    ).run()
    assert Scripted.firsts == [0, 35]
    assert [note.timed for note in result.notes if note.code == "samples-not-timed"] == timed


def test_progress_counts_the_launches_of_every_part_of_a_large_table(
    tmp_path: Path, writer: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "Launch", Scripted)
    monkeypatch.setattr(comparison, "expected_outputs", lambda *_: ReferenceOutputs(None, None))
    heard: list[Progress] = []
    timing = Timing(min_launches=3, max_launches=3)
    request, planned = planned_run(tmp_path, timing=timing, streams=tuple(range(1, 9)))
    GroupMeasurement(planned, request, tmp_path, writer, heard.append, tuple[Holder, ...], CoreLink((0,))).run()
    assert {progress.most_launches for progress in heard} == {6}
    assert max(progress.launch for progress in heard) == launch_limits(8, timing)[0] == 5
