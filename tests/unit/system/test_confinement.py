"""A confined process reaches what it may, and nothing else of the user's."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from irbench.system import confinement, seccomp
from irbench.system.confinement import Confinement, ConfinementSupport, confine, confinement_support
from irbench.system.seccomp import ARCHITECTURES

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


OF_A_PROCESS = ("environ", "cmdline", "maps", "status", "fd")


@needs_landlock
@pytest.mark.parametrize("name", OF_A_PROCESS)
def test_a_runtime_reads_of_processes_its_own_alone(name: str) -> None:
    def read(process: int) -> object:
        path = Path(f"/proc/{process}/{name}")
        return [*path.iterdir()] if path.is_dir() else path.read_bytes()

    other = os.getpid()
    assert confined(Confinement(for_runtime=True), lambda: read(other)) == errno.EACCES
    assert confined(Confinement(for_runtime=True), lambda: read(os.getpid())) == 0
    assert confined(Confinement(for_runtime=True), lambda: [*Path("/proc").iterdir()]) == errno.EACCES


@needs_landlock
def test_a_runtime_reads_a_list_of_files_of_the_system_and_no_other() -> None:
    for path in ("/etc/passwd", "/etc/hosts", "/etc/fstab", "/proc/cmdline", "/proc/keys", "/sys/kernel/uevent_seqnum"):
        if os.access(path, os.R_OK):
            assert confined(Confinement(for_runtime=True), Path(path).read_bytes) == errno.EACCES
    for path in ("/etc/ld.so.cache", "/proc/stat", "/proc/meminfo", "/sys/devices/system/cpu/online"):
        assert confined(Confinement(for_runtime=True), Path(path).read_bytes) == 0


@needs_landlock
def test_memory_that_programs_share_by_name_is_not_shared_with_a_runtime() -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as other:
        path = Path(other.name)
        acts = (path.read_bytes, lambda: path.write_text("x"), path.with_name("irbench-new").touch)
        for act in acts:
            assert confined(Confinement(for_runtime=True), act) == errno.EACCES


def system_call(name: str, *arguments: int) -> Callable[[], None]:
    """Return what makes a system call by its number."""

    def call() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        number = ARCHITECTURES[platform.machine()].numbers[name]
        if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
            raise OSError(ctypes.get_errno(), name)

    return call


PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36  # prctl(2)


@needs_seccomp
@pytest.mark.parametrize("name", [*seccomp.SHARED, *seccomp.OTHER_PROCESSES, *seccomp.KERNEL])
def test_a_runtime_reaches_other_programs_by_no_system_call(name: str) -> None:
    for allowed in (Confinement(), Confinement(for_runtime=True)):
        assert confined(allowed, system_call(name, -1, -1, -1, -1, -1)) == errno.EACCES
    assert confined(Confinement(for_runtime=True), system_call("fchmod", -1, 0)) == errno.EBADF  # others arrive


_NEW_OF_ALL_KINDS = [0x80, 0x20000, *(1 << place for place in range(25, 31))]
"""The flags ``CLONE_NEW*`` of clone(2)."""


@needs_seccomp
@pytest.mark.parametrize("flag", _NEW_OF_ALL_KINDS)
def test_no_confined_process_makes_or_enters_a_namespace(flag: int) -> None:
    for allowed in (Confinement(), Confinement(for_runtime=True)):
        for act in (system_call("unshare", flag), system_call("setns", -1, flag), system_call("clone", flag, 0)):
            assert confined(allowed, act) == errno.EACCES


@needs_seccomp
def test_a_runtime_is_told_that_the_call_whose_flags_no_filter_sees_does_not_exist() -> None:
    """The C library then starts threads and programs by ``clone``."""
    assert confined(Confinement(for_runtime=True), system_call("clone3", 0, 0)) == errno.ENOSYS
    assert confined(Confinement(), system_call("clone3", 0, 0)) == errno.EACCES


@needs_seccomp
def test_a_runtime_starts_threads_and_programs_from_them() -> None:
    def start_all() -> None:
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(os.posix_spawn("/bin/true", ["true"], {})))
        thread.start()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(codes[0], 0)[1]) == 0
        assert subprocess.run([sys.executable, "-V"], check=False).returncode == 0

    assert confined(Confinement(for_runtime=True), start_all) == 0


@needs_seccomp
def test_a_runtime_has_limits_of_its_own_alone() -> None:
    other = os.getpid()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    for arguments in ((), (limits,)):
        act = partial(resource.prlimit, other, resource.RLIMIT_NOFILE, *arguments)
        assert confined(Confinement(for_runtime=True), act) == errno.EACCES
    assert confined(Confinement(for_runtime=True), lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits)) == 0


@needs_seccomp
def test_a_runtime_makes_no_file_that_runs_with_the_rights_of_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.touch()
    allowed = Confinement(writable=(tmp_path,), for_runtime=True)
    for mode in (0o4755, 0o2755, 0o6755):
        assert confined(allowed, lambda mode=mode: file.chmod(mode)) == errno.EACCES  # type: ignore[misc]
    assert confined(allowed, lambda: file.chmod(0o755)) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
@pytest.mark.parametrize("allowed", [Confinement(), Confinement(for_runtime=True)])
def test_root_keeps_of_its_privileges_the_reading_of_files(allowed: Confinement, tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.touch()
    os.chown(file, 12345, 12345)
    file.chmod(0o600)
    assert confined(replace(allowed, readable=(file,)), file.read_bytes) == 0
    assert confined(allowed, lambda: socket.sethostname(socket.gethostname())) == errno.EPERM

    def require_none() -> None:
        status = Path("/proc/self/status").read_text()
        held = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Cap"))
        assert all(int(held[name], 16) & ~0b10 == 0 for name in ("CapEff", "CapPrm", "CapBnd", "CapInh"))

    assert confined(allowed, require_none) == 0


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
def test_a_runtime_cannot_give_up_its_daemons_and_may_name_its_threads() -> None:
    def control(option: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(option, b"name" if option == PR_SET_NAME else 0, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "")

    assert confined(Confinement(for_runtime=True), lambda: control(PR_SET_CHILD_SUBREAPER)) == errno.EACCES
    assert confined(Confinement(for_runtime=True), lambda: control(PR_SET_NAME)) == 0


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
    assert confined(Confinement(for_runtime=True), acts[-1]) == errno.EACCES


@needs_seccomp
def test_calls_by_the_numbers_of_another_architecture_are_refused() -> None:
    """Those of x32 have another bit; on other architectures the number does not exist."""

    def call() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(0x40000000 | 41, 2, 1, 0)
        raise OSError(ctypes.get_errno(), "")

    assert confined(Confinement(), call) == errno.EACCES


def instructions(code: bytes) -> list[tuple[int, ...]]:
    return [seccomp.INSTRUCTION.unpack_from(code, place) for place in range(0, len(code), 8)]


def test_a_filter_looks_at_the_argument_of_a_call_that_has_a_rule() -> None:
    rules = [(90, seccomp.ArgumentRule("chmod", 1, 0o6000)), (302, seccomp.LIMITS_OF_OTHERS)]
    lines = instructions(seccomp.filter_program(0xC000003E, [41], rules))
    refusal = len(lines) - 1
    for first, (number, rule) in zip((5, 9), rules, strict=True):
        assert lines[first] == (0x15, 0, 3, number)  # another call goes on behind the rule
        assert lines[first + 1] == (0x20, 0, 0, 16 + 8 * rule.argument)
        assert lines[first + 2] == (0x45, refusal - first - 3, 0, rule.bits)
        assert lines[first + 3] == lines[2]
    assert [line[0] for line in lines[13:]] == [0x06, 0x06, 0x06]


def test_a_filter_answers_calls_that_it_hides_as_a_kernel_without_them() -> None:
    lines = instructions(seccomp.filter_program(0xC000003E, [41], unknown=[435]))
    assert lines[5] == (0x15, 1, 0, 435)
    assert [line[3] for line in lines[6:]] == [0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EACCES]


def test_a_filter_jumps_to_its_refusal_from_each_check() -> None:
    code = seccomp.filter_program(0xC000003E, [41, 59])
    lines = instructions(code)
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

    monkeypatch.setattr(confinement, "call_kernel", refuse)
    assert confinement.abi_version() == 0
    with pytest.raises(OSError, match="no Landlock"):
        confinement.restrict_files((), ())


def test_a_reader_goes_on_where_landlock_refuses_and_a_runtime_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.E2BIG, "too many layers")

    monkeypatch.setattr(confinement, "restrict_files", refuse)
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
    monkeypatch.setattr(seccomp, "POINTER_BYTES", 4)
    assert not seccomp.can_filter()


@pytest.mark.parametrize(("version", "size"), [(1, 8), (3, 8), (4, 16), (5, 16), (6, 24), (9, 24)])
def test_a_kernel_is_given_the_fields_that_its_version_knows(version: int, size: int) -> None:
    assert confinement.size_of_ruleset(version) == size


def test_memory_beyond_the_limit_is_refused_at_once():
    code = (
        "from irbench.system.confinement import limit_memory; limit_memory(1 << 30)\n"
        "try: bytearray(2 << 30)\n"
        "except MemoryError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def listening() -> tuple[socket.socket, int]:
    server = socket.create_server(("127.0.0.1", 0))
    return server, server.getsockname()[1]


def connected(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), 5).close()


def bound(port: int) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()


needs_ports = pytest.mark.skipif(confinement_support().landlock < 4, reason="this kernel restricts no ports")


@needs_ports
@needs_seccomp
def test_a_server_reaches_its_ports_and_no_other() -> None:
    (one, allowed), (other, refused) = listening(), listening()
    with one, other:
        server = Confinement(ports=(allowed,))
        assert confined(server, lambda: connected(allowed)) == 0
        assert confined(server, lambda: connected(refused)) == errno.EACCES


@needs_ports
@needs_seccomp
@pytest.mark.parametrize("send", ["sendto", "sendmsg"])
def test_a_server_connects_to_no_other_port_by_sending_at_once(send: str) -> None:
    """TCP Fast Open connects without the call by that name, which kernels restrict alone."""

    def sent(port: int) -> None:
        with socket.socket() as client:
            address = ("127.0.0.1", port)
            if send == "sendto":
                client.sendto(b"x", socket.MSG_FASTOPEN, address)
            else:
                client.sendmsg([b"x"], [], socket.MSG_FASTOPEN, address)

    server, port = listening()
    with server:
        assert confined(Confinement(ports=()), lambda: sent(port)) == errno.EACCES


@needs_ports
@needs_seccomp
def test_a_server_listens_on_no_port_but_those_of_before() -> None:
    server, port = listening()
    with server:
        assert confined(Confinement(ports=(port,)), lambda: (connected(port), server.accept())) == 0
    for act in (lambda: bound(port), lambda: socket.socket().listen()):
        assert confined(Confinement(ports=(port,)), act) == errno.EACCES


@needs_seccomp
def test_a_server_sends_nothing_to_sockets_of_the_machine_and_no_signals(tmp_path: Path) -> None:
    address = str(tmp_path / "log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(address)
        server = Confinement(ports=())

        def send() -> None:
            one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            one.sendto(b"x", address)

        assert confined(server, send) == errno.EACCES
        assert confined(server, lambda: [one.send(b"x") for one, _other in (socket.socketpair(),)]) == 0
    assert confined(server, lambda: os.kill(os.getppid(), 0)) == errno.EACCES


@needs_seccomp
def test_a_server_leaves_the_times_of_files_alone(tmp_path: Path) -> None:
    assert confined(Confinement(ports=()), lambda: os.utime(tmp_path)) == errno.EACCES


@needs_seccomp
def test_a_server_starts_threads_and_no_process() -> None:
    def start_thread() -> None:
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(1))
        thread.start()
        thread.join()
        assert codes == [1]

    server = Confinement(ports=())
    assert confined(server, start_thread) == 0
    assert confined(server, lambda: subprocess.run([sys.executable, "-V"], check=True)) == errno.EACCES
    assert confined(server, lambda: os.execv(sys.executable, [sys.executable, "-V"])) == errno.EACCES
    assert confined(server, os.fork) == errno.EACCES


@needs_seccomp
@pytest.mark.parametrize(
    ("family", "kind", "protocol"),
    [
        (socket.AF_INET, socket.SOCK_DGRAM, 0),
        (socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_UDP),
        (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        (socket.AF_INET, socket.SOCK_STREAM, 262),
        (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP),
        (socket.AF_UNIX, socket.SOCK_STREAM, 0),
        (socket.AF_UNIX, socket.SOCK_DGRAM, 0),
        (socket.AF_NETLINK, socket.SOCK_RAW, 0),
        (socket.AF_PACKET, socket.SOCK_RAW, 0),
    ],
    ids=["UDP", "UDP 6", "ICMP", "MPTCP", "SCTP", "Unix", "Unix datagrams", "netlink", "packets"],
)
def test_a_server_opens_no_socket_but_those_of_tcp(family: int, kind: int, protocol: int) -> None:
    assert confined(Confinement(ports=()), lambda: socket.socket(family, kind, protocol)) == errno.EACCES


@needs_seccomp
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_server_opens_sockets_of_tcp(family: int) -> None:
    assert confined(Confinement(ports=()), lambda: socket.socket(family)) == 0
    assert confined(Confinement(ports=()), lambda: socket.socket(family, proto=socket.IPPROTO_TCP)) == 0


@needs_landlock
def test_a_server_has_no_files_but_those_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, own = tmp_path / "home", tmp_path / "own"
    for folder in (home, own):
        folder.mkdir()
        (folder / "file").write_text("x")
    monkeypatch.setenv("HOME", str(home))
    server = Confinement(writable=(own,), ports=())
    assert confined(server, lambda: (own / "file").write_text((own / "file").read_text())) == 0
    for act in (
        (home / "file").read_text,
        lambda: [*home.iterdir()],
        lambda: (home / "new").write_text("x"),
        lambda: (tmp_path / "new").write_text("x"),
        (home / "file").unlink,
        lambda: (own / "file").rename(home / "moved"),
    ):
        assert confined(server, act) in (errno.EACCES, errno.EXDEV)
    assert [path.name for path in home.iterdir()] == ["file"]


@needs_landlock
def test_a_server_whose_files_cannot_be_restricted_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.E2BIG, "too many layers")

    monkeypatch.setattr(confinement, "restrict_files", refuse)
    assert confined(Confinement(for_runtime=True), lambda: None) == errno.E2BIG
    process = os.fork()
    if not process:
        os._exit(confine(Confinement(ports=())).landlock)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
