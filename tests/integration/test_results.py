"""Living with stored runs through the front door: listing them, removing them, and wrong calls."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from documents import ENVIRONMENT, cell, example, group, speedup
from front_door import irbench
from stored_plans import stored_plan
from stored_runs import FAILED, PREVIEW, listed, measured, measured_model, names, older_and_newer, refused, results

import irbench.features.results.command as results_command
from irbench.store.runs import Store
from irbench.system.locks import waiting_for


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


def test_a_listing_tells_winners_previews_and_failures_apart(root: Path) -> None:
    runs = {measured(root, table).document.run_id: table for table in (example(), PREVIEW, FAILED)}
    said = {"preview: openvino 1.08x ort", "openvino 1.14x ort", "failed"}
    assert {entry["outcomes"][0]["kind"] for entry in listed(root)} == {"preview", "winner", "failed"}
    table = irbench("results", "--results", root).out
    assert [run for run in (*said, *runs) if run not in table] == [], table


def test_a_narrow_listing_has_the_model_the_outcome_and_an_id_that_names_the_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (measured_model(Store(root), model).document.run_id for model in ("resnet50", "bert_mini"))
    monkeypatch.setenv("COLUMNS", "60")
    lines = irbench("results", "--results", root).out.splitlines()
    assert max(map(len, lines)) <= 60
    assert [word for word in ("run", "models", "outcome") if word not in lines[0].split()] == []
    shown = [line.split()[0] for line in lines if " openvino 1.14x" in line]
    assert [first.startswith(shown[1]), second.startswith(shown[0])] == [True, True]
    assert f"run {first} of " in irbench("show", shown[1], "--results", root).err


@pytest.mark.parametrize("columns", [60, 80])
def test_a_run_of_long_settings_is_shown_without_a_line_that_is_cut(
    root: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [f"openvino+extended 2x{streams} PERFORMANCE_HINT=THROUGHPUT" for streams in (1, 2, 4)]
    rows = [cell("openvino", id=label, label=label, batch=16, speedup=speedup(1.31, 1.29, 1.33)) for label in labels]
    measured(root, group(*rows, cell("ort")))
    monkeypatch.setenv("COLUMNS", str(columns))
    text = irbench("show", "--results", root).out
    assert max(map(len, text.splitlines())) <= columns
    assert text.count("[1.29, 1.33]") == 3
    assert text.count("faster") == 3


def test_latest_is_the_newest_run_with_a_figure_and_says_what_it_passed_over(root: Path) -> None:
    older, newer = older_and_newer(root, example(), FAILED)
    shown = irbench("show", "--results", root)
    assert shown.code == 0
    assert f"run {older.document.run_id}" in shown.err
    assert f"{newer.document.run_id} is newer, but none of its rows was measured" in shown.err


def test_latest_falls_back_on_a_run_without_a_figure_and_says_so(root: Path) -> None:
    only = measured(root, FAILED)
    shown = irbench("show", "latest", "--results", root)
    assert f"run {only.document.run_id}" in shown.err
    assert "no stored run has a measured row" in shown.err
    assert "SIGSEGV" in shown.out


def test_runs_are_removed_by_name_beginning_and_folder(root: Path) -> None:
    first, second, third, kept = (measured(root) for _ in range(4))
    called = results(root, "rm", first.document.run_id.lower(), second.folder, third.folder / "run.json", "--yes")
    assert called.code == 0, called.err
    assert called.out.count("removed ") == 3
    assert names(root) == {kept.document.run_id}
    assert not first.folder.exists()


@pytest.mark.ci
def test_of_two_calls_that_remove_the_same_runs_at_once_each_run_goes_once_and_neither_fails(root: Path) -> None:
    runs = [measured(root).document.run_id for _ in range(3)]
    asked = [sys.executable, "-P", "-m", "irbench", "results", "rm", *runs, "--yes", "--results", str(root)]
    with waiting_for(root):
        both = [subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        while len(list(root.glob(".removed-*"))) < 2:
            assert [call.poll() for call in both] == [None, None]
    ends = [call.communicate(timeout=100) for call in both]
    assert [call.returncode for call in both] == [0, 0], ends
    assert sorted(line for out, _ in ends for line in out.splitlines()) == [f"removed {run}" for run in sorted(runs)]
    assert sorted(line.split()[0] for _, err in ends for line in err.splitlines()) == sorted(runs)
    assert all("is gone already" in line for _, err in ends for line in err.splitlines())


def test_nothing_is_removed_without_a_yes_where_nobody_can_be_asked(root: Path) -> None:
    run = measured(root)
    assert refused(results(root, "rm", run.document.run_id), "not a terminal", "--yes")
    assert names(root) == {run.document.run_id}


@pytest.mark.ci
@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1), ("", 1)])
def test_a_terminal_is_asked_with_what_would_be_lost(root: Path, answer: str, left: int) -> None:
    run = measured(root)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "irbench", "results", "rm", run.document.run_id, "--results", str(root)]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, text=True) as asked:
        os.write(ours, f"{answer}\n".encode())
        _, said = asked.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert asked.returncode == 0
    assert "openvino 1.14x ort" in said
    assert "Delete this run? [y/N]" in said
    assert len(names(root)) == left


@pytest.mark.parametrize("wrong", ["nope", ""])
def test_no_run_is_removed_where_one_name_is_wrong(root: Path, wrong: str) -> None:
    run = measured(root)
    assert refused(results(root, "rm", run.document.run_id, wrong, "--yes"), "There is no run", "irbench results")
    assert names(root) == {run.document.run_id}


def test_a_beginning_that_fits_several_removes_none(root: Path) -> None:
    runs = {measured(root).document.run_id for _ in range(2)}
    assert refused(results(root, "rm", "0", "--yes"), "2 runs match '0'", "Give more characters")
    assert names(root) == runs


def test_a_folder_that_is_not_stored_here_is_not_removed(root: Path, tmp_path: Path) -> None:
    measured(root)
    elsewhere = measured(tmp_path / "elsewhere")
    assert refused(results(root, "rm", elsewhere.folder, "--yes"), "is not stored in", "--results")
    assert elsewhere.folder.is_dir()


def test_latest_is_not_removed_where_it_is_not_the_newest(root: Path) -> None:
    older, newer = older_and_newer(root, example(), FAILED)
    assert refused(results(root, "rm", "latest", "--yes"), newer.document.run_id, "by its id")
    assert results(root, "rm", newer.document.run_id, "--yes").code == 0
    assert older.document.run_id in results(root, "rm", "latest", "--yes").out
    assert names(root) == set()


def test_a_run_is_removed_from_inside_its_folder(root: Path) -> None:
    run = measured(root)
    command = [sys.executable, "-m", "irbench", "results", "rm", ".", "--yes", "--results", str(root)]
    done = subprocess.run(command, cwd=run.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"removed {run.document.run_id}\n"), done.stderr
    assert names(root) == set()


def test_a_run_that_was_never_measured_is_listed_and_removed_once_nobody_measures_it(root: Path) -> None:
    run = Store(root).begin(ENVIRONMENT, stored_plan())
    run_id = run.document.run_id
    assert "not measured (incomplete)" in irbench("results", "--results", root).out
    assert refused(results(root, "rm", run_id, "--yes"), "still being measured", "Ctrl-C")
    del run
    assert results(root, "rm", run_id, "--yes").out == f"removed {run_id}\n"
    assert names(root) == set()


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("ipmort",), "irbench results has no command 'ipmort'", "Did you mean import?"),
        (("remove",), "irbench results has no command 'remove'", "Commands: export, import, rm"),
        (("rm",), "Missing argument", "irbench results rm --help"),
        (("import",), "Missing argument", "irbench results import --help"),
        (("export", "latest"), "written to standard output", "Name a file with -o"),
        (("export",), "No run is named", "--all"),
        (("export", "latest", "--all", "-o", "x.csv"), "cannot be combined", "Leave one of them out"),
        (("export", "latest", "-o", "x.json"), "Several formats are .json files", "Add --format: pyperf"),
        (("export", "latest", "--format", "parkuet"), "is not one of 'archive'", "results export --help"),
        (("export", "latest", "--columns", "label", "-o", "x.tar.gz"), "does not apply to an archive", "--format csv"),
        (("export", "latest", "--columns", "label", "--format", "bencher"), "does not apply", "csv, md, jsonl"),
        (
            ("export", "latest", "--columns", "fsp,label,p50", "--format", "csv"),
            "'p50' (did you mean p50_ms?)",
            "docs/",
        ),
        (("export", "--model", "gone", "-o", "x.csv"), "matches", "irbench results"),
        (("export", "latest", "-o", "-"), "written to standard output", "-o"),
        (("export", "latest", "-o", "/nowhere/x.tar.gz"), "/nowhere", "mkdir -p"),
        (("export", "latest", "-o", "/"), "is a folder", "-o"),
        (("--limit", "3", "rm", "x"), "--limit before rm", "Leave it out"),
        (("--results", "x", "rm", "x"), "--results before rm", "results rm ... --results"),
        (("--rebuild", "--limit", "3"), "cannot be combined", "Rebuild first"),
        (("--limit", "0"), "'0' is not an integer", "--help"),
        (("--since", "-1d"), "'-1d' is not a duration", "--help"),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(arguments: tuple[str, ...], said: str, hint: str) -> None:
    assert refused(irbench("results", *arguments), said, hint)


def test_a_terminal_shows_the_newest_runs_and_says_how_to_see_the_others(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [measured(root).document.run_id for _ in range(4)]
    monkeypatch.setattr(results_command, "_MOST_LINES", 2)
    assert all(run in results(root).out for run in ids), "a pipe gets all"
    monkeypatch.setattr(results_command, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    called = results(root)
    assert [run in called.out for run in ids] == [False, False, True, True]
    assert "2 older runs not shown; --limit 4 shows all" in called.err
    for complete in (("--limit", "4"), ("--format", "csv"), ("--format", "json")):
        called = results(root, *complete)
        assert all(run in called.out for run in ids)
        assert "not shown" not in called.err
