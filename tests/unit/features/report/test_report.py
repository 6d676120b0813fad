"""``irbench report`` finds results by their names, and what it cannot write or read leaves nothing behind."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import EVEN, store, times
from documents import ENVIRONMENT, cell, example, group, speedup
from front_door import irbench
from launches import even
from profiles import example as profiled
from stored_plans import stored_plan
from stored_runs import altered

from irbench.core.result import RunDocument
from irbench.errors import ExitCode
from irbench.features.profile.profile_document import encode_profile
from irbench.features.report import contents
from irbench.features.report.contents import contents_of
from irbench.features.report.view import page_of_runs
from irbench.pages.html import entry_of
from irbench.pages.values import PageFigures
from irbench.runner.plan import PlannedGroup
from irbench.spec import LossCheck
from irbench.store.profiles import begin_profile
from irbench.store.runs import Store


def damage_samples(folder: Path) -> None:
    """Change a byte of the raw samples of a run."""
    for path in folder.glob("*.bin"):
        path.write_bytes(altered(path.read_bytes()))


PROFILE = "01JDA000000000000000000000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    store(folder, {"ort": EVEN, "tf": times(2)}, plan={"name": "before"})
    store(folder, {"ort": times(1.3), "tf": times(2)}, plan={"name": "after"})
    begin_profile(folder, "2025-11-20T00:00:00+00:00", PROFILE).commit(encode_profile(profiled()))
    return folder


def test_a_name_is_a_run_else_a_profile_else_a_model(root: Path):
    assert [document.plan.name for document, _ in contents_of(root, ["before"]).runs] == ["before"]
    (profile,) = contents_of(root, [PROFILE[:10]]).results
    (history,) = contents_of(root, ["tiny"]).results
    assert profiled().model in profile.name
    assert "tiny" in history.name


def test_two_runs_are_compared_the_older_one_first_however_they_are_named(root: Path):
    for names in (["before", "after"], ["after", "before"]):
        found = contents_of(root, names)
        (comparison,) = found.results
        assert comparison.question.index("before") < comparison.question.index("after")
        assert len(found.runs) == 2


def test_two_runs_of_one_name_are_told_apart_by_their_ids(root: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    ids = [store(root, {"ort": times(factor)}, plan={"name": "nightly"}).document.run_id for factor in (1, 1.3)]
    found = contents_of(root, ids)
    (comparison,) = found.results
    assert comparison.name == " and ".join(ids)
    assert [figure.title for figure in comparison.figures()] == [f"Time of {ids[1]} over {ids[0]}"]
    page = page_of_runs(found.runs, draws=False)
    assert [run.name for run in page.entries] == [f"nightly ({run_id})" for run_id in ids]


@pytest.mark.parametrize("names", [["before"], ["before", "before"], ["before", PROFILE], ["before", "after", PROFILE]])
def test_nothing_else_is_compared(names: list[str], root: Path):
    found = contents_of(root, names)
    assert not any(result.name == "before and after" for result in found.results)


def test_runs_of_two_machines_are_not_compared(root: Path):
    store(root, {"ort": EVEN}, plan={"name": "elsewhere"}, environment={"cpu": {"Model name": "Another CPU"}})
    assert contents_of(root, ["before", "elsewhere"]).results == ()


def test_a_run_that_confirms_a_search_stands_with_the_search(root: Path):
    search = store(root, {"ort": EVEN, "tf": times(2)}, plan={"name": "search", "is_part_of": "search"})
    store(root, {"ort": EVEN}, plan={"name": "confirmed", "search_run": search.document.run_id})
    for name in ("search", "confirmed"):
        (result,) = contents_of(root, [name]).searches
        assert search.document.run_id in result.question


def test_a_search_that_was_removed_is_left_out(root: Path):
    store(root, {"ort": EVEN}, plan={"name": "confirmed", "search_run": "01KAJ3WQ4R8Z6M1X0V9T7S5000"})
    assert contents_of(root, ["confirmed"]).searches == ()


def test_a_run_of_several_tables_is_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    planned: list[str] = []

    def plan_again(document: RunDocument, _: Path) -> tuple[PlannedGroup, ...]:
        planned.append(document.run_id)
        return ()

    monkeypatch.setattr(contents, "planned_again", plan_again)
    tables = (example(), replace(example(), batch=2), replace(example(), batch=4))
    writer = Store(tmp_path).begin(ENVIRONMENT, stored_plan(models=["tiny"], asked={}))
    run = writer.commit(replace(writer.document, groups=tables, complete=True))
    found = contents_of(tmp_path, [run.run_id]).programs
    assert planned == [run.run_id]
    assert {place for _, place in found} == {0, 1, 2}
    assert {program.missing for program in found.values()} == {"unknown"}


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"data": "samples"}, "data"),
        ({"cells": {"mine": {"kind": "callable", "target": "mine:load"}}}, "own-code"),
        ({"models": ["/nowhere/tiny.onnx"]}, "graph"),
        ({"is_part_of": "search"}, "unknown"),
    ],
)
def test_a_page_says_why_it_has_no_program_and_reads_neither_data_nor_code(
    plan: dict[str, Any], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if why != "graph":
        monkeypatch.setattr(contents, "planned_again", lambda *_: pytest.fail("the run was planned"))
    run = store(tmp_path, {"ort": EVEN}, plan=plan).document.run_id
    (program,) = contents_of(tmp_path, [run]).programs.values()
    assert (program.missing, program.text) == (why, "")


def test_tables_of_training_steps_have_no_program(tmp_path: Path):
    store(tmp_path, {"tf": EVEN}, row={"loss": LossCheck((2.3, 2.0), 2.3, 2.0)}, plan={"training": {}})
    assert contents_of(tmp_path, ["latest"]).programs == {}


@pytest.mark.ci
def test_samples_of_a_search_that_are_damaged_leave_out_its_charts_alone(root: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    search = store(root, {"ort": EVEN}, plan={"name": "search", "is_part_of": "search"})
    damage_samples(search.folder)
    (result,) = contents_of(root, ["search"]).searches
    (section,) = entry_of(result, "result0").sections
    assert not any(isinstance(part, PageFigures) for part in section.parts)
    assert section.warnings


@pytest.mark.ci
def test_a_run_of_500_rows_has_them_all_on_a_page_of_few_megabytes(tmp_path: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    levels_ms = {f"row-{number}": 2 + number / 100 for number in range(500)}
    writer = Store(tmp_path / "results").begin(ENVIRONMENT, stored_plan(models=["tiny"]))
    for record in even({name: [level_ms] * 3 for name, level_ms in levels_ms.items()}):
        writer.add_launch(record)
    rows = (
        cell(label=name, id=name, p50=level_ms, speedup=speedup(level_ms, level_ms * 0.9, level_ms * 1.1))
        for name, level_ms in levels_ms.items()
    )
    writer.commit(replace(writer.document, groups=(group(*rows),), complete=True))
    called = irbench("report", "--results", tmp_path / "results", "-o", tmp_path / "page.html")
    assert called.code == 0, called.err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count('<tr data-row="') == 500
    assert len(set(re.findall(r'data-row="([^"]*)" aria-label=', text))) == 500
    assert len(text) < 4_000_000


@pytest.mark.parametrize("name", ["nobody", "01ZZZ", "/nowhere", "", "tiny0", "a" * 5000])
def test_what_is_not_stored_is_one_line_and_writes_nothing(name: str, root: Path, tmp_path: Path):
    called = irbench("report", name, "--results", root, "-o", tmp_path / "page.html")
    assert called.code == ExitCode.USAGE
    assert called.err.count("error: ") == 1
    assert "Traceback" not in called.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"\x00\xff", b'{"schema_version": 1}', b"[" * 100_000],
    ids=lambda content: repr(content[:20]),
)
@pytest.mark.parametrize("form", ["html", "svg"])
def test_a_run_that_is_damaged_or_of_an_older_format_is_one_line_and_writes_nothing(
    content: bytes, form: str, root: Path, tmp_path: Path
):
    pytest.importorskip("altair", reason="needs the extra report")
    run = store(root, {"ort": EVEN}, plan={"name": "broken"})
    (run.folder / "run.json").write_bytes(content)
    called = irbench("report", "before", run.folder, "--results", root, "--format", form, "-o", tmp_path / "out")
    assert called.code == ExitCode.USAGE
    assert called.err.count("error: ") == 1
    assert "Traceback" not in called.err
    assert not (tmp_path / "out").exists()


def test_a_profile_that_is_damaged_is_one_line_and_writes_nothing(root: Path, tmp_path: Path):
    begin_profile(root, "2025-11-21T00:00:00+00:00", "01JDB000000000000000000000").commit(b"{}")
    called = irbench("report", "01JDB", "--results", root, "-o", tmp_path / "page.html")
    assert called.code == ExitCode.USAGE
    assert not (tmp_path / "page.html").exists()


def test_samples_that_are_damaged_leave_no_chart_behind(root: Path, tmp_path: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    run = store(root, {"ort": EVEN}, plan={"name": "broken"})
    damage_samples(run.folder)
    called = irbench("report", "before", "broken", "--results", root, "--format", "vega", "-o", tmp_path / "charts")
    assert called.code == ExitCode.USAGE
    assert not (tmp_path / "charts").exists()


@pytest.mark.ci
@pytest.mark.parametrize("form", ["html", "vega"])
def test_an_output_that_exists_is_kept_unless_it_is_to_be_replaced(form: str, root: Path, tmp_path: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    output = tmp_path / "there"
    if form == "html":
        output.write_text("mine", encoding="utf-8")
    else:
        output.mkdir()
        (output / "speedups.json").write_text("mine", encoding="utf-8")
    own = output if form == "html" else output / "speedups.json"
    asked = ("report", "before", "--results", root, "--format", form, "-o", output)
    assert irbench(*asked).code == ExitCode.USAGE
    assert own.read_text(encoding="utf-8") == "mine"
    assert irbench(*asked, "--force").code == 0
    assert own.read_text(encoding="utf-8") != "mine"


def test_a_folder_that_does_not_exist_is_refused(root: Path, tmp_path: Path):
    called = irbench("report", "before", "--results", root, "-o", tmp_path / "no" / "page.html")
    assert called.code == ExitCode.USAGE
    assert not (tmp_path / "no").exists()


@pytest.mark.ci
@pytest.mark.parametrize("change", [{"baseline": None}, {"baseline": "gone"}])
def test_a_table_of_one_row_and_without_a_baseline_has_a_page(change: dict[str, str], root: Path, tmp_path: Path):
    store(root, {"ort": EVEN}, plan={"name": "alone"}, table=change)
    called = irbench("report", "alone", "--results", root, "-o", tmp_path / "page.html")
    assert called.code == 0, called.err
    assert (tmp_path / "page.html").stat().st_size > 0


@pytest.mark.ci
def test_charts_of_several_results_have_folders_of_their_own(root: Path, tmp_path: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    called = irbench("report", "before", PROFILE, "--results", root, "--format", "vega", "-o", tmp_path / "charts")
    assert called.code == 0, called.err
    files = {str(path.relative_to(tmp_path / "charts")) for path in (tmp_path / "charts").rglob("*.json")}
    assert {"result-1/classes.json", "table-1/speedups.json"} <= files
    for file in files:
        assert "vega-lite" in json.loads((tmp_path / "charts" / file).read_text(encoding="utf-8"))["$schema"]


@pytest.mark.ci
@pytest.mark.parametrize(
    "command", [("history", "tiny"), ("compare", "before", "after"), ("profile", "--show", PROFILE)]
)
def test_commands_write_pages_and_charts(command: tuple[str, ...], root: Path, tmp_path: Path):
    pytest.importorskip("altair", reason="needs the extra report")
    page = irbench(*command, "--results", root, "--format", "html", "-o", tmp_path / "page.html")
    assert page.code == 0, page.err
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")
    charts = irbench(*command, "--results", root, "--format", "vega", "-o", tmp_path / "charts")
    assert charts.code == 0, charts.err
    assert list((tmp_path / "charts").glob("*.json"))
    for output in ((), ("-o", tmp_path / "charts")):
        assert irbench(*command, "--results", root, "--format", "svg", *output).code == ExitCode.USAGE


@pytest.mark.ci
def test_a_store_keeps_what_pages_were_made_of(root: Path, tmp_path: Path):
    before = {path: path.read_bytes() for path in Store(root).root.rglob("*.bin")}
    assert irbench("report", "before", "after", "--results", root, "-o", tmp_path / "page.html").code == 0
    assert {path: path.read_bytes() for path in before} == before
