"""Runs that are damaged, foreign, half-written or altered: each is named, and none stops the others."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import EVEN, store
from stored_runs import altered

from irbench.across_runs.checked_runs import Altered, CheckedRun, RunProblem, read_run
from irbench.across_runs.differences import fingerprint
from irbench.across_runs.side_comparison import MACHINE as MACHINE_PREFIX
from irbench.across_runs.side_comparison import Side, read_side
from irbench.errors import IrbenchError
from irbench.store.archives import pack, unpack


def read(folder: Path) -> tuple[CheckedRun | None, list[RunProblem]]:
    run, problems = read_run(folder)
    return run, list(problems)


def named(name: object, root: Path, scratch: Path) -> Side:
    scratch.mkdir(parents=True, exist_ok=True)
    return read_side(str(name), root, scratch, unpack)


def test_a_sound_run_has_all_launches_and_no_problem(tmp_path: Path):
    run, problems = read(store(tmp_path, {"ort": EVEN}).folder)
    assert run is not None
    assert len(run.records) == len(EVEN)
    assert problems == []


def test_every_damaged_launch_has_a_line_of_its_own(tmp_path: Path):
    folder = store(tmp_path, {"ort": EVEN}).folder
    first, second, *_ = sorted(folder.glob("launch-*.bin"))
    first.write_bytes(altered(first.read_bytes()))
    second.unlink()
    run, problems = read(folder)
    assert run is None
    assert [problem.code for problem in problems] == ["unreadable", "unreadable"]
    assert "checksum" in problems[0].text()
    assert "cannot be read" in problems[1].text()


def test_figures_that_do_not_follow_from_the_samples_exclude_a_run(tmp_path: Path):
    folder = store(tmp_path, {"ort": EVEN, "tf": EVEN}).folder
    document = json.loads((folder / "run.json").read_text())
    row = document["groups"][0]["cells"][0]
    row["latency_ms"]["p50"] *= 0.9
    (folder / "run.json").write_text(json.dumps(document))
    run, problems = read(folder)
    assert run is None
    assert [(problem.code, problem.facts) for problem in problems] == [("figures-altered", Altered((row["label"],)))]


def test_another_irbench_may_have_derived_other_figures(tmp_path: Path):
    folder = store(tmp_path, {"ort": EVEN}).folder
    document = json.loads((folder / "run.json").read_text())
    document["groups"][0]["cells"][0]["latency_ms"]["p50"] *= 0.9
    document["irbench_version"] = "0.0.1"
    (folder / "run.json").write_text(json.dumps(document))
    assert read(folder)[1] == []


def test_a_newer_format_and_half_a_document_are_problems(tmp_path: Path):
    newer, half = (store(tmp_path, {"ort": EVEN}).folder for _ in range(2))
    document = json.loads((newer / "run.json").read_text())
    (newer / "run.json").write_text(json.dumps({**document, "schema_version": 99}))
    (half / "run.json").write_text((half / "run.json").read_text()[:200])
    assert "newer irbench" in read(newer)[1][0].text()
    assert "damaged" in read(half)[1][0].text()


def test_a_run_that_ended_early_is_used_and_told(tmp_path: Path):
    writer = store(tmp_path, {"ort": EVEN})
    writer.commit(replace(writer.document, complete=False))
    run, problems = read(writer.folder)
    assert run is not None
    assert [problem.code for problem in problems] == ["incomplete"]


def test_a_document_without_its_samples_is_a_problem(tmp_path: Path):
    folder = store(tmp_path, {"ort": EVEN}).folder
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("launch-*"))
    assert read(tmp_path / "copy")[1][0].code == "without-samples"


def test_one_bad_run_in_a_folder_leaves_the_others(tmp_path: Path):
    bad, good = (store(tmp_path / "both", {"ort": EVEN}) for _ in range(2))
    (bad.folder / "run.json").write_text("{}")
    found = named(tmp_path / "both", tmp_path, tmp_path / "scratch")
    assert [run.run_id for run in found.runs] == [good.document.run_id]
    assert [problem.code for problem in found.problems] == ["unreadable"]


def test_a_side_is_a_run_a_file_a_folder_an_archive_or_a_machine(tmp_path: Path):
    root = tmp_path / "results"
    writer = store(root, {"ort": EVEN})
    run_id = writer.document.run_id
    pack([writer.folder], tmp_path / "run.tar.gz")
    machine = fingerprint(writer.document.environment)
    names = [run_id, writer.folder, writer.folder / "run.json", root, tmp_path / "run.tar.gz", "latest"]
    for number, name in enumerate([*names, f"{MACHINE_PREFIX}{machine[:4]}"]):
        found = named(name, root, tmp_path / str(number))
        assert [run.run_id for run in found.runs] == [run_id], name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "There is no run"),
        ("machine:ffff", "No machines have a fingerprint"),
        ("{root}/empty", "contains no run"),
        ("{root}/other.json", "neither a run's run.json nor an archive"),
    ],
)
def test_what_is_no_side_is_refused_with_a_remedy(tmp_path: Path, name: str, said: str):
    store(tmp_path / "results", {"ort": EVEN})
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(IrbenchError, match=said) as refused:
        named(name.format(root=tmp_path), tmp_path / "results", tmp_path / "scratch")
    assert refused.value.hint
