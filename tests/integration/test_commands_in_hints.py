"""A command in a hint works when it is typed, wherever the runs are kept."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from documents import example
from front_door import Called, irbench
from stored_runs import measured

from irbench.notices import Warn

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
    writer.commit(replace(writer.document, plan={"note": "other"}))
    called = irbench("results", "import", archive, "--results", root)
    assert called.code == 2
    found = typed(called)
    assert found.code == 0, found.err
    assert irbench("results", "import", archive, "--results", root).code == 0


def test_a_table_names_the_call_that_shows_its_warnings(root: Path) -> None:
    table = replace(example(), warnings=(Warn("few-clean-blocks", {"launches": 1, "wanted": 4}),))
    run = measured(root, table).document.run_id
    shown = irbench("show", run, "--results", root)
    command = re.search(rf"irbench show {run} --results '[^']*' --warnings", " ".join(shown.out.split()))
    assert command is not None, shown.out
    assert irbench(*shlex.split(command[0])[1:]).code == 0
