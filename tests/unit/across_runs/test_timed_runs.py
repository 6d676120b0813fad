"""The samples of a run are read and checked once, and again where its files are others."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_runs import EVEN, store, times

from irbench.across_runs.checked_runs import Incomplete, RunProblem, Unreadable
from irbench.across_runs.timed_runs import TimedRun, forget_times, read_timed_runs
from irbench.store.folders import run_folders


def read(root: Path) -> tuple[tuple[TimedRun, ...], tuple[RunProblem, ...], list[int]]:
    counts: list[int] = []
    folders = [root / folder for folder, _ in run_folders(root)]
    runs, problems = read_timed_runs(root, folders, counts.append)
    return runs, problems, counts


def test_a_run_is_read_once_and_has_its_time_in_each_launch(tmp_path: Path):
    store(tmp_path, {"ort": EVEN, "tf": times(3)})
    first, _, counts = read(tmp_path)
    again, _, later = read(tmp_path)
    assert (counts, later) == ([1], [0])
    assert again == first
    assert [launches for key, launches in first[0].times.items() if key.backend == "ort"] == [pytest.approx(EVEN)]


def test_a_run_whose_samples_changed_is_read_again_and_left_out(tmp_path: Path):
    writer = store(tmp_path, {"ort": EVEN})
    read(tmp_path)
    launch = next(writer.folder.glob("launch-*"))
    launch.write_bytes(launch.read_bytes()[:-1])
    runs, problems, _ = read(tmp_path)
    assert runs == ()
    assert [type(problem) for problem in problems] == [Unreadable]


def test_an_index_that_others_wrote_is_not_believed(tmp_path: Path):
    store(tmp_path, {"ort": EVEN})
    first, _, _ = read(tmp_path)
    (tmp_path / "times.sqlite").write_bytes(b"no database")
    runs, _, counts = read(tmp_path)
    assert runs == first
    assert counts == [1]


def test_what_is_forgotten_is_read_again(tmp_path: Path):
    store(tmp_path, {"ort": EVEN})
    read(tmp_path)
    forget_times(tmp_path)
    assert read(tmp_path)[2] == [1]


def test_runs_outside_the_store_are_read_too(tmp_path: Path):
    writer = store(tmp_path / "elsewhere", {"ort": EVEN})
    (tmp_path / "results").mkdir()
    runs, problems = read_timed_runs(tmp_path / "results", [writer.folder])
    assert len(runs) == 1
    assert problems == ()


def test_a_run_that_ended_early_is_used_and_named_each_time(tmp_path: Path):
    writer = store(tmp_path, {"ort": EVEN})
    document = writer.folder / "run.json"
    document.write_text(document.read_text().replace('"complete": true', '"complete": false'))
    for _ in range(2):
        runs, problems, _ = read(tmp_path)
        assert len(runs) == 1
        assert [type(problem) for problem in problems] == [Incomplete]
