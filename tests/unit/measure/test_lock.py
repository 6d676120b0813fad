"""The lock on measuring: one holder at a time, told by name, free again when the holder is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.measure.lock import measuring, who_measures

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


def test_a_second_is_told_who_measures_and_what_can_be_done(lock: Path) -> None:
    with measuring("resnet50"):
        with pytest.raises(IrbenchError) as refused, measuring("mobilenet_v2"):
            pass
        assert who_measures() == refused.value.message.removesuffix(" is measuring on this machine already.")
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


def test_every_user_may_take_the_lock_whatever_the_mask_of_the_first(lock: Path) -> None:
    before = os.umask(0o077)
    try:
        assert who_measures() is None
    finally:
        os.umask(before)
    assert lock.stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("written", ["", "nonsense", "[]", '{"process": "x"}', '{"process": null}'])
def test_a_holder_that_has_not_said_who_it_is_still_holds_the_lock(lock: Path, written: str) -> None:
    with measuring("resnet50"):
        lock.write_text(written)
        assert who_measures() == "another irbench"


def test_a_lock_that_cannot_be_opened_is_told_with_its_remedy(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock.symlink_to(lock.with_name("elsewhere"))
    with pytest.raises(IrbenchError, match="cannot be opened") as refused, measuring("resnet50"):
        pass
    assert "IRBENCH_LOCK" in refused.value.hint
    assert not lock.with_name("elsewhere").exists()
    monkeypatch.setenv("IRBENCH_LOCK", "/nowhere/lock")
    with pytest.raises(IrbenchError, match="/nowhere/lock"):
        who_measures()
