"""The state of a sweep survives a crash after any byte, and one process at a time goes on with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.store.sweeps import (
    CurveEnd,
    CurveEnded,
    Event,
    Header,
    RowFacts,
    StateFile,
    TableBegun,
    TableDone,
    TableFailed,
    sweep_of_run,
)

HEADER = Header(name="night", created="2026-01-05T10:00:00+00:00", irbench_version="1", seed=7, plan={"a": [1]})
DONE = TableDone("t1", "run1", 3, 8, 12.5, (RowFacts("ort", "ok", 100.0, 5), RowFacts("tf", "failed", reason="no")))
EVENTS: tuple[Event, ...] = (
    TableBegun("t1", "run1"),
    DONE,
    TableFailed("t2", "There is no model.", "Export it.", 2),
    TableBegun("t3", "run3"),
    CurveEnded(CurveEnd("c", 8, "memory", "ort", 5, 4)),
)


def begun(root: Path, *events: Event) -> Path:
    state = StateFile.begin(root, HEADER)
    for event in events:
        state.add(event)
    state.close()
    return state.folder / "state.jsonl"


def opened(root: Path) -> StateFile:
    state = StateFile.open(root, "night")
    assert state is not None
    state.close()
    return state


def test_what_was_added_is_there_again(tmp_path: Path):
    begun(tmp_path, *EVENTS)
    state = opened(tmp_path)
    assert state.header == HEADER
    assert state.progress.done == {"t1": DONE}
    assert {key: event.run for key, event in state.progress.begun.items()} == {"t1": "run1", "t3": "run3"}
    assert state.progress.failed["t2"].hint == "Export it."
    assert state.progress.ends["c"].reason == "memory"


def test_a_table_that_is_measured_in_the_end_has_not_failed(tmp_path: Path):
    begun(tmp_path, TableFailed("t1", "a", "b", 2), DONE)
    assert opened(tmp_path).progress.failed == {}


def test_a_table_that_failed_and_was_begun_again_has_not_failed(tmp_path: Path):
    begun(tmp_path, TableFailed("t1", "a", "b", 2), TableBegun("t1", "run1"))
    progress = opened(tmp_path).progress
    assert (progress.failed, progress.runs) == ({}, ("run1",))


def test_a_table_that_is_measured_again_is_no_longer_done_until_it_is(tmp_path: Path):
    begun(tmp_path, TableBegun("t1", "run1"), DONE, TableBegun("t1", "run2"))
    progress = opened(tmp_path).progress
    assert (progress.done, progress.runs) == ({}, ("run2",))
    assert progress.forget({"run1"}) == ()
    assert progress.begun["t1"].run == "run2"


def test_a_table_that_fails_when_it_is_measured_again_has_failed(tmp_path: Path):
    begun(tmp_path, DONE, TableFailed("t1", "a", "b", 2))
    progress = opened(tmp_path).progress
    assert (progress.done, list(progress.failed)) == ({}, ["t1"])


def test_a_crash_after_any_byte_loses_the_last_event_at_most(tmp_path: Path):
    path = begun(tmp_path, *EVENTS)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for size in range(len(lines[0]) + len(lines[1]), len(whole), 7):
        path.write_bytes(whole[:size])
        kept = whole[:size].count(b"\n") - 1
        state = StateFile.open(tmp_path, "night")
        assert state is not None
        state.add(TableFailed("new", "m", "h", 2))
        state.close()
        assert path.read_bytes().count(b"\n") == kept + 2
        assert "new" in opened(tmp_path).progress.failed


def test_a_sweep_without_an_event_was_not_begun(tmp_path: Path):
    assert StateFile.open(tmp_path, "night") is None
    path = begun(tmp_path)
    assert StateFile.open(tmp_path, "night") is None
    path.write_bytes(path.read_bytes()[:20])
    assert StateFile.open(tmp_path, "night") is None
    begun(tmp_path, DONE)
    assert opened(tmp_path).progress.done == {"t1": DONE}


def test_the_sweep_of_a_run_is_found_also_beside_a_damaged_one_and_while_it_is_measured(tmp_path: Path):
    state = StateFile.begin(tmp_path, HEADER)
    state.add(TableBegun("t1", "run1"))
    state.add(TableBegun("t1", "run2"))
    for name, content in (("a-damaged", b"{}\nnothing\n"), ("b-empty", b"")):
        (tmp_path / "sweeps" / name).mkdir()
        (tmp_path / "sweeps" / name / "state.jsonl").write_bytes(content)
    assert sweep_of_run(tmp_path, "run2") == "night"
    assert sweep_of_run(tmp_path, "run1") is None  # another run holds its table
    assert sweep_of_run(tmp_path / "elsewhere", "run2") is None


def test_two_processes_cannot_go_on_with_the_same_sweep(tmp_path: Path):
    begun(tmp_path, DONE)
    first = StateFile.open(tmp_path, "night")
    assert first is not None
    with pytest.raises(IrbenchError, match="being measured by another process"):
        StateFile.open(tmp_path, "night")
    first.close()
    opened(tmp_path)


NESTED = b'{"type":"begun","table":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"type":"done"}\n', b'{"type":"other"}\n', b"\xff\n", NESTED])
def test_a_damaged_file_is_refused(tmp_path: Path, line: bytes):
    path = begun(tmp_path, DONE)
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(IrbenchError, match="is damaged") as caught:
        StateFile.open(tmp_path, "night")
    assert "--name" in caught.value.hint


def test_a_file_of_a_newer_format_is_refused(tmp_path: Path):
    path = begun(tmp_path, DONE)
    path.write_bytes(path.read_bytes().replace(b'"format":2', b'"format":3'))
    with pytest.raises(IrbenchError, match="newer irbench"):
        StateFile.open(tmp_path, "night")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "two words", "x" * 81])
def test_a_name_that_is_no_folder_is_refused(tmp_path: Path, name: str):
    with pytest.raises(IrbenchError, match="not a valid name"):
        StateFile.open(tmp_path, name)


def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path):
    (tmp_path / "sweeps").write_text("in the way")
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        StateFile.begin(tmp_path, HEADER)
    assert "--results" in caught.value.hint


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path: Path):
    path = begun(tmp_path, DONE)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(IrbenchError, match="not a regular file"):
        StateFile.open(tmp_path, "night")
    assert sweep_of_run(tmp_path, "01") is None
