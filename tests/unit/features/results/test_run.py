"""``irbench show`` and ``irbench results``: what was measured is printed again."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cold_and_soak_runs import cold
from documents import ENVIRONMENT, cell, example, group, launch
from stored_plans import stored_plan

from irbench.core.row import Spans
from irbench.errors import IrbenchError
from irbench.features.results import command as results
from irbench.features.show import command as show
from irbench.store.folders import default_root
from irbench.store.runs import RunWriter, Store


def measured(model: str = "resnet50", *, complete: bool = True) -> RunWriter:
    writer = Store(default_root()).begin(ENVIRONMENT, stored_plan())
    writer.add_launch(launch())
    table = replace(example(), model=model)
    writer.commit(replace(writer.document, groups=(table, group(cell("ort", streams=4))), complete=complete))
    return writer


def shown(*arguments: str) -> Result:
    return CliRunner().invoke(show.command, arguments, catch_exceptions=False)


def listed(*arguments: str) -> Result:
    return CliRunner().invoke(results.command, arguments, catch_exceptions=False)


def test_show_prints_the_latest_run_again():
    measured("alexnet")
    text = shown().stdout
    assert text.startswith("alexnet  1x224x224x3 · fp32 · 2 threads on 2 cores")
    assert "openvino is fastest: 1.14x its nearest rival ort [1.12, 1.16]" in text
    assert "\n\nresnet50" in text


def test_show_names_the_run_and_its_note_beside_the_table():
    writer = Store(default_root()).begin(ENVIRONMENT, stored_plan(name="before", note="without the patch"))
    writer.add_launch(launch())
    writer.commit(replace(writer.document, groups=(example(),), complete=True))
    first, second, *_ = shown("before").stderr.splitlines()
    assert first.startswith(f"run {writer.document.run_id} (before) of ")
    assert second == "note: without the patch"


def test_show_says_nothing_of_a_name_and_a_note_where_there_are_none():
    run_id = measured().document.run_id
    assert shown().stderr.startswith(f"run {run_id} of ")
    assert "note" not in shown().stderr


def test_show_says_which_of_several_runs_of_a_name_it_shows():
    for _ in range(2):
        writer = Store(default_root()).begin(ENVIRONMENT, stored_plan(name="same"))
        writer.add_launch(launch())
        writer.commit(replace(writer.document, groups=(example(),), complete=True))
    said = shown("same").stderr
    assert f"2 runs are called 'same': taking {writer.document.run_id}" in said


def test_rm_refuses_a_name_of_several_runs():
    for _ in range(2):
        Store(default_root()).begin(ENVIRONMENT, stored_plan(name="same"))
    with pytest.raises(IrbenchError, match="2 runs are called 'same'") as caught:
        listed("rm", "same", "--yes")
    assert "Write the id" in caught.value.hint


def test_show_puts_intervals_behind_figures_on_demand():
    rows = [
        replace(cell_, p50_over_launches=Spans(32.5, low=32.1, high=33.0, all_blocks_value=32.6))
        for cell_ in example().cells
    ]
    writer = Store(default_root()).begin(ENVIRONMENT, stored_plan())
    writer.add_launch(launch())
    writer.commit(replace(writer.document, groups=(replace(example(), cells=tuple(rows)),), complete=True))
    assert "32.5 [32.1, 33.0]" in shown("--intervals").stdout
    assert "32.1" not in shown().stdout


@pytest.mark.parametrize("form", [("--format", "json"), ("--samples",)])
def test_intervals_are_for_the_table_that_people_read(form: tuple[str, ...]):
    measured()
    with pytest.raises(IrbenchError, match="--format table only") as caught:
        shown("--intervals", *form)
    assert "p50_over_launches" in caught.value.hint


def test_show_says_that_a_run_was_cut_short():
    measured(complete=False)
    assert shown().stdout.endswith("\nThe run is incomplete: tables may be missing.\n")
    measured()
    assert "tables may be missing" not in shown().stdout


def test_show_takes_a_name_a_folder_and_another_place(own_home: Path, monkeypatch: pytest.MonkeyPatch):
    writer = measured("alexnet")
    run_id, root = writer.document.run_id, default_root()
    monkeypatch.setenv("IRBENCH_RESULTS", str(own_home / "empty"))
    for arguments in ((str(writer.folder),), (run_id, "--results", str(root)), ("latest", "--results", str(root))):
        assert shown(*arguments).stdout.startswith("alexnet")


def test_show_writes_a_file_and_any_format(tmp_path: Path):
    writer = measured()
    assert shown("--format", "json", "-o", str(tmp_path / "run.json")).stdout == ""
    assert json.loads((tmp_path / "run.json").read_text())["run_id"] == writer.document.run_id
    printed = json.loads(shown("--format", "json", "-o", "-").stdout)
    assert printed == json.loads((writer.folder / "run.json").read_text())
    assert len(shown("--format", "jsonl").stdout.splitlines()) == 5
    assert len(list(csv.reader(io.StringIO(shown("--format", "csv").stdout)))) == 6
    assert "| openvino | fp32 |" in shown("--format", "md").stdout


def test_results_lists_the_newest_first_with_who_won():
    first, second = sorted((measured("alexnet"), measured("vgg16")), key=lambda run: run.document.run_id)
    lines = listed().stdout.splitlines()
    headings = ["run", "age", "when", "(UTC)", "models", "batch", "streams", "threads", "launches", "rows", "outcome"]
    assert lines[0].split() == [*headings, "machine"]
    assert [line.split()[0] for line in lines[1:]] == [second.document.run_id, first.document.run_id]
    assert "ort x4" in lines[1]
    assert "openvino 1.14x ort" in lines[1]
    assert "(incomplete)" not in lines[1]


def test_results_lose_no_word_in_a_terminal_of_eighty_columns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    measured("mobilenet_v3_large")
    lines = listed().stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("openvino 1.14x ort" in line for line in lines)


def test_results_can_be_narrowed():
    measured("alexnet")
    measured("vgg16", complete=False)
    assert len(listed("--model", "alexnet").stdout.splitlines()) == 2
    assert "(incomplete)" in listed("--model", "vgg16").stdout
    assert len(listed("--backend", "ort").stdout.splitlines()) == 3
    assert len(listed("--backend", "ort x4").stdout.splitlines()) == 3
    assert len(listed("--limit", "1").stdout.splitlines()) == 2
    assert len(listed("--since", "1h").stdout.splitlines()) == 3
    none = listed("--backend", "tvm")
    assert none.stdout == ""
    assert "matches" in none.stderr


def test_runs_that_are_too_old_are_left_out(monkeypatch: pytest.MonkeyPatch):
    from datetime import timedelta

    from irbench.measure.clock import utc_now

    measured()
    monkeypatch.setattr("irbench.measure.clock.utc_now", lambda: utc_now() + timedelta(days=8))
    assert listed("--since", "7d").stdout == ""
    assert len(listed("--since", "9d").stdout.splitlines()) == 2


def test_results_speak_to_programs_too(tmp_path: Path):
    measured("alexnet")
    (run,) = json.loads(listed("--format", "json").stdout)["runs"]
    assert run["models"] == ["alexnet", "resnet50"]
    assert run["launches"] == 1
    assert run["complete"] is True
    assert json.loads(listed("--format", "jsonl").stdout) == run
    (row,) = csv.DictReader(io.StringIO(listed("--format", "csv").stdout))
    assert row["run"] == run["run_id"]
    assert f"| {run['run_id']} |" in listed("--format", "md").stdout
    assert listed("-o", str(tmp_path / "list")).stdout == ""
    assert run["run_id"] in (tmp_path / "list").read_text()


def test_nothing_stored_is_said_on_stderr_and_is_an_empty_list_for_programs():
    assert "No runs are stored" in listed().stderr
    assert listed().stdout == ""
    assert json.loads(listed("--format", "json").stdout) == {"runs": [], "sweeps": []}
    assert listed("--format", "jsonl").stdout == ""


def test_a_damaged_run_is_a_warning_and_the_others_are_listed():
    damaged, sound = measured(), measured()
    (damaged.folder / "run.json").write_text("nonsense")
    result = listed()
    assert "warning: " in result.stderr
    assert str(damaged.folder) in result.stderr
    assert sound.document.run_id in result.stdout


def test_a_listing_of_known_runs_imports_no_arrays():
    measured()
    listed()
    code = (
        "import sys; from irbench.cli import main\n"
        "try: main(['results'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )  # fmt: skip
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "resnet50" in called.stdout
    assert not {"numpy", "onnx", "psutil"} & set(called.stderr.split())


def test_the_memory_of_rows_is_shown_in_place_of_their_speed():
    measured("alexnet")
    text = shown("--memory").output
    assert "private MB" in text
    assert "p50 ms" not in text


def test_memory_is_refused_where_a_run_has_no_table_of_it():
    writer = Store(default_root()).begin(ENVIRONMENT, stored_plan())
    writer.commit(replace(writer.document, cold_starts=cold().cold_starts, complete=True))
    with pytest.raises(IrbenchError, match="--memory applies to runs that compare speeds"):
        shown(writer.document.run_id, "--memory")


def test_other_formats_hold_memory_anyway():
    measured("alexnet")
    with pytest.raises(IrbenchError, match="--memory applies to --format table only"):
        shown("--memory", "--format", "csv")
