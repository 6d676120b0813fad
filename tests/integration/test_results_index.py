"""The index of a folder of results is a cache: whatever it holds, the runs in their folders are listed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

import pytest
from stored_runs import PREVIEW, listed, measured, results

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select '', i, 0, '' from n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


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
    with contextlib.closing(sqlite3.connect(index)) as connection:
        assert connection.execute("select count(*) from runs").fetchone() == (1,)


@pytest.mark.ci
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


@pytest.mark.parametrize(
    "statements",
    [
        ["drop table runs", f"create view runs (folder, size, changed_ns, entry) as {ENDLESS}"],
        ["create trigger changes after insert on runs begin delete from runs; end"],
        ["create table notes (text)"],
        ["alter table runs add column more default 1"],
    ],
    ids=["view", "trigger", "another program's table", "column"],
)
def test_an_index_with_anything_but_our_table_is_neither_used_nor_changed(root: Path, statements: list[str]) -> None:
    """A view can compute for ever, and a file of this name can be another program's."""
    measured(root)
    before = listed(root)
    index = root / "index.sqlite"
    with contextlib.closing(sqlite3.connect(index)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    data = index.read_bytes()
    measured(root, PREVIEW)
    assert len(listed(root)) == 2
    assert before[0] in listed(root)
    assert index.read_bytes() == data
    assert results(root, "--rebuild").code == 0
    assert len(listed(root)) == 2


def test_an_index_does_not_say_where_a_run_lies(root: Path, tmp_path: Path) -> None:
    elsewhere, run = measured(tmp_path / "elsewhere"), measured(root)
    before = listed(root)
    with contextlib.closing(sqlite3.connect(root / "index.sqlite")) as connection:
        (entry,) = connection.execute("select entry from runs").fetchone()
        other = os.path.relpath(elsewhere.folder, root).encode()
        connection.execute(
            "update runs set entry = ?",
            (entry.replace(f"runs/{run.folder.parent.name}/{run.folder.name}".encode(), other),),
        )
        connection.commit()
    assert listed(root) == before


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_an_index_that_is_no_file_keeps_nobody_waiting_and_writes_nowhere(root: Path, suffix: str, kind: str) -> None:
    measured(root)
    before = listed(root)
    path, precious = root / f"index.sqlite{suffix}", root / "precious"
    path.unlink(missing_ok=True)
    if kind == "link":
        precious.write_bytes(b"precious" * 1000)
        path.symlink_to(precious)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert listed(root) == before
    assert not precious.exists() or precious.read_bytes() == b"precious" * 1000
