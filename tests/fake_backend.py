"""Backends whose speed and faults are scripted through their options, for tests through the real front door.

Their time is virtual: it passes only inside their calls, so that ratios are exact on any machine, however busy.
Each worker imports this module, so it imports little, and the rest where it is used.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fake_answers import Answers
from virtual_clock import VirtualClock

from irbench.spec import Artifact, Io, Load
from irbench.spi import Array, Availability, Backend, Description, Feed, Outputs, Phases, Refusal, Session, Slot

KNOWN = ("call_us", "fault", "at", "precision", "device", "async", "cache", "clock")
GROWTH_BYTES = 200_000_000
OPENING_MS = 40
DRIFT_AT = 30
CHATTER_BYTES = 3_000_000
DAEMON_SLEEPS_S = 35917
grown: list[Array] = []


class RealClock:
    """The clock of the machine, which several processes share: calls last as long as the script says, asleep."""

    expected_in_flight = 0

    def advance(self, duration_ns: int) -> None:
        time.sleep(duration_ns / 1e9)  # noqa: TID251 - the script asks for time to pass

    def complete_after(self, duration_ns: int, done: Callable[[], None]) -> None:
        threading.Timer(duration_ns / 1e9, done).start()


class FakeSlot:
    """Lets as much virtual time pass as the script says, and answers what the reference evaluator answered."""

    def __init__(self, session: FakeSession) -> None:
        self._session = session
        self._feed: Feed = ()

    def stage(self, feed: Feed) -> None:
        self._feed = feed

    def run(self) -> None:
        self._session.fault("run")
        self._session.clock.advance(self._session.call_ns)

    def fetch(self) -> Outputs:
        return self._session.answer(self._feed)


class FakeAsyncSlot(FakeSlot):
    """The same, on a thread of the fake runtime's."""

    def start(self, done: Callable[[BaseException | None], None]) -> None:
        self._session.clock.complete_after(self._session.call_ns, lambda: done(None))


class FakeSession:
    def __init__(self, artifact: Artifact, load: Load, device: str) -> None:
        self._answers = Answers(artifact.path, [spec.name for spec in artifact.inputs])
        self._options = load.options
        self.call_ns = int(float(load.options.get("call_us", "300")) * 1000)
        self.clock: VirtualClock | RealClock = (
            RealClock() if load.options.get("clock") == "real" else VirtualClock().install()
        )
        self._runs = 0
        if "cache" in load.options:
            (Path(load.options["cache"]) / "compiled").touch()
        self.effective: Mapping[str, Any] = {
            "precision": load.options.get("precision", "fp32"),
            "threads": load.threads,
            "streams": load.streams,
            "device": load.options.get("device", device),
            "share": np.float32(0.5),  # no scalar of Python's, as careless backends give
        }

    def answer(self, feed: Feed) -> tuple[Array, ...]:
        if self._options.get("fault") == "mirrored":  # the largest class becomes another one
            return tuple(output[..., ::-1].copy() for output in self._answers(feed))
        return tuple(output * np.float32(self._wrongness()) for output in self._answers(feed))

    def _wrongness(self) -> float:
        """Return what answers are multiplied by: 1 unless, or until, the script makes them wrong."""
        fault, _, processor = self._options.get("fault", "").partition(":")
        if fault == "wrong-on":
            return 1.5 if os.sched_getaffinity(0) == {int(processor)} else 1.0
        if fault in ("drift", "decay") and self._runs < DRIFT_AT:
            return 1.0
        return {"wrong": 1.5, "drift": 1.5, "decay": float("nan")}.get(fault, 1.0)

    def fault(self, stage: str) -> None:
        self._runs += 1
        misbehave(self._options, stage, self._runs)

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        self.clock.advance(OPENING_MS * 1_000_000)
        self.clock.expected_in_flight = count
        kind = FakeAsyncSlot if self._options.get("async") == "1" else FakeSlot
        return [kind(self) for _ in range(count)]

    def close(self) -> None: ...


def misbehave(options: Mapping[str, str], stage: str, runs: int = 0) -> None:
    """Do what the script says should go wrong at this stage (``at``: import, compile, relaunch, run or run:N)."""
    at, _, number = options.get("at", "run:8").partition(":")
    if at == stage and (not number or runs == int(number)):
        fault, _, detail = options.get("fault", "").partition(":")
        FAULTS.get(fault, lambda _: None)(detail)


def crash(name: str) -> None:
    """Die as by this signal, SIGSEGV unless named."""
    os.kill(os.getpid(), signal.Signals[name or "SIGSEGV"])


def crash_on(processor: str) -> None:
    """Die where this is the only processor that the process may use."""
    if os.sched_getaffinity(0) == {int(processor)}:
        crash("")


def hang(manner: str) -> None:
    """Give no answer: asleep, ``deaf`` to polite requests to end, ``stopped`` by somebody else, or amid a ``reply``."""
    if manner == "reply":
        from tests_support import begin_an_answer

        begin_an_answer()
    if manner == "deaf":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if manner == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(3600)  # noqa: TID251 - a hang is what the script asks for


def hang_on(processor: str) -> None:
    """Give no answer where this is the only processor that the process may use."""
    if os.sched_getaffinity(0) == {int(processor)}:
        hang("")


def resist_freezing(_: str) -> None:
    """Answer, but with a thread in the kernel that cannot be stopped."""
    from tests_support import hang_in_spawn

    fifo = Path(os.environ["IRBENCH_LOCK"]).with_name("fifo")
    os.mkfifo(fifo)
    hang_in_spawn(str(fifo))


def lose_device(_: str) -> None:
    raise RuntimeError("the device was lost")


def lack_module(name: str) -> None:
    raise ModuleNotFoundError(f"No module named {name!r}")


def refuse(_: str) -> None:
    raise Refusal("no such precision here", hint="ask for fp32")


def grow(_: str) -> None:
    grown.append(np.ones(GROWTH_BYTES, np.uint8))


def leak(size: str) -> None:
    """Keep so many bytes, written to so that they are resident."""
    grown.append(np.ones(int(size), np.uint8))


def exhaust_memory(_: str) -> None:
    """Ask for more than a limit allows."""
    import psutil

    resource.setrlimit(
        resource.RLIMIT_AS, (psutil.Process().memory_info().vms + GROWTH_BYTES // 2, resource.RLIM_INFINITY)
    )
    grow("")


def chatter(_: str) -> None:
    """Write as native libraries do that know no lines and no encoding: megabytes to both outputs."""
    for descriptor in (1, 2):
        for _piece in range(4):
            os.write(descriptor, b"{\xff\xfe" * (CHATTER_BYTES // 12))


def leave_daemon(then: str) -> None:
    """Start what leaves the worker's session and is adopted by another process; crash afterwards if asked to."""
    script = f"import subprocess; subprocess.Popen(['sleep', '{DAEMON_SLEEPS_S}'], start_new_session=True)"
    subprocess.run(["python3", "-c", script], check=True)
    if then == "crash":
        crash("")


def kill_idle(_: str) -> None:
    """Kill another worker while it is frozen, as the kernel does that chooses the largest process."""
    import psutil

    frozen = [child for child in psutil.Process(os.getppid()).children() if child.status() == psutil.STATUS_STOPPED]
    frozen[-1].kill()


def fill_disk(_: str) -> None:
    """Leave no room where results are stored."""
    with (
        contextlib.suppress(OSError),
        (Path(os.environ["IRBENCH_RESULTS"]) / "filler").open("wb", buffering=0) as filler,
    ):
        while True:
            filler.write(bytes(4096))


def kill_helpers(_: str) -> None:
    """Kill what serves the coordinator besides its workers."""
    import psutil

    helpers = [child for child in psutil.Process(os.getppid()).children() if "irbench.worker" not in child.cmdline()]
    for helper in helpers:
        helper.kill()


def interrupt(name: str) -> None:
    """Send the coordinator a signal, SIGINT unless named."""
    os.kill(os.getppid(), signal.Signals[name or "SIGINT"])


def refuse_form(artifact: Artifact, fault: str) -> None:
    """Refuse a graph with bound shapes, with dynamic ones, or with either, as the script says."""
    if not fault.startswith("refuse-"):
        return
    from irbench.onnx.reading import signature

    dynamic = any(spec.dynamic_dimensions for spec in signature.read(artifact.path).inputs)
    if fault in ("refuse-either", "refuse-dynamic" if dynamic else "refuse-bound"):
        raise RuntimeError(f"{artifact.path}: shapes contradict each other")


FAULTS: Mapping[str, Callable[[str], None]] = {
    "crash": crash,
    "crash-on": crash_on,
    "hang-on": hang_on,
    "hang": hang,
    "resist": resist_freezing,
    "raise": lose_device,
    "lack": lack_module,
    "refuse": refuse,
    "grow": grow,
    "memory": exhaust_memory,
    "leak": leak,
    "chatter": chatter,
    "daemon": leave_daemon,
    "kill-idle": kill_idle,
    "kill-helpers": kill_helpers,
    "fill": fill_disk,
    "interrupt": interrupt,
}


class FakeBackend:
    consumes: tuple[str, ...] = ("onnx",)

    def __init__(self, name: str, version: str | None = "1.0") -> None:
        self.name = name
        self._version = version

    def describe(self) -> Description:
        install, caches = "pip install irbench-fake", ("cache",)
        return Description(
            self.name, "irbench-fake", self._version, install=install, options=KNOWN, cache_folders=caches
        )

    def probe(self) -> Availability:
        return Availability(("cpu",), {"cpu": ("fp32",)}, {"cpu": "fp32"}, {})

    def import_runtime(self, load: Load, device: str) -> None:
        misbehave(load.options, "import")

    def _launched_before(self) -> bool:
        """Whether some worker of this test has compiled for this backend."""
        lock = os.environ.get("IRBENCH_LOCK")
        if lock is None:
            return False
        trace = Path(lock).with_name(f"launched-{self.name}")
        before = trace.exists()
        trace.touch()
        return before

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        with phases("load"):
            refuse_form(artifact, load.options.get("fault", ""))
            session = FakeSession(artifact, load, device)
        with phases("compile"):
            misbehave(load.options, "compile")
            if self._launched_before():
                misbehave(load.options, "relaunch")
        return session


first: Backend = FakeBackend("fake-a")
second: Backend = FakeBackend("fake-b")
third: Backend = FakeBackend("fake-c")
fourth: Backend = FakeBackend("fake-d")
fifth: Backend = FakeBackend("fake-e")
sixth: Backend = FakeBackend("fake-f")
absent: Backend = FakeBackend("fake-absent", version=None)
