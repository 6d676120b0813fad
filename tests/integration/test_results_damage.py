"""Whatever befalls a folder of results, the runs that are sound are listed and the others named."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from front_door import irbench
from stored_runs import PREVIEW, listed, measured, names, refused, results


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: "", "is damaged"),
        (lambda text: text.replace('"model"', '"modle"'), "is damaged"),
        (lambda text: text.replace('"run_id": "0', '"run_id": "../0'), "no run's name"),
        (lambda text: text.replace('"created": "2', '"created": "x2'), "is damaged"),
        (lambda text: re.sub(r'("winner": \{\s+"cell": ")', r"\1x", text), "none of its rows"),
    ],
    ids=["cut", "empty", "renamed field", "name", "moment", "winner"],
)
def test_a_damaged_document_is_named_and_hides_no_other_run(root: Path, harm: Callable[[str], str], said: str) -> None:
    damaged, sound = measured(root), measured(root)
    path = damaged.folder / "run.json"
    before = path.read_text()
    path.write_text(harm(before))
    assert path.read_text() != before
    called = irbench("results", "--results", root)
    assert called.code == 0
    assert sound.document.run_id in called.out
    assert str(path) in called.err
    assert refused(irbench("show", damaged.document.run_id, "--results", root), said, "other runs are not affected")
    assert irbench("show", sound.document.run_id, "--results", root).code == 0


@pytest.mark.parametrize("harm", ["deleted", "cut", "garbage", "empty"])
def test_a_broken_index_is_made_anew(root: Path, harm: str) -> None:
    measured(root)
    before = listed(root)
    index = root / "index.sqlite"
    data = index.read_bytes()
    index.unlink()
    if harm != "deleted":
        index.write_bytes({"cut": data[: len(data) // 2], "garbage": b"no database" * 500, "empty": b""}[harm])
    assert listed(root) == before
    assert sqlite3.connect(index).execute("select count(*) from runs").fetchone() == (1,)


def test_an_index_that_another_process_holds_is_waited_for_and_then_done_without(root: Path) -> None:
    measured(root)
    before = listed(root)
    holder = sqlite3.connect(root / "index.sqlite", isolation_level=None)
    holder.execute("pragma locking_mode=exclusive")
    holder.execute("begin exclusive")
    measured(root, PREVIEW)
    assert len(listed(root)) == 2
    assert holder.execute("select count(*) from runs").fetchone() == (1,)  # it was not taken away
    holder.close()
    assert len(listed(root)) == 2
    assert before[0] in listed(root)


def test_rebuilding_counts_the_runs_and_names_those_that_cannot_be_read(root: Path) -> None:
    damaged, _ = measured(root), measured(root)
    listed(root)
    (damaged.folder / "run.json").write_text("{")
    called = results(root, "--rebuild")
    assert called.code == 0
    assert called.out == f"index of {root} made anew: 1 run, 1 cannot be read\n"
    assert str(damaged.folder) in called.err


def test_a_folder_that_may_only_be_read_is_listed(root: Path) -> None:
    measured(root)
    before = listed(root)
    folders = [Path(folder) for folder, _, _ in os.walk(root)]
    for folder in folders:
        folder.chmod(0o555)
    try:
        called = without_privileges("results", "--results", root, "--format", "json")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert json.loads(called.stdout)["runs"] == before
    assert called.stderr == ""


def without_privileges(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Call irbench so that permissions count, which root is above."""
    lowered = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere")
    prefix = lowered if os.getuid() == 0 else ()
    command = [*prefix, sys.executable, "-m", "irbench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_folders_copied_in_by_hand_are_runs_and_unfinished_ones_are_not(root: Path, tmp_path: Path) -> None:
    run, other = measured(root), measured(tmp_path / "elsewhere")
    shutil.copytree(other.folder, run.folder.parent / other.folder.name)
    shutil.copytree(other.folder, run.folder.parent / ".import-unfinished")
    shutil.copytree(other.folder, root / "runs" / ".import-unfinished" / "x")
    (run.folder.parent / "01EMPTY").mkdir()
    (run.folder.parent / "a file").write_text("")
    assert len(listed(root)) == 2
    assert names(root) == {run.document.run_id, other.document.run_id}


_WRITER = """
import sys
from pathlib import Path
from dataclasses import replace
from documents import example, launch
from irbench.store import Store
for _ in range(20):
    writer = Store(Path(sys.argv[1])).begin({}, {})
    for number in range(3):
        writer.add_launch(launch(number))
        writer.commit(replace(writer.document, groups=(example(),), complete=number == 2))
"""


def test_two_processes_may_write_while_others_list(root: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(root)]) for _ in range(2)]
    readers = [
        subprocess.Popen([sys.executable, "-m", "irbench", "results", "--results", str(root)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    complaints = [reader.communicate(timeout=120)[1] for reader in readers]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert [reader.returncode for reader in readers] == [0, 0, 0]
    assert not any(b"warning" in said for said in complaints)
    assert len(listed(root)) == 40
    assert all(entry["complete"] and entry["launches"] == 3 for entry in listed(root))
