"""The lock on measuring: one holder at a time, told by name, free again when the holder is gone."""

from __future__ import annotations

import errno
import getpass
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.measure import lock as locking
from irbench.measure.lock import Holder, MeasurementLock, lock_owner, measuring, owner_text
from irbench.notices.notes import holder_text

HOLDER = """
import subprocess, sys
from irbench.measure.lock import measuring
with measuring("resnet50"):
    child = subprocess.Popen(["sleep", "3600"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "lock"
    monkeypatch.setenv("IRBENCH_LOCK", str(path))
    return path


def said(holder: Holder) -> str:
    return holder_text(holder.process, holder.since, holder.what)


def who_measures() -> str | None:
    """Return who holds the lock; ``None`` where nobody does."""
    company = MeasurementLock("a look")
    company.join()
    try:
        return None if company.holds else said(company.holder())
    finally:
        company.leave()


def test_a_second_is_told_who_measures_and_what_can_be_done(lock: Path) -> None:
    with measuring("resnet50"):
        with pytest.raises(IrbenchError) as refused, measuring("mobilenet_v2"):
            pass
        assert who_measures() == refused.value.message.removesuffix(" is already measuring on this machine.")
    assert f"irbench (process {os.getpid()}, since 2" in refused.value.message
    assert ": resnet50)" in refused.value.message
    assert "--no-lock" in refused.value.hint
    assert refused.value.exit_code == 2


def test_the_lock_is_free_again_after_a_measurement_and_after_its_failure(lock: Path) -> None:
    with pytest.raises(RuntimeError), measuring("resnet50"):
        raise RuntimeError
    assert who_measures() is None
    with measuring("a much shorter name"):
        pass
    with measuring("vgg16"):
        assert str(who_measures()).endswith(": vgg16)")


def test_a_killed_holder_leaves_the_lock_free_though_its_child_lives_on(lock: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        assert f"process {holder.pid}," in str(who_measures())
        holder.kill()
        holder.wait()
        assert Path(f"/proc/{child}").exists()
        assert who_measures() is None
    finally:
        os.kill(child, 9)
        holder.stdin.close()
        holder.stdout.close()


def test_every_user_may_take_the_lock_whatever_the_mask_of_the_first(
    lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is made so at once: who is killed right afterwards leaves it open to all."""
    monkeypatch.delattr(os, "chmod")
    monkeypatch.delattr(os, "fchmod")
    before = os.umask(0o077)
    try:
        assert who_measures() is None
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert lock.stat().st_mode & 0o777 == 0o666


NOBODY = (
    b"", b"nonsense", b"[]", b'{"process": "x"}', b'{"process": null}', b'{"process": Infinity}', b'{"process": NaN}',
    b"[" * 4096, b'{"a":' * 800, b"9" * 4096, b"\xff" * 4096, b"\0" * 9000,
    b'{"process": %s, "since": "", "what": ""}' % (b"9" * 4000),
)  # fmt: skip


@pytest.mark.parametrize("written", NOBODY, ids=lambda written: str(written[:24]))
def test_whatever_stands_in_the_file_its_holder_holds_the_lock(lock: Path, written: bytes) -> None:
    with measuring("resnet50") as company:
        lock.write_bytes(written)
        assert who_measures() is not None
        assert len(str(who_measures())) < 500
        lock.write_bytes(written)
        assert all(len(said(other)) < 500 for other in company.others())


def test_what_others_wrote_is_shown_short_and_harmless(lock: Path) -> None:
    with measuring("resnet50"):
        lock.write_text(json.dumps({"process": 7, "since": "\x1b[2J" * 99, "what": "word " * 400 + "\n"}))
        shown = str(who_measures())
    assert shown.startswith("irbench (process 7, since ")
    assert shown.isprintable()
    assert len(shown) < 500


def test_of_a_hundred_models_a_few_words_are_told(lock: Path) -> None:
    with measuring(", ".join(f"model {number}" for number in range(1000))):
        assert f"process {os.getpid()}, " in str(who_measures())


def test_who_insists_holds_a_lock_that_is_free(lock: Path) -> None:
    with measuring("resnet50", insist=True) as company:
        assert company.others() == ()
        assert ": resnet50)" in str(who_measures())
        with pytest.raises(IrbenchError, match="already"), measuring("vgg16"):
            pass
        assert company.others() == ()


def test_two_of_whom_one_insists_see_each_other_whoever_came_first(lock: Path) -> None:
    with measuring("resnet50") as first:
        assert first.others() == ()
        with measuring("vgg16", insist=True) as second:
            assert [": resnet50)" in said(other) for other in second.others()] == [True]
            assert [": vgg16)" in said(other) for other in first.others()] == [True]
            assert len(second.others()) == 1
        assert len(first.others()) == 1
        assert first.others() == ()


def test_who_was_refused_the_lock_takes_it_once_it_is_free(lock: Path) -> None:
    with measuring("resnet50") as first, measuring("vgg16", insist=True) as second:
        assert len(second.others()) == 1
        first.leave()
        assert second.others() == ()
        assert ": vgg16)" in str(who_measures())


def test_who_insists_goes_without_a_lock_that_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_LOCK", "/nowhere/lock")
    with measuring("resnet50", insist=True) as company:
        assert company.others() == ()


def test_a_file_that_is_removed_before_the_lock_is_taken_is_made_anew(
    lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, removed = locking.fcntl.flock, [False]

    def remove_and_take(descriptor: int, how: int) -> None:
        if not removed[0]:
            removed[0] = True
            lock.unlink()
        take(descriptor, how)

    monkeypatch.setattr(locking.fcntl, "flock", remove_and_take)
    with measuring("resnet50"):
        assert ": resnet50)" in str(who_measures())


def test_a_file_that_is_removed_while_we_measure_is_made_anew_at_the_next_look(lock: Path) -> None:
    with measuring("resnet50") as first:
        lock.unlink()
        assert first.others() == ()
        assert ": resnet50)" in str(who_measures())


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_a_second_is_refused_though_the_file_was_removed_while_the_first_measures(lock: Path, replaced: bool) -> None:
    with measuring("resnet50") as first:
        lock.unlink()
        if replaced:
            lock.touch()
        with pytest.raises(IrbenchError, match="already measuring"), measuring("vgg16"):
            pass
        assert first.others() == ()
        assert ": resnet50)" in str(who_measures())
    assert who_measures() is None


def test_two_of_whom_one_insists_see_each_other_though_the_file_was_removed(lock: Path) -> None:
    with measuring("resnet50") as first:
        lock.unlink()
        with measuring("vgg16", insist=True) as second:
            assert len(second.others()) == 1
            first.others()
            second.others()
            assert [": vgg16)" in said(other) for other in first.others()] == [True]


def test_without_names_the_file_alone_is_the_lock(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str) -> int:
        raise PermissionError

    monkeypatch.setattr(locking, "hold_name", refuse)
    with measuring("resnet50"):
        assert ": resnet50)" in str(who_measures())


def test_without_locks_of_files_the_name_alone_is_the_lock(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locking.fcntl, "flock", refuse)
    with measuring("resnet50"):
        assert ": resnet50)" in str(who_measures())
        with pytest.raises(IrbenchError, match="already measuring"), measuring("vgg16"):
            pass
    assert who_measures() is None


def test_where_nothing_knows_locks_the_lock_is_refused(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locking.fcntl, "flock", refuse)
    monkeypatch.setattr(locking, "hold_name", refuse)
    with pytest.raises(IrbenchError, match="No locks available"), measuring("resnet50"):
        pass
    with measuring("resnet50", insist=True) as company:
        assert company.others() == ()


@pytest.mark.parametrize("content", [b"export PATH\n", b'{"process"', b"\0" * 5000], ids=["text", "json", "zeros"])
def test_a_file_of_another_kind_is_not_taken_for_the_lock(lock: Path, content: bytes) -> None:
    lock.write_bytes(content)
    with pytest.raises(IrbenchError, match="is not a lock file") as refused, measuring("resnet50"):
        pass
    assert "IRBENCH_LOCK" in refused.value.hint
    assert lock.read_bytes() == content
    with measuring("resnet50", insist=True) as company:
        company.others()
    assert lock.read_bytes() == content


def test_a_pipe_or_a_file_with_a_second_name_is_not_taken_for_the_lock(lock: Path) -> None:
    os.mkfifo(lock)
    with pytest.raises(IrbenchError, match="is not a lock file"), measuring("resnet50"):
        pass
    lock.unlink()
    lock.with_name("precious").touch()
    lock.hardlink_to(lock.with_name("precious"))
    with pytest.raises(IrbenchError, match="is not a lock file"), measuring("resnet50"):
        pass


def test_a_lock_that_cannot_be_opened_is_told_with_its_remedy(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock.symlink_to(lock.with_name("elsewhere"))
    with pytest.raises(IrbenchError, match="cannot be opened") as refused, measuring("resnet50"):
        pass
    assert "IRBENCH_LOCK" in refused.value.hint
    assert not lock.with_name("elsewhere").exists()
    monkeypatch.setenv("IRBENCH_LOCK", "/nowhere/lock")
    with pytest.raises(IrbenchError, match="/nowhere/lock"):
        who_measures()


@pytest.fixture
def found(tmp_path: Path) -> os.stat_result:
    path = tmp_path / "lock"
    path.touch()
    return path.stat()


def line_of(found: os.stat_result, process: int, waits: str = "") -> str:
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return f"1:{waits} FLOCK  ADVISORY  WRITE {process} {place} 0 EOF"


def test_the_holder_is_found_among_those_who_wait_and_other_files(found: os.stat_result) -> None:
    other = f"2: FLOCK  ADVISORY  WRITE 7 00:01:{found.st_ino + 1} 0 EOF"
    assert lock_owner(found, [other, line_of(found, 8, " ->"), line_of(found, 4711)]) == 4711


@pytest.mark.parametrize("lines", [[], ["nonsense"], ["1: FLOCK ADVISORY WRITE x 1:2:3 0 EOF"]])
def test_what_the_kernel_does_not_tell_is_unknown(found: os.stat_result, lines: list[str]) -> None:
    assert lock_owner(found, lines) is None


def test_a_holder_outside_of_the_container_is_unknown(found: os.stat_result) -> None:
    assert lock_owner(found, [line_of(found, 0)]) is None


def test_a_process_is_told_with_its_user() -> None:
    assert owner_text(os.getpid()) == f"Process {os.getpid()} of user {getpass.getuser()}"
    assert owner_text(2**30) == f"Process {2**30}"


def test_who_is_refused_is_told_the_lock_and_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("irbench.measure.lock.lock_owner", lambda _found: os.getpid())
    with measuring("a"), pytest.raises(IrbenchError) as caught, measuring("b"):
        pass
    owner = f"Process {os.getpid()} of user {getpass.getuser()} holds {tmp_path}/lock."
    assert caught.value.hint.endswith(f"{owner} To use another lock file, set IRBENCH_LOCK.")


def test_nothing_is_said_of_a_file_that_nobody_holds_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "lock"
    monkeypatch.setenv("IRBENCH_LOCK", str(lock))
    with measuring("a"):
        lock.unlink()
        with pytest.raises(IrbenchError) as caught, measuring("b"):
            pass
    assert str(lock) not in caught.value.hint
    assert caught.value.hint.endswith("To use another lock file, set IRBENCH_LOCK.")
