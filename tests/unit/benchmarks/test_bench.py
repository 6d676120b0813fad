"""The entry: a subject that fails leaves a row, the others go on, and only a failure changes the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks import bench
from benchmarks.rows import Finding, Goal


def well(_: object) -> Iterator[Finding]:
    yield Finding("well", "a ratio", "s", (3.0, 3.0), (2.0, 2.0), "a peer", Goal("ratio", "<=", 1.3))


def broken(_: object) -> Iterator[Finding]:
    yield Finding("broken", "what came before", "s", (1.0,))
    raise RuntimeError("the runtime is not installed")


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setattr(bench, "SUBJECTS", {"broken": broken, "harness": well})
    return CliRunner().invoke(bench.main, arguments)


def test_a_missed_goal_is_shown_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    done = call(monkeypatch, "--only", "harness")
    assert done.exit_code == 0
    assert "MISSED" in done.stdout


def test_a_subject_that_fails_is_a_row_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    done = call(monkeypatch, "--format", "json")
    found = json.loads(done.stdout)["findings"]
    assert done.exit_code == 1
    assert [(item["subject"], item["failed"]) for item in found] == [
        ("broken", False),
        ("broken", True),
        ("well", False),
    ]
    assert found[1]["remark"] == "RuntimeError: the runtime is not installed"
    assert found[2]["medians"] == {"own": 3.0, "ratio": 1.5, "difference": 1.0}
    assert found[2]["met"] == "missed"


def test_the_report_goes_into_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = call(monkeypatch, "--only", "harness", "--format", "md", "-o", str(tmp_path / "figures.md"))
    assert done.stdout == ""
    assert (tmp_path / "figures.md").read_text().startswith("| subject | what |")


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = call(monkeypatch, "-o", str(tmp_path / "missing" / "figures.md"))
    assert done.exit_code == 2
    assert "harness" not in done.stderr
