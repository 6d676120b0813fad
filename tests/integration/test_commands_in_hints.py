"""A command in a hint works when it is typed, wherever the runs are kept."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from cold_and_soak_runs import soak_example
from documents import example
from front_door import Called, irbench
from stored_plans import stored_plan
from stored_runs import measured

import irbench as api
from irbench.notices.warnings import FewCleanBlocks
from irbench.terminal.run_hints import how_to_resume

_COMMAND = re.compile(r"irbench (?:results|show|profile)[^\n]*")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of results with a blank in its name, which is not where commands look by themselves."""
    return tmp_path / "my runs"


def typed(called: Called) -> Called:
    """Return what the command of a hint does."""
    (hint,) = (line for line in called.err.splitlines() if line.startswith("hint: "))
    (command,) = _COMMAND.findall(hint)
    return irbench(*shlex.split(command)[1:], *(["--yes"] if " rm " in command else []))


def test_the_list_of_runs_is_that_of_the_folder_that_was_named(root: Path) -> None:
    run = measured(root).document.run_id
    for call in (("show", "nix"), ("compare", "nix", run), ("receipt", "nix"), ("results", "export", "--model", "nix")):
        found = typed(irbench(*call, "--results", root))
        assert found.code == 0, found.err
        assert run in found.out


def test_the_folder_is_not_named_where_commands_look_by_themselves(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(root)
    monkeypatch.setenv("IRBENCH_RESULTS", str(root))
    assert irbench("show", "nix").err.endswith("hint: List the stored runs: irbench results\n")


def test_a_run_whose_samples_are_wrong_is_deleted_by_the_command_of_its_hint(root: Path) -> None:
    writer = measured(root)
    writer.commit(replace(writer.document, groups=()))
    called = irbench("show", writer.document.run_id, "--samples", "--results", root)
    assert called.code == 2
    found = typed(called)
    assert found.code == 0, found.err
    assert not writer.folder.exists()


def test_what_is_imported_with_other_content_names_the_stored_run(root: Path, tmp_path: Path) -> None:
    writer = measured(root)
    archive = tmp_path / "a.tar.gz"
    assert irbench("results", "export", "latest", "-o", archive, "--results", root).code == 0
    writer.commit(replace(writer.document, plan=stored_plan(note="other")))
    called = irbench("results", "import", archive, "--results", root)
    assert called.code == 2
    found = typed(called)
    assert found.code == 0, found.err
    assert irbench("results", "import", archive, "--results", root).code == 0


@pytest.mark.parametrize("columns", [None, "80"])
def test_a_table_names_the_call_that_shows_its_warnings(
    root: Path, monkeypatch: pytest.MonkeyPatch, columns: str | None
) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    table = replace(example(), warnings=(FewCleanBlocks.example(),))
    run = measured(root, table).document.run_id
    shown = irbench("show", run, "--results", root)
    (line,) = (line for line in shown.out.splitlines() if "irbench show" in line)
    command = line[line.index("irbench show") :]
    assert command == f"irbench show {run} --results '{root}' --warnings"
    assert "Close other programs" in irbench(*shlex.split(command)[1:]).out


def test_a_table_in_python_names_the_call_of_python(root: Path) -> None:
    table = replace(example(), warnings=(FewCleanBlocks.example(),))
    run = api.load(measured(root, table).document.run_id, results=root)
    assert "print(run.to_text(warnings=True))" in run.to_text()
    assert "irbench show" not in run.to_text(memory=True)


def test_a_run_that_cannot_be_asked_for_again_names_the_list_of_the_others(root: Path) -> None:
    run = measured(root).document.run_id
    found = typed(irbench("plan", "from", run, "--results", root))
    assert run in found.out


def test_a_run_whose_samples_are_elsewhere_is_shown_by_the_command_of_the_hint(root: Path) -> None:
    writer = measured(root)
    writer.commit(replace(writer.document, groups=(), soaks=soak_example().soaks))
    run = writer.document.run_id
    found = typed(irbench("show", run, "--samples", "--results", root))
    assert found.document["run_id"] == run


def test_what_is_continued_is_named_with_its_folder_where_that_is_not_the_usual_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert how_to_resume("01K", root) == f"irbench run --resume 01K --results '{root}'"
    monkeypatch.setenv("IRBENCH_RESULTS", str(root))
    assert how_to_resume("01K", root) == "irbench run --resume 01K"
    assert how_to_resume("01K", None) == "irbench run --resume 01K"


def test_several_runs_of_one_name_are_listed_by_the_command_of_the_line_that_says_so(root: Path) -> None:
    for _ in range(2):
        writer = measured(root)
        writer.commit(replace(writer.document, plan=replace(writer.document.plan, name="same")))
    said = irbench("show", "same", "--results", root).err
    (line,) = (line for line in said.splitlines() if "2 runs are called" in line)
    assert line.endswith(f"All of them: irbench results --results '{root}'")
