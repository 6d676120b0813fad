"""Runs arrive all or none, fit together, and stay while they are measured."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ENVIRONMENT, cell_launch, example, launch
from stored_plans import stored_plan
from stored_runs import measured

from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.features.results.moved_runs import Arrivals, Staged, import_runs, remove_runs, stage
from irbench.render.sample_lines import samples_of
from irbench.store.archives import pack
from irbench.store.folders import Unsearched
from irbench.store.launch_files import decode_launch, encode_launch
from irbench.store.runs import RunWriter, Store, check_launches
from irbench.system.locks import hold, waiting_for
from irbench.worker import call_in_worker

ROWS = tuple(row.id for row in example().cells[:2])


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irbench.features.results.moved_runs.limit_memory", lambda memory_bytes: None)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def brought(there: Path, *sources: Path) -> Arrivals:
    return import_runs(sources, there, stage)


def change(run: RunWriter, **facts: Any) -> None:
    path = run.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def with_launch(root: Path, record: LaunchRecord) -> RunWriter:
    run = Store(root).begin(ENVIRONMENT, stored_plan())
    run.add_launch(record)
    run.commit(replace(run.document, groups=(example(),), complete=True))
    return run


def test_a_run_that_takes_more_memory_than_an_import_may_is_refused(tmp_path: Path, there: Path):
    change(measured(tmp_path / "a"), plan={"models": [1] * 2_000_000})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    arguments = ("tests_support:stage_within", 2 << 20, (tmp_path / "a",), there, scratch)
    with pytest.raises(IrbenchError, match="of memory to read") as caught:
        call_in_worker(*arguments, deadline_s=60)
    assert "do not trust it" in caught.value.hint


def test_what_is_wrong_in_an_archive_is_named_by_the_archive(tmp_path: Path, there: Path):
    run, archive = measured(tmp_path / "a"), tmp_path / "runs.tar.gz"
    change(run, complete=7)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(run.folder, run.folder.relative_to(tmp_path / "a" / "runs"))
    with pytest.raises(IrbenchError) as caught:
        brought(there, archive)
    assert caught.value.message.startswith(f"{archive}: ")
    assert caught.value.message.endswith(
        "run.json is damaged, or not a run document: the value at complete is not of the type that it must have."
    )


def test_logs_of_workers_come_along_and_no_other_files(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    for stranger in ("notes.log", "neighbour-1\x1b[31m.log", ".log", "neighbours.log"):
        (run.logs / stranger).write_text("a stranger")
    (run.logs / "neighbour-1.log").write_text("SIGSEGV")
    (added,) = brought(there, tmp_path / "a").added
    (log,) = (added / "logs").iterdir()
    assert (log.name, log.read_text()) == ("neighbour-1.log", "SIGSEGV")


def test_two_sources_of_one_run_must_agree(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / run.folder.name
    other.mkdir()
    for path in run.folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert len(brought(there / "same", tmp_path / "a", tmp_path / "b").added) == 1
    change(run, irbench_version="9")
    with pytest.raises(IrbenchError, match="is given twice, with different content"):
        brought(there, tmp_path / "a", tmp_path / "b")
    assert Store(there).listing().entries == ()


@pytest.mark.parametrize("created", ["2001-01-01T00:00:00+00:00", "2026-11-21T07:30:00+02:00"])
def test_a_run_must_be_of_the_moment_that_its_name_says(tmp_path: Path, there: Path, created: str):
    change(measured(tmp_path / "a"), created=created)
    with pytest.raises(IrbenchError, match=r"was not made at|not in UTC"):
        brought(there, tmp_path / "a")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (launch(group_number=1, cells=ROWS), "no table 1"),
        (launch(cells=("stranger",)), "no row 'stranger'"),
        (
            replace(
                launch(cells=ROWS),
                cells=(
                    replace(
                        cell_launch(ROWS[0], 1),
                        rounds=(replace(cell_launch("x", 1).rounds[0], issue_ns=np.zeros(3, np.int64)),),
                    ),
                ),
            ),
            "lacks times",
        ),
    ],
    ids=["table", "row", "series"],
)
def test_a_launch_that_contradicts_its_run_is_refused_and_printed_as_an_error(
    tmp_path: Path, there: Path, record: LaunchRecord, said: str
):
    run = with_launch(tmp_path / "a", record)
    with pytest.raises(IrbenchError, match=said):
        brought(there, tmp_path / "a")
    if "row" not in said:  # an unknown row is printed by its id
        with pytest.raises(IrbenchError, match="do not match"):
            list(samples_of(run.document, [record], run.folder))


def test_a_bad_timing_is_refused_and_printed_as_an_error(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    change(run, plan={"timing": {"min_blocks": "four"}})
    with pytest.raises(IrbenchError, match="min_blocks"):
        brought(there, tmp_path / "a")
    with pytest.raises(IrbenchError, match="nothing of how it was measured"):
        list(samples_of(Store(tmp_path / "a").load(run.folder), [], run.folder))


def test_nothing_is_imported_where_one_run_cannot_be_put_in_place(
    tmp_path: Path, there: Path, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(2):
        measured(tmp_path / "a")
    rename, done = Path.rename, []

    def once(self: Path, target: Path) -> Path:
        if target.parent.parent.name == "runs":
            done.append(target)
            if len(done) == 2:
                raise PermissionError(13, os.strerror(13))
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", once)
        with pytest.raises(IrbenchError, match="Permission denied") as caught:
            brought(there, tmp_path / "a")
    assert "permissions" in caught.value.hint
    assert Store(there).listing().entries == ()
    assert not list(there.glob(".import-*"))


def test_an_exact_name_is_preferred_and_one_that_is_stored_twice_can_be_named_by_its_folder(there: Path):
    run = measured(there)
    longer = run.folder.with_name(run.folder.name + "X")
    longer.mkdir()
    (longer / "run.json").write_bytes((run.folder / "run.json").read_bytes())
    assert Store(there).find(run.folder.name) == run.folder
    twin = there / "runs" / "2001-01" / run.folder.name
    twin.parent.mkdir()
    longer.rename(twin)
    with pytest.raises(IrbenchError, match="stored 2 times") as caught:
        Store(there).find(run.folder.name)
    assert str(twin) in caught.value.hint
    assert Store(there).find(str(twin)) == twin


def test_a_run_is_found_from_inside_its_folder(there: Path, monkeypatch: pytest.MonkeyPatch):
    run = measured(there)
    monkeypatch.chdir(run.folder)
    assert Store(there).find(".") == run.folder


def test_many_series_may_not_take_more_than_one_launch_can(monkeypatch: pytest.MonkeyPatch):
    data = encode_launch(launch())
    decode_launch(data, "x.bin")
    monkeypatch.setattr("irbench.store.launch_files.LARGEST_BYTES", 200)  # of which each series takes 40
    with pytest.raises(IrbenchError, match="longer than any"):
        decode_launch(data, "x.bin")


def test_the_digest_of_a_changed_launch_is_compared_before_it_is_unpacked(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    (run.folder / "launch-00-00.bin").write_bytes(b"IRBENCH1")
    assert run.document.launches["launch-00-00.bin"] != hashlib.sha256(b"IRBENCH1").hexdigest()
    with pytest.raises(IrbenchError, match="damaged"):
        brought(there, tmp_path / "a")


def test_rebuilding_the_index_leaves_other_files_alone(there: Path):
    measured(there)
    (there / "index.sqlite.bak").write_text("mine")
    from irbench.store.listing import list_runs

    assert len(list_runs(there, rebuild=True).entries) == 1
    assert (there / "index.sqlite.bak").read_text() == "mine"


def test_a_run_that_is_removed_while_it_is_compared_is_imported(
    tmp_path: Path, there: Path, monkeypatch: pytest.MonkeyPatch
):
    run = measured(tmp_path / "a")
    (place,) = brought(there, tmp_path / "a").added

    def compare(folder: Path, document: RunDocument) -> None:
        shutil.rmtree(place, ignore_errors=True)  # as another process does
        check_launches(folder, document)

    monkeypatch.setattr("irbench.features.results.moved_runs.check_launches", compare)
    assert brought(there, tmp_path / "a").added == (place,)
    assert run.folder.name == place.name


def test_of_two_imports_of_the_same_runs_at_once_the_second_finds_them(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    firsts: list[Arrivals] = []

    def staged_late(*arguments: Any) -> Staged:
        staged = stage(*arguments)
        firsts.append(brought(there, tmp_path / "a"))
        return staged

    second = import_runs([tmp_path / "a"], there, staged_late)
    assert [path.name for path in firsts[0].added] == [run.folder.name]
    assert second == Arrivals((), firsts[0].added)
    assert not list(there.glob(".import-*"))


def test_of_two_imports_of_different_runs_of_one_id_at_once_the_second_fails(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")

    def staged_late(*arguments: Any) -> Staged:
        staged = stage(*arguments)
        change(run, irbench_version="9")
        brought(there, tmp_path / "a")
        return staged

    with pytest.raises(IrbenchError, match="cannot be written"):
        import_runs([tmp_path / "a"], there, staged_late)
    (entry,) = Store(there).listing().entries
    assert Store(there).load(Path(entry.folder)).irbench_version == "9"


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_runs_arrive_and_go_on_a_file_system_without_locks(
    tmp_path: Path, there: Path, code: int, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    (added,) = brought(there, measured(tmp_path / "a").folder).added
    assert list(remove_runs([added], there)) == [added]
    assert [path.name for path in there.iterdir()] == ["runs"]
    being_measured = Store(there).begin(ENVIRONMENT, stored_plan())
    with pytest.raises(IrbenchError, match="still being measured"):
        list(remove_runs([being_measured.folder], there))


def test_nothing_is_imported_through_a_link(tmp_path: Path, there: Path):
    """What it points to would become part of the store, and be given away with the next export."""
    secret = tmp_path / "secret.log"
    secret.write_text("the key")
    run = measured(tmp_path / "a")
    for name in ("run.json", *run.document.launches):
        path = run.folder / name
        moved = path.rename(tmp_path / name)
        path.symlink_to(moved)
        with pytest.raises(IrbenchError, match="symbolic link"):
            brought(there, tmp_path / "a")
        path.unlink()
        moved.rename(path)
    (run.folder / "logs").symlink_to(tmp_path)
    with pytest.raises(IrbenchError, match="symbolic link"):
        brought(there, tmp_path / "a")
    (run.folder / "logs").unlink()
    (run.logs / "neighbour-1.log").symlink_to(secret)
    with pytest.raises(IrbenchError, match="symbolic link"):
        brought(there, tmp_path / "a")
    assert Store(there).listing().entries == ()


def test_folders_behind_links_are_not_searched(tmp_path: Path, there: Path):
    measured(tmp_path / "elsewhere")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "runs").symlink_to(tmp_path / "elsewhere")
    assert brought(there, tmp_path / "a") == Arrivals((), (), (Unsearched(tmp_path / "a" / "runs", "link"),))


def test_what_is_no_folder_among_runs_is_named_and_the_others_are_imported(tmp_path: Path, there: Path):
    run, month = measured(tmp_path / "a"), tmp_path / "a" / "runs" / "2026-01"
    month.mkdir()
    (month / "link").symlink_to(tmp_path / "a" / "runs")  # to what is searched anyway
    (month / "dangling").symlink_to(tmp_path / "gone")
    (month / "circle").symlink_to(month / "circle")
    (month / "notes.txt").symlink_to(run.folder / "run.json")
    os.mkfifo(month / ".hidden")
    os.mkfifo(month / "pipe")
    found = brought(there, tmp_path / "a")
    assert [path.name for path in found.added] == [run.folder.name]
    assert set(found.unsearched) == {
        Unsearched(month / "pipe", "not-a-file"),
        Unsearched(month / "dangling", "link"),
        Unsearched(month / "circle", "link"),
    }


def test_a_link_to_a_hidden_folder_among_the_runs_is_named(tmp_path: Path, there: Path):
    measured(tmp_path / "a" / ".old")
    (tmp_path / "a" / "old").symlink_to(".old")
    assert brought(there, tmp_path / "a").unsearched == (Unsearched(tmp_path / "a" / "old", "link"),)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_that_may_not_be_entered_is_named(tmp_path: Path, there: Path):
    measured(tmp_path / "a")
    (tmp_path / "a" / "closed").mkdir(mode=0)
    assert brought(there, tmp_path / "a").unsearched == (Unsearched(tmp_path / "a" / "closed", "unreadable"),)


@pytest.mark.parametrize("name", ["run.json", "launch-00-00.bin", "logs/neighbour-1.log", "logs"])
def test_a_pipe_in_a_folder_keeps_nobody_waiting(tmp_path: Path, there: Path, name: str):
    run = measured(tmp_path / "a")
    path = run.folder / name
    path.unlink(missing_ok=True)
    if "/" in name:
        path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(IrbenchError, match=r"not a regular file|Not a directory"):
        brought(there, tmp_path / "a")


def test_a_link_in_a_run_is_not_exported(tmp_path: Path):
    run = measured(tmp_path / "a")
    (tmp_path / "secret").write_text("the key")
    (run.logs / "neighbour-1.log").symlink_to(tmp_path / "secret")
    with pytest.raises(IrbenchError, match="symbolic link"):
        pack([run.folder], tmp_path / "runs.tar.gz")
    assert not (tmp_path / "runs.tar.gz").exists()


def test_what_killed_imports_and_removals_left_is_cleared(tmp_path: Path, there: Path):
    for name in (".import-dead", ".removed-dead"):
        (there / name).mkdir(parents=True)
        (there / name / ".alive").touch()
    (added,) = brought(there, measured(tmp_path / "a").folder).added
    assert list(remove_runs([added], there)) == [added]
    assert [path.name for path in there.iterdir()] == ["runs"]


def test_a_run_that_is_being_measured_is_not_removed(there: Path):
    finished, running = measured(there), Store(there).begin(ENVIRONMENT, stored_plan())
    with pytest.raises(IrbenchError, match="still being measured"):
        list(remove_runs([finished.folder, running.folder], there))
    assert finished.folder.is_dir()
    folder = running.folder
    del running
    assert list(remove_runs([folder], there)) == [folder]


def test_of_two_removals_at_once_one_removes_each_run_and_the_other_finds_it_gone(there: Path):
    """The second waits for the first, whose locks are not those of a measurement."""
    first, second = measured(there), measured(there)
    folders, found = [first.folder, second.folder], []
    with waiting_for(there), closing_descriptor(hold(first.folder)):
        other = threading.Thread(target=lambda: found.extend(remove_runs(folders, there)))
        other.start()
        first.folder.rename(there / ".gone")
        assert found == []
    other.join()
    assert found == [second.folder]
    assert list(remove_runs(folders, there)) == []


def test_removals_before_one_that_fails_are_told(there: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = measured(there), measured(there)
    rename = Path.rename

    def refuse_second(self: Path, target: Path) -> Path:
        if self == second.folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_second)
    removing = remove_runs([first.folder, second.folder], there)
    assert next(removing) == first.folder
    with pytest.raises(IrbenchError, match="Permission denied"):
        next(removing)
    assert (first.folder.exists(), second.folder.exists()) == (False, True)


def test_a_run_that_is_stored_twice_can_be_removed_in_both_places_at_once(there: Path):
    run = measured(there)
    twin = there / "runs" / "2001-01" / run.folder.name
    shutil.copytree(run.folder, twin)
    assert list(remove_runs([run.folder, twin], there)) == [run.folder, twin]


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
