"""A confined process reaches what it may, and nothing else of the user's."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from irbench.system import confinement, landlock, seccomp
from irbench.system.confinement import Confinement, ConfinementSupport, confine, confinement_support

needs_landlock = pytest.mark.skipif(not confinement_support().landlock, reason="this kernel offers no Landlock")
needs_seccomp = pytest.mark.skipif(not confinement_support().seccomp, reason="no filters of system calls here")


def confined(allowed: Confinement, act: Callable[[], object]) -> int:
    """Return the number of the error that an act ends with in a confined fork of this process, 0 where it succeeds."""
    process = os.fork()
    if not process:
        code = 255
        try:
            confine(allowed)
            act()
            code = 0
        except OSError as error:
            code = error.errno or 254
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A file that may be read, and the user's secret beside it."""
    model, secret = tmp_path / "model.onnx", tmp_path / "secret"
    model.write_text("a model")
    secret.write_text("a secret")
    return model, secret


@needs_landlock
def test_only_the_named_file_can_be_read(files: tuple[Path, Path]) -> None:
    model, secret = files
    allowed = Confinement(readable=(model,))
    assert confined(allowed, model.read_text) == 0
    assert confined(allowed, secret.read_text) == errno.EACCES
    assert confined(allowed, lambda: [*secret.parent.iterdir()]) == errno.EACCES
    assert confined(allowed, Path("/etc/passwd").read_text) == errno.EACCES


@needs_landlock
def test_a_link_to_another_file_leads_nowhere(files: tuple[Path, Path]) -> None:
    model, secret = files
    link = model.with_name("link")
    link.symlink_to(secret)
    assert confined(Confinement(readable=(model,)), link.read_text) == errno.EACCES


@needs_landlock
def test_nothing_is_written_made_or_removed(files: tuple[Path, Path]) -> None:
    model, secret = files
    allowed = Confinement(readable=(model,))
    for act in (lambda: model.write_text("x"), model.with_name("new").touch, secret.unlink, lambda: model.rename("b")):
        assert confined(allowed, act) == errno.EACCES
    assert (model.read_text(), secret.read_text()) == ("a model", "a secret")


@needs_landlock
def test_a_folder_that_may_be_written_takes_files_and_no_other_does(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    allowed = Confinement(writable=(inside,))
    assert confined(allowed, lambda: (inside / "a").write_text("x")) == 0
    assert confined(allowed, lambda: (outside / "a").write_text("x")) == errno.EACCES
    assert (inside / "a").read_text() == "x"


@needs_landlock
def test_python_imports_what_it_has_not_yet(files: tuple[Path, Path]) -> None:
    assert "this" not in sys.modules
    assert confined(Confinement(readable=files[:1]), lambda: __import__("sched")) == 0


@needs_landlock
def test_a_path_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    assert confined(Confinement(readable=(tmp_path / "none",), writable=(tmp_path / "none",)), os.getpid) == 0


@pytest.mark.skipif(confinement_support().landlock < 6, reason="this kernel restricts no signals")
def test_no_process_outside_can_be_signalled() -> None:
    assert confined(Confinement(), lambda: os.kill(os.getppid(), 0)) == errno.EPERM


@needs_landlock
def test_the_environment_of_another_process_stays_unread() -> None:
    other = Path(f"/proc/{os.getpid()}/environ")
    assert confined(Confinement(), other.read_bytes) == errno.EACCES


@needs_seccomp
def test_there_is_no_network() -> None:
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
        assert confined(Confinement(), lambda family=family: socket.socket(family)) == errno.EACCES  # type: ignore[misc]


@needs_seccomp
def test_no_program_can_be_started() -> None:
    assert confined(Confinement(), lambda: subprocess.run([sys.executable, "-V"], check=True)) == errno.EACCES


@needs_seccomp
def test_no_process_or_thread_can_be_started_and_the_process_group_not_be_left() -> None:
    def start_thread() -> None:
        try:
            threading.Thread(target=int).start()
        except RuntimeError as error:
            raise OSError(errno.EACCES, str(error)) from error

    for act in (os.fork, start_thread, os.setsid, lambda: os.setpgid(0, 0)):
        assert confined(Confinement(), act) == errno.EACCES
    assert confined(Confinement(for_runtime=True), os.setsid) == 0


@needs_seccomp
def test_no_mode_of_a_file_can_be_changed(files: tuple[Path, Path]) -> None:
    assert confined(Confinement(), lambda: files[1].chmod(0o777)) == errno.EACCES


@needs_seccomp
def test_no_time_attribute_or_length_of_a_file_can_be_changed_where_landlock_restricts_none(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "confinement_support", lambda: ConfinementSupport(0, seccomp=True))
    secret = files[1]
    acts: tuple[Callable[[], object], ...] = (
        lambda: os.utime(secret, (1, 1)),
        lambda: os.setxattr(secret, "user.note", b"x"),
        lambda: os.removexattr(secret, "user.note"),
        lambda: os.truncate(secret, 0),
    )
    assert [confined(Confinement(), act) for act in acts] == [errno.EACCES] * len(acts)
    assert confined(Confinement(for_runtime=True), acts[0]) == 0


@needs_seccomp
def test_calls_by_the_numbers_of_another_architecture_are_refused() -> None:
    """Those of x32 have another bit; on other architectures the number does not exist."""

    def call() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(0x40000000 | 41, 2, 1, 0)
        raise OSError(ctypes.get_errno(), "")

    assert confined(Confinement(), call) == errno.EACCES


def test_a_filter_jumps_to_its_refusal_from_each_check() -> None:
    code = seccomp.filter_program(0xC000003E, [41, 59])
    lines = [seccomp._INSTRUCTION.unpack_from(code, place) for place in range(0, len(code), 8)]
    refusal = len(lines) - 1
    assert lines[refusal][3] == 0x00050000 | errno.EACCES
    assert lines[1][2] + 2 == refusal  # another architecture
    assert [place + 1 + jump for place, (_, jump, _, _) in enumerate(lines) if jump] == [refusal] * 3


def test_large_files_and_dumps_of_memory_are_limited_without_landlock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "confinement_support", lambda: ConfinementSupport(0, seccomp=False))

    def act() -> None:
        assert resource.getrlimit(resource.RLIMIT_CORE) == resource.getrlimit(resource.RLIMIT_NPROC) == (0, 0)
        with (tmp_path / "large").open("wb") as file:
            file.truncate(1 << 40)

    assert confined(Confinement(), act) == errno.EFBIG


def test_a_kernel_without_landlock_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no Landlock")

    monkeypatch.setattr(landlock, "_call", refuse)
    assert landlock.abi_version() == 0
    with pytest.raises(OSError, match="no Landlock"):
        landlock.restrict_files((), ())


def test_a_reader_goes_on_where_landlock_refuses_and_a_runtime_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.E2BIG, "too many layers")

    monkeypatch.setattr(landlock, "restrict_files", refuse)
    monkeypatch.setattr(confinement, "confinement_support", lambda: ConfinementSupport(7, seccomp=False))
    assert confined(Confinement(), os.getpid) == 0
    assert confined(Confinement(for_runtime=True), os.getpid) == errno.E2BIG


def test_an_unknown_architecture_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "vax")
    assert not seccomp.can_filter()
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)):
        seccomp.refuse_calls(seccomp.NETWORK)


@needs_seccomp
def test_a_program_of_32_bits_on_a_kernel_of_64_bits_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seccomp.can_filter()
    monkeypatch.setattr(seccomp, "_POINTER_BYTES", 4)
    assert not seccomp.can_filter()


@pytest.mark.parametrize(("version", "size"), [(1, 8), (3, 8), (4, 16), (5, 16), (6, 24), (9, 24)])
def test_a_kernel_is_given_the_fields_that_its_version_knows(version: int, size: int) -> None:
    assert landlock._size_of_ruleset(version) == size
