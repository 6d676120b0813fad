"""What is read about the machine, and what goes on there for a moment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from irbench.features.doctor import machine
from irbench.features.doctor import machine as activity
from irbench.features.doctor.machine import describe_machine, watch
from irbench.measure.disturbances import MachineSnapshot
from irbench.system import host


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty kernel: nothing is told until a test writes it."""
    for name in ("_CPU", "_MEMORY_INFO", "_CLOCK_SOURCE", "_HUGE_PAGES", "_SYSTEMD_CONTAINER"):
        monkeypatch.setattr(machine, name, tmp_path / name)
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "_CPU_INFO")
    monkeypatch.setattr(machine, "CONTAINERS", {"docker": tmp_path / "dockerenv"})
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_machine_can_be_described() -> None:
    found = describe_machine()
    assert found.processor
    assert set(found.cpu_per_core) <= set(found.cpus) <= set(found.processors)
    assert 1 <= found.threads <= len(found.cpus)
    assert 0 < found.available_memory_bytes <= found.memory_bytes


@pytest.mark.usefixtures("kernel")
def test_what_the_kernel_does_not_tell_is_none_and_never_zero() -> None:
    found = describe_machine()
    assert (found.turbo, found.turbo_file, found.governors) == (None, None, ())
    assert found.clock_source is None
    assert found.huge_pages is None
    assert found.container is None
    assert found.swap_used_bytes == 0
    assert found.processors


@pytest.mark.parametrize(
    ("file", "text", "turbo"),
    [
        ("intel_pstate/no_turbo", "0", True),
        ("intel_pstate/no_turbo", "1", False),
        ("cpufreq/boost", "1", True),
        ("cpufreq/boost", "0", False),
    ],
)
def test_turbo_is_told_by_either_switch(kernel: Path, file: str, text: str, turbo: bool) -> None:
    put(kernel / "_CPU" / file, f"{text}\n")
    found = describe_machine()
    assert found.turbo is turbo
    assert found.turbo_file == str(kernel / "_CPU" / file)


def test_every_governor_of_our_processors_is_named_once(kernel: Path) -> None:
    for cpu in describe_machine().cpus:
        put(kernel / "_CPU" / f"cpu{cpu}/cpufreq/scaling_governor", "powersave\n")
    put(kernel / "_CPU/cpu9999/cpufreq/scaling_governor", "ondemand\n")
    assert describe_machine().governors == ("powersave",)


def test_instructions_that_inference_profits_from_are_named(kernel: Path) -> None:
    put(kernel / "_CPU_INFO", "processor : 0\nflags\t\t: fpu avx2 hypervisor amx_int8 fma\n")
    assert describe_machine().instructions == ("fma", "avx2", "amx_int8")


def test_a_hypervisor_that_does_not_name_itself_is_seen(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = {**machine.host.describe(), "cpu": {"Model name": "A Processor"}}
    monkeypatch.setattr(machine.host, "describe", lambda: described)
    assert describe_machine().hypervisor is None
    put(kernel / "_CPU_INFO", "flags : fpu hypervisor\n")
    assert describe_machine().hypervisor == "unknown"


def test_swap_clock_source_and_huge_pages_are_read(kernel: Path) -> None:
    put(kernel / "_MEMORY_INFO", "MemTotal: 9 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n")
    put(kernel / "_CLOCK_SOURCE", "hpet\n")
    put(kernel / "_HUGE_PAGES", "always [madvise] never\n")
    found = describe_machine()
    assert (found.swap_used_bytes, found.clock_source, found.huge_pages) == (40 * 1024, "hpet", "madvise")


def test_a_container_is_recognised(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(kernel / "_SYSTEMD_CONTAINER", "lxc\n")
    assert describe_machine().container == "lxc"
    put(kernel / "dockerenv", "")
    assert describe_machine().container == "docker"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert describe_machine().container == "kubernetes"


@pytest.mark.parametrize("told", ["", "lscpu: unknown option", '{"caches": [{"name": "L1d"}]}'])
def test_an_lscpu_that_is_missing_or_old_leaves_the_caches_out(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "lscpu", f"#!/bin/sh\necho '{told}'\n")
    (tmp_path / "lscpu").chmod(0o755 if told else 0o644)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_machine().caches == ()


GONE = 2**22 + 1
"""More than any process id."""
SECOND = 1_000_000_000


class Link:
    def __init__(self, answers: Iterator[float | None]) -> None:
        self._answers = answers

    def __call__(self, _cpus: tuple[int, ...]) -> Link:
        return self

    def core_to_core_ns(self) -> float | None:
        return next(self._answers, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two snapshots a second apart: our parent used half of it, one that is gone a tenth, another next to nothing."""
    parent, idle = os.getppid(), GONE + 1
    before = MachineSnapshot(0, {parent: 7, idle: 0}, throttled_ns=0, steal_ns=0)
    used = {parent: 7 + SECOND // 2, GONE: SECOND // 10, idle: 1000}
    after = MachineSnapshot(SECOND, used, throttled_ns=SECOND // 4, steal_ns=SECOND // 5)
    snapshots = iter((before, after))
    monkeypatch.setattr(activity, "snapshot", lambda _cpus: next(snapshots))
    monkeypatch.setattr(activity, "CoreLink", Link(iter((90.0, None, 92.0))))
    monkeypatch.setattr(activity, "LOOK_S", 0.2)


@pytest.mark.usefixtures("scripted")
def test_shares_are_of_one_processor() -> None:
    found = watch((0, 1))
    assert found.seconds == 1
    assert found.foreign_share == pytest.approx(0.6, rel=1e-4)
    assert found.throttled_share == 0.25
    assert found.stolen_share == 0.2


@pytest.mark.usefixtures("scripted")
def test_the_largest_programs_are_named_first_and_the_smallest_not_at_all() -> None:
    parent, gone = watch((0, 1)).programs
    assert (parent.process_id, parent.share, parent.stoppable) == (os.getppid(), 0.5, False)
    assert parent.name
    assert (gone.name, gone.share, gone.stoppable) == ("a program that has ended", 0.1, False)


@pytest.mark.usefixtures("scripted")
def test_a_look_without_an_answer_is_counted_and_left_out() -> None:
    found = watch((0, 1))
    assert found.core_to_core is not None
    assert found.core_to_core.samples_ns == (90.0, 92.0)
    assert found.unanswered_looks > 0


@pytest.mark.usefixtures("scripted")
def test_one_processor_has_no_core_to_core_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "CoreLink", Link(iter(())))
    found = watch((0,))
    assert found.core_to_core is None
    assert found.unanswered_looks == 0


def test_a_thread_counts_for_its_process() -> None:
    code = "import threading; t = threading.Thread(target=input); t.start(); print(t.native_id, flush=True); t.join()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        thread = int(child.stdout.readline())
        assert thread != child.pid
        assert activity.process_of(thread) == child.pid
        child.communicate(b"\n")
    assert activity.process_of(GONE) == GONE


def waiting(*arguments: str, new_session: bool = False) -> subprocess.Popen[bytes]:
    """Return another program that has begun, and runs until its input ends."""
    program = subprocess.Popen(
        [sys.executable, "-c", "input(chr(10))", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=new_session,
    )
    assert program.stdout is not None
    program.stdout.readline()  # before it has begun, the kernel has no command line of it
    return program


def test_a_living_program_of_ours_may_be_stopped_and_shows_the_beginning_of_its_command() -> None:
    with waiting("x" * 100) as child:
        found = activity.program_of(child.pid, 0.5, above=())
        child.communicate(b"\n")
    assert found.stoppable
    assert found.command.startswith(f"{Path(sys.executable).name} -c input(chr(10)) xxx")
    assert len(found.command) == 40
    assert found.command.endswith("...")


def test_what_leads_a_session_or_started_us_or_is_another_users_is_not_to_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with waiting() as child:
        assert not activity.program_of(child.pid, 0.5, above=(child.pid,)).stoppable
        monkeypatch.setattr(os, "geteuid", lambda: 2**31)
        assert not activity.program_of(child.pid, 0.5, above=()).stoppable
        child.communicate(b"\n")
    monkeypatch.undo()
    with waiting(new_session=True) as leader:
        assert not activity.program_of(leader.pid, 0.5, above=()).stoppable
        leader.communicate(b"\n")


def test_a_program_that_has_ended_and_is_not_yet_buried_is_not_to_be_stopped() -> None:
    with waiting() as child:
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not activity.program_of(child.pid, 0.5, above=()).stoppable


@pytest.mark.parametrize(
    ("name", "words", "shown"),
    [
        ("MainThread", ("/usr/bin/node", "/opt/app/server.js", "--port", "1"), "node server.js"),
        ("python", ("/usr/bin/python3.12", "-m", "pytest", "tests"), "python3.12 pytest"),
        ("python", ("python", "-c", "pass"), "python"),
        ("MainThread", ("/usr/bin/code", "--type=x"), "code"),
        ("kworker", (), "kworker"),
        ("stress", ("stress", "--cpu", "1"), "stress"),
    ],
)
def test_an_interpreter_is_named_with_its_script(name: str, words: tuple[str, ...], shown: str) -> None:
    assert activity.name_of(name, words) == shown


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["/venv/bin/python", "-P", "-m", "irbench.worker", "5"], True),
        (["/venv/bin/python", "/venv/bin/irbench", "run", "net.onnx"], True),
        (["/usr/bin/python3", "train.py", "--log", "a", "b", "irbench"], False),
    ],
)
def test_a_process_of_another_call_of_irbench_is_never_offered_for_a_pause(words: list[str], ours: bool) -> None:
    assert activity.is_of_irbench(words) is ours
