"""A sweep that ended early measures what is left when it goes on, and nothing twice."""

from __future__ import annotations

import logging
from pathlib import Path

import documents
import pytest
from measured_sweeps import Measured, install, plan, statuses, sweep

import irbench
from irbench.core.result import GroupResult
from irbench.errors import ExitCode, IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.sweep.report import Sweep
from irbench.measure.lock import measuring
from irbench.system.confinement import ConfinementSupport
from irbench.worker import requested_confinement


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    return install(tmp_path / "results", monkeypatch)


def test_a_sweep_that_was_begun_goes_on_only_when_asked_to(measured: Measured):
    sweep(plan())
    with pytest.raises(IrbenchError, match=r"was begun at .* and has 3 measured tables") as caught:
        sweep(plan())
    assert "resume=True" in caught.value.hint
    assert len(measured.batches) == 3


def test_a_sweep_that_a_former_release_began_in_the_current_folder_is_named_where_another_begins(
    measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "irbench")
    monkeypatch.chdir(tmp_path)
    sweep(plan())
    (said,) = said_of_beginning(tmp_path / "elsewhere", caplog)
    assert "no sweep night was begun" in said
    assert "that in ./results" in said
    assert "--results results" in said
    (said,) = said_of_beginning(tmp_path / "other", caplog, name="day")
    assert "./results" not in said


def said_of_beginning(root: Path, caplog: pytest.LogCaptureFixture, **options: str) -> list[str]:
    caplog.clear()
    sweep(plan(), resume=True, results=root, **options)
    return [line for line in caplog.messages if "was begun" in line]


@pytest.mark.parametrize(("begun", "now", "remedy"), [("1", "0", "Set IRBENCH_CONFINE=1"), ("0", "1", "Unset IRBENCH")])
def test_a_sweep_goes_on_with_confined_workers_only_if_it_was_begun_with_them(
    measured: Measured, monkeypatch: pytest.MonkeyPatch, begun: str, now: str, remedy: str
):
    monkeypatch.setattr(requested_confinement, "confinement_support", lambda: ConfinementSupport(7, seccomp=True))
    monkeypatch.setenv("IRBENCH_CONFINE", begun)
    sweep(plan())
    monkeypatch.setenv("IRBENCH_CONFINE", now)
    with pytest.raises(IrbenchError, match="confined, and IRBENCH_CONFINE is") as caught:
        sweep(plan(batch=[1, 2, 4, 8]), resume=True)
    assert caught.value.hint.startswith(remedy)
    monkeypatch.setenv("IRBENCH_CONFINE", begun)
    assert sweep(plan(batch=[1, 2, 4, 8]), resume=True).is_complete


def test_cells_that_a_plan_gets_later_are_measured_when_the_sweep_goes_on(measured: Measured):
    sweep(plan())
    sweep(plan(batch=[1, 2, 4, 8]), resume=True)
    assert measured.batches[3:] == [8]


def test_an_interrupt_ends_a_sweep_whose_table_goes_on_in_the_same_run(measured: Measured):
    def interrupt(table: SweepTable) -> GroupResult:
        stop = "interrupt" if len(measured.batches) == 2 else "target"
        return documents.group(documents.cell("fake-a"), batch=table.batch, stopped_by=stop)

    measured.answer = interrupt
    with pytest.raises(irbench.Interrupted) as caught:
        sweep(plan())
    stopped = caught.value.result
    assert isinstance(stopped, Sweep)
    assert sorted(statuses(stopped).values()) == ["done", "interrupted", "waiting"]
    found = sweep(plan(), resume=True)
    assert found.is_complete
    assert measured.batches[1] == measured.batches[2]
    assert len(measured.batches) == 4
    (run,) = [shown.run for shown in stopped.overview.tables if shown.status == "interrupted"]
    assert measured.unfinished == [None, None, run, None]


def test_an_interrupt_before_a_table_is_measured_ends_a_sweep_as_well(measured: Measured):
    def interrupt(_: SweepTable) -> GroupResult:
        raise KeyboardInterrupt

    working, measured.answer = measured.answer, interrupt
    with pytest.raises(irbench.Interrupted) as caught:
        sweep(plan())
    assert isinstance(caught.value.result, Sweep)
    measured.answer = working
    assert sweep(plan(), resume=True).is_complete


def test_a_table_that_cannot_be_measured_does_not_stop_the_others_and_is_tried_again(measured: Measured):
    def fail(table: SweepTable) -> GroupResult:
        if table.batch == 2:
            raise IrbenchError("There is no such shape.", hint="Give another.")
        return documents.group(documents.cell("fake-a"), batch=table.batch)

    working, measured.answer = measured.answer, fail
    found = sweep(plan())
    assert statuses(found) == {1: "done", 2: "failed", 4: "done"}
    assert (found.is_complete, found.exit_code) == (False, ExitCode.FAILED_CELL)
    assert "not measured: There is no such shape" in str(found)
    measured.answer = working
    found = sweep(plan(), resume=True)
    assert (found.is_complete, found.exit_code) == (True, 0)
    assert measured.batches[3:] == [2]


def test_a_finished_sweep_can_be_looked_at_while_another_irbench_measures(measured: Measured):
    with measuring("something else"), pytest.raises(IrbenchError, match="already measuring"):
        sweep(plan())
    sweep(plan())
    with measuring("something else"):
        assert sweep(plan(), resume=True).is_complete
