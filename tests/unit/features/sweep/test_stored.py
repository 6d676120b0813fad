"""A sweep is a result: listed, shown, exported, reported, compared and removed by its name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import documents
import front_door
import pytest
from measured_sweeps import Measured, install, plan, sweep
from stored_plans import stored_plan

import irbench
from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.store.listing import find_runs
from irbench.store.runs import Store
from irbench.store.sweeps import StateFile


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    monkeypatch.setenv("COLUMNS", "160")
    fake = install(tmp_path / "results", monkeypatch)

    def two_rows(table: SweepTable) -> tuple[GroupResult, list[LaunchRecord]]:
        slow = documents.cell("fake-a", p50=10.0 * table.batch, batch=table.batch, fps=100.0 + table.batch)
        fast = documents.cell(
            "fake-b", p50=5.0 * table.batch, batch=table.batch, fps=200.0, speedup=documents.speedup(2.0, 1.9, 2.1)
        )
        found = documents.group(fast, slow, batch=table.batch, baseline=slow.id)
        return found, [documents.launch(0, cells=(fast.id, slow.id))]

    fake.answer = two_rows
    return fake


def test_a_sweep_is_shown_by_its_name_with_all_rows_in_one_table(measured: Measured):
    sweep(plan())
    shown = front_door.irbench("show", "night")
    assert shown.code == 0, shown.err
    assert "sweep night: 3 of 3 tables measured" in shown.out
    rows = [line.split()[:2] for line in shown.out.splitlines() if line.startswith("fake-")]
    assert rows == [[name, batch] for batch in ("1", "2", "4") for name in ("fake-b", "fake-a")]
    assert "2.00 [1.90, 2.10]" in shown.out
    assert len(measured.batches) == 3


def test_a_sweep_is_shown_while_another_process_may_measure_it(measured: Measured):
    sweep(plan(), only="batch=1")
    held = StateFile.open(measured.results, "night")
    assert held is not None
    try:
        assert "1 of 1 table" in front_door.irbench("show", "night").out
    finally:
        held.close()


def test_a_sweep_that_went_on_with_other_cells_shows_the_tables_of_all_calls(measured: Measured):
    sweep(plan(), only="batch=1")
    sweep(plan(), only="batch=4", resume=True)
    stored = irbench.load_sweep("night")
    assert [shown.table.batch for shown in stored.overview.tables] == [1, 4]
    assert stored.is_complete
    sweep(plan(batch=[1, 4, 8]), only=["batch=1", "batch=8"], resume=True)
    assert [shown.table.batch for shown in irbench.load_sweep("night").overview.tables] == [1, 4, 8]


def test_an_interrupted_sweep_is_shown_as_far_as_it_was_measured(measured: Measured):
    whole = measured.answer

    def interrupted(table: SweepTable) -> tuple[GroupResult, Sequence[LaunchRecord]] | GroupResult:
        if len(measured.batches) == 2:
            raise KeyboardInterrupt
        return whole(table)

    measured.answer = interrupted
    with pytest.raises(irbench.Interrupted):
        sweep(plan())
    shown = front_door.irbench("show", "night")
    assert "sweep night: 1 of 3 tables measured, 1 interrupted, 1 not begun" in shown.out


def test_the_rows_of_a_sweep_are_exported_by_its_name(measured: Measured, tmp_path: Path):
    found = sweep(plan())
    shown = front_door.irbench("show", "night", "--format", "csv", "--columns", "run_id,batch,label,p50_ms")
    exported = front_door.irbench(
        "results", "export", "night", "--format", "csv", "--columns", "run_id,batch,label,p50_ms"
    )
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert sorted(map(str, rows)) == sorted(map(str, csv.DictReader(io.StringIO(exported.out))))
    assert [row["batch"] for row in rows] == ["1", "1", "2", "2", "4", "4"]
    assert {row["run_id"] for row in rows} == {run.id for run in found.runs()}
    folders = irbench.export_runs("night", tmp_path / "night.tar.gz")
    assert {folder.name for folder in folders} == {run.id for run in found.runs()}


def test_a_sweep_has_json_markdown_and_rows_in_python(measured: Measured):
    found = sweep(plan())
    document = json.loads(front_door.irbench("show", "night", "--format", "json").out)
    assert [table["run"] for table in document["tables"]] == [run.id for run in found.runs()]
    assert "| fake-b | 4 | 20.0 |" in front_door.irbench("show", "night", "--format", "md").out
    assert [(row.label, row.batch, row.speedup) for row in irbench.load_sweep("night").rows[:2]] == [
        ("fake-b", 1, 2.0),
        ("fake-a", 1, None),
    ]


def test_two_sweeps_are_compared_by_their_names(measured: Measured):
    sweep(plan())
    sweep(plan(), name="day")
    compared = front_door.irbench("compare", "night", "day")
    assert "night (3 runs)" in compared.out
    assert "day (3 runs)" in compared.out


def test_a_sweep_is_reported_with_its_rows_and_a_chart_of_each_setting(measured: Measured, tmp_path: Path):
    sweep(plan())
    page = irbench.report("night", output=tmp_path / "night.html", progress=None).read_text()
    assert "sweep night: 3 of 3 tables measured" in page
    assert "FPS against batch size" in page
    assert [plot.name for plot in irbench.load_sweep("night").plots()] == ["fps-batch"]


def test_the_throughput_of_a_sweep_is_drawn_against_each_setting_that_varies(measured: Measured):
    sweep(plan())
    drawn = front_door.irbench("show", "night", "--plot").out.partition("FPS against batch size")[2].splitlines()
    assert [line.split()[0] for line in drawn if line.strip() and "intervals" not in line] == [
        *("fake-a", "1", "2", "4"),
        *("fake-b", "1", "2", "4"),
    ]


def test_sweeps_are_listed_below_the_runs(measured: Measured):
    sweep(plan())
    Store(measured.results).begin({}, stored_plan(models=["other"]))
    listed = front_door.irbench("results")
    assert "sweep  age  when (UTC)" in listed.out
    (entry,) = json.loads(front_door.irbench("results", "--format", "json").out)["sweeps"]
    assert (entry["name"], entry["tables"], entry["failed"], entry["rows"]) == ("night", 3, 0, 6)
    assert "night" not in front_door.irbench("results", "--model", "absent").out


def test_a_sweep_is_removed_with_its_runs_and_can_be_begun_again(measured: Measured):
    sweep(plan())
    other = sweep(plan(), name="day")
    removed = front_door.irbench("results", "rm", "night", "--yes")
    assert removed.out.count("removed ") == 4
    assert StateFile.read(measured.results, "night") is None
    assert [run.id for run in irbench.load_sweep("day").runs()] == [run.id for run in other.runs()]
    sweep(plan())
    irbench.remove_runs("night")
    assert StateFile.read(measured.results, "night") is None


def test_nothing_is_removed_of_a_sweep_that_is_being_measured(measured: Measured):
    sweep(plan())
    held = StateFile.open(measured.results, "night")
    assert held is not None
    removed = front_door.irbench("results", "rm", "night", "--yes")
    held.close()
    assert (removed.code, removed.out) == (2, "")
    assert "being measured" in removed.err
    assert len(irbench.load_sweep("night").runs()) == 3


def test_a_sweep_takes_no_name_that_stands_for_a_run(measured: Measured):
    writer = Store(measured.results).begin({}, stored_plan(models=["net"]))
    for name in ("latest", writer.document.run_id, writer.document.run_id.lower()):
        with pytest.raises(IrbenchError, match="names a run, not a sweep"):
            sweep(plan(), name=name)


def test_a_run_that_is_called_as_a_sweep_is_goes_first(measured: Measured):
    sweep(plan())
    writer = Store(measured.results).begin({}, stored_plan(models=["net"], name="night"))
    writer.commit(replace(writer.document, groups=(documents.example(),), complete=True))
    assert find_runs(measured.results, "night") == (writer.folder,)
    front_door.irbench("results", "rm", "night", "--yes")
    assert len(find_runs(measured.results, "night")) == 3


@pytest.mark.parametrize("option", ["--roofline", "--memory", "--intervals", "--warnings"])
def test_options_of_runs_are_refused_with_the_command_that_takes_them(measured: Measured, option: str):
    sweep(plan())
    called = front_door.irbench("show", "night", option)
    assert called.code == 2
    assert f"irbench show {irbench.load_sweep('night').runs()[0].id} {option}" in called.err


def test_a_sweep_that_is_not_there_is_refused_with_those_that_are(measured: Measured):
    sweep(plan())
    with pytest.raises(IrbenchError, match="no sweep 'nigt'") as caught:
        irbench.load_sweep("nigt")
    assert caught.value.hint == "Sweeps: night"


def test_a_sweep_of_an_older_irbench_is_shown_after_it_went_on(measured: Measured):
    sweep(plan())
    path = measured.results / "sweeps" / "night" / "state.jsonl"
    header, *events = path.read_text().splitlines(keepends=True)
    old = {key: value for key, value in json.loads(header).items() if key != "tables"} | {"format": 1}
    path.write_text(json.dumps(old) + "\n" + "".join(events))
    called = front_door.irbench("show", "night")
    assert called.code == 2
    assert "--name night --resume" in called.err
    sweep(plan(), resume=True)
    assert front_door.irbench("show", "night").code == 0


def test_tables_whose_runs_were_deleted_are_measured_again_when_the_sweep_goes_on(measured: Measured):
    first, *others = sweep(plan()).runs()
    irbench.remove_runs(first.id)
    assert "its run was deleted" in front_door.irbench("show", "night").out
    found = sweep(plan(), resume=True)
    assert len(measured.batches) == 4
    assert {run.id for run in others} < {run.id for run in found.runs()}
    assert len(found.runs()) == 3


def test_a_sweep_whose_runs_were_deleted_says_how_to_measure_it_again_and_can_be_removed(measured: Measured):
    for run in sweep(plan()).runs():
        irbench.remove_runs(run.id)
    with pytest.raises(IrbenchError, match="runs of the sweep night were deleted") as caught:
        find_runs(measured.results, "night")
    assert "--name night --resume" in caught.value.hint
    removed = front_door.irbench("results", "rm", "night", "--yes")
    assert (removed.code, removed.out) == (0, "removed the sweep night\n")
    assert StateFile.read(measured.results, "night") is None


def test_a_sweep_is_written_as_the_plan_that_it_was_begun_with(measured: Measured):
    sweep(plan(), name="day")
    written = irbench.plan_from("day")
    assert written == {**plan(), "name": "day"}
    assert 'name = "day"' in front_door.irbench("plan", "from", "day").out
