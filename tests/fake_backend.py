"""Backends whose speed and faults are scripted through their options, for tests through the real front door.

Their time is virtual: it passes only inside their calls, so that ratios are exact on any machine, however busy.
Each worker imports this module, so it imports little, and the rest where it is used.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fake_answers import Answers
from fake_faults import misbehave, refuse_form
from fake_profiles import OPTIONS, profiles_of, refuse_profile
from virtual_clock import VirtualClock

from irbench.spec import Artifact, Io, Load
from irbench.spi import (
    Array,
    Availability,
    Backend,
    Description,
    Feed,
    InferenceProfile,
    Outputs,
    Phases,
    ProfiledSession,
    Session,
    Slot,
)

KNOWN = (
    "call_us",
    "sample_us",
    "position_us",
    "op",
    "op_us",
    "fault",
    "at",
    "when_batch",
    "precision",
    "pressed",
    "device",
    "async",
    "cache",
    "clock",
    "cold_calls",
    "cold_factor",
    "serves",
    "keeps_bytes",
    *OPTIONS,
)
OPENING_MS = 40
DRIFT_AT = 30
_AXES_OF_CACHE = 4
_MOST_KEPT = 100
"""Calls of which the script keeps memory."""
PRESSING = "presses"
"""A word in the command line of a neighbour that slows down scripted models with ``pressed=1``."""
STARVED_NS = 1_000_000_000
"""Longer than any round."""


class RealClock:
    """The clock of the machine, which several processes share: calls last as long as the script says, asleep."""

    expected_in_flight = 0

    def advance(self, duration_ns: int) -> None:
        time.sleep(duration_ns / 1e9)  # noqa: TID251 - the script asks for time to pass

    def complete_after(self, duration_ns: int, done: Callable[[], None]) -> None:
        threading.Timer(duration_ns / 1e9, done).start()


class FakeSlot:
    """Lets as much virtual time pass as the script says, and answers what the reference evaluator answered."""

    def __init__(self, session: FakeSession, number: int = 0) -> None:
        self._session = session
        self._number = number
        self._feed: Feed = ()

    def stage(self, feed: Feed) -> None:
        self._feed = feed
        self._session.copy()

    def run(self) -> None:
        self._session.fault("run")
        self._session.clock.advance(self._session.next_call_ns() + self._session.cached_ns(self._feed))

    def fetch(self) -> Outputs:
        self._session.copy()
        return self._session.answer(self._feed)


class FakeAsyncSlot(FakeSlot):
    """The same, on a thread of the fake runtime's."""

    def start(self, done: Callable[[BaseException | None], None]) -> None:
        wait_ns = self._session.waits_ns(self._number)
        self._session.clock.complete_after(wait_ns + self._session.next_call_ns(), lambda: done(None))


def pressure_of_neighbours() -> float:
    """Return the intensities of all neighbours that are not frozen, added up: the last word of their command lines.

    They press from the moment in which they are started, and none while it has yet to obey the signal that stops it.
    """
    workers = children_of(os.getppid())
    commands = (command for worker in workers for command in children_of(worker))
    return sum(pressure_of(command) for command in commands)


def children_of(process: int) -> list[int]:
    """Return the process ids of the children of all threads of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has just ended, or one of its threads has
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def pressure_of(process: int) -> float:
    """Return the intensity of one neighbour as a share; 0 of one that is frozen or gone, and of other processes."""
    folder = Path(f"/proc/{process}")
    try:
        words = (folder / "cmdline").read_text().split("\0")[:-1]
        status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
    except OSError:
        return 0.0
    stops = status["State"].startswith("T") or int(status["ShdPnd"], 16) & 1 << (signal.SIGSTOP - 1)
    return 0.0 if stops or PRESSING not in words else int(words[-1]) / 100


class FakeSession:
    def __init__(self, artifact: Artifact, load: Load, device: str) -> None:
        self._answers = Answers(artifact.path, [spec.name for spec in artifact.inputs])
        self._options = script_of(load, artifact)
        call_us = float(load.options.get("call_us", "300"))
        call_us += float(load.options.get("op_us", "0")) * scripted_nodes(artifact, load)
        self.call_ns = int((call_us + load.batch * float(load.options.get("sample_us", "0"))) * 1000)
        self.clock: VirtualClock | RealClock = (
            RealClock() if load.options.get("clock") == "real" else VirtualClock().install()
        )
        self._position_us = float(load.options.get("position_us", "0"))
        self._keeps_bytes = int(load.options.get("keeps_bytes", "0"))
        self._kept: list[Array] = []
        self._runs = 0
        self._calls = 0
        self._cold_calls = int(load.options.get("cold_calls", "0"))
        self._cold_factor = float(load.options.get("cold_factor", "1"))
        self._serves = int(load.options.get("serves", "0"))
        self._copy_ns = 0
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

    def next_call_ns(self) -> int:
        """Return how long the next call lasts: longer before the script's number of them was made."""
        self._calls += 1
        if self._calls <= _MOST_KEPT:
            self._kept.append(np.ones(self._keeps_bytes, np.uint8))
        cold = self._cold_factor if self._calls <= self._cold_calls else 1
        return int(self.call_ns * cold * (1 + self._pressure()))

    def _pressure(self) -> float:
        return pressure_of_neighbours() if self._options.get("pressed") == "1" else 0.0

    def cached_ns(self, feed: Feed) -> int:
        """Return what the positions of a decoder's cache add to a call: the third of the four axes of its inputs."""
        positions = max((array.shape[2] for array in feed if array.ndim == _AXES_OF_CACHE), default=0)
        return int(1000 * self._position_us * positions)

    def waits_ns(self, slot: int) -> int:
        """Return how long a request waits before it is served: where the script serves a few slots only, the others."""
        return STARVED_NS if self._serves and slot >= self._serves else 0

    def copy(self) -> None:
        """Let as much time pass as copying to or from bound memory takes."""
        if self._copy_ns:
            self.clock.advance(self._copy_ns)

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        self._copy_ns = int(1000 * float(self._options.get("copy_us", "0"))) if io == "bound" else 0
        self.clock.advance(OPENING_MS * 1_000_000)
        self.clock.expected_in_flight = count
        kind = FakeAsyncSlot if self._options.get("async") == "1" else FakeSlot
        return [kind(self, number) for number in range(count)]

    def close(self) -> None:
        misbehave(self._options, "close")


class FakeProfiledSession(FakeSession):
    """The same, with a recording of operators that takes its time."""

    def __init__(self, artifact: Artifact, load: Load, device: str) -> None:
        super().__init__(artifact, load, device)
        self._model = artifact.path
        self._unprofiled_ns = self.call_ns
        self.call_ns += int(float(load.options.get("profiling_us", "0")) * 1000)

    def start_profile(self) -> None: ...

    def finish_profile(self, inferences: int) -> Sequence[InferenceProfile]:
        return profiles_of(self._model, self._options, self._unprofiled_ns, inferences)


def scripted_nodes(artifact: Artifact, load: Load) -> int:
    """Return how many nodes of a graph have the operator that the script names; 1 where it names none."""
    if "op" not in load.options:
        return 1
    import onnx

    return sum(node.op_type == load.options["op"] for node in onnx.load(artifact.path).graph.node)


def script_of(load: Load, artifact: Artifact | None = None) -> Mapping[str, str]:
    """Return the options of a load, without its fault where the script wants that elsewhere only.

    That is at another batch, or in graphs that have an operator.
    """
    is_in_graph = artifact is None or scripted_nodes(artifact, load) > 0
    if is_in_graph and load.options.get("when_batch", str(load.batch)) == str(load.batch):
        return load.options
    return {key: value for key, value in load.options.items() if key != "fault"}


class FakeBackend:
    consumes: tuple[str, ...] = ("onnx",)

    def __init__(self, name: str, version: str | None = "1.0", devices: tuple[str, ...] = ("cpu",)) -> None:
        self.name = name
        self._version = version
        self._devices = devices

    def describe(self) -> Description:
        install, caches = "pip install irbench-fake", ("cache",)
        return Description(
            self.name,
            "irbench-fake",
            self._version,
            self._devices,
            nvidia_devices=self._devices[1:],
            install=install,
            options=KNOWN,
            cache_folders=caches,
            files=(),
            variables=("FAKE_RUNTIME_",),
            operator_kinds={"Reorder": "movement"},
        )

    def probe(self) -> Availability:
        return Availability(
            self._devices, dict.fromkeys(self._devices, ("fp32",)), dict.fromkeys(self._devices, "fp32"), {}
        )

    def import_runtime(self, load: Load, device: str) -> None:
        misbehave(script_of(load), "import")

    def _launched_before(self) -> bool:
        """Whether some worker of this test has compiled for this backend."""
        lock = os.environ.get("IRBENCH_LOCK")
        if lock is None:
            return False
        trace = Path(lock).with_name(f"launched-{self.name}")
        before = trace.exists()
        with contextlib.suppress(PermissionError):  # of a confined worker
            trace.touch()
        return before

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        with phases("load"):
            refuse_form(artifact, load.options.get("fault", ""))
            session = FakeSession(artifact, load, device)
        self._compile(artifact, load, phases)
        return session

    def _compile(self, artifact: Artifact, load: Load, phases: Phases) -> None:
        with phases("compile"):
            misbehave(script_of(load, artifact), "compile")
            if self._launched_before():
                misbehave(script_of(load, artifact), "relaunch")


class ProfiledFakeBackend(FakeBackend):
    """One that can also say how long operators took; ``fake-f`` cannot."""

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> ProfiledSession:
        refuse_profile(load.options)
        with phases("load"):
            session = FakeProfiledSession(artifact, load, device)
        self._compile(artifact, load, phases)
        return session


first: Backend = ProfiledFakeBackend("fake-a")
second: Backend = ProfiledFakeBackend("fake-b")
third: Backend = ProfiledFakeBackend("fake-c")
fourth: Backend = ProfiledFakeBackend("fake-d")
fifth: Backend = ProfiledFakeBackend("fake-e", devices=("cpu", "cuda"))
sixth: Backend = FakeBackend("fake-f")
absent: Backend = FakeBackend("fake-absent", version=None)
