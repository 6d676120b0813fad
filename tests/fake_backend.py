"""Backends whose speed and faults are scripted through their options, for tests through the real front door.

Their time is virtual: it passes only inside their calls, so that ratios are exact on any machine, however busy.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator
from virtual_clock import VirtualClock

from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spi import Array, Availability, Backend, Description, Feed, Outputs, Phases, Refusal, Session, Slot

KNOWN = ("call_us", "fault", "at", "precision", "async")
GROWTH_BYTES = 200_000_000
OPENING_MS = 40
grown: list[Array] = []


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
        self._evaluator = ReferenceEvaluator(str(artifact.path))
        self._names = [spec.name for spec in artifact.inputs]
        self._options = load.options
        self._answers: dict[bytes, tuple[Array, ...]] = {}
        self.call_ns = int(float(load.options.get("call_us", "300")) * 1000)
        self.clock = VirtualClock().install()
        self._runs = 0
        self.effective: Mapping[str, Scalar] = {
            "precision": load.options.get("precision", "fp32"),
            "threads": load.threads,
            "streams": load.streams,
            "device": device,
        }

    def answer(self, feed: Feed) -> tuple[Array, ...]:
        key = b"".join(array.tobytes() for array in feed)
        if key not in self._answers:
            outputs: Any = self._evaluator.run(None, dict(zip(self._names, feed, strict=True)))
            wrong = 1.5 if self._options.get("fault") == "wrong" else 1.0
            self._answers[key] = tuple(np.asarray(output) * np.float32(wrong) for output in outputs)
        return self._answers[key]

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
    at, _, number = options.get("at", "run:20").partition(":")
    if at != stage or (number and runs != int(number)):
        return
    match options.get("fault"):
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(3600)  # noqa: TID251 - a hang is what the script asks for
        case "raise":
            raise RuntimeError("the device was lost")
        case "refuse":
            raise Refusal("no such precision here", hint="ask for fp32")
        case "grow":
            grown.append(np.ones(GROWTH_BYTES, np.uint8))
        case "interrupt":
            os.kill(os.getppid(), signal.SIGINT)


class FakeBackend:
    consumes: tuple[str, ...] = ("onnx",)

    def __init__(self, name: str, version: str | None = "1.0") -> None:
        self.name = name
        self._version = version

    def describe(self) -> Description:
        return Description(self.name, "irbench-fake", self._version, ("cpu",), "pip install irbench-fake")

    def probe(self) -> Availability:
        return Availability(("cpu",), {"cpu": ("fp32",)}, {"cpu": "fp32"}, {})

    def import_runtime(self, load: Load, device: str) -> None:
        unknown = sorted(set(load.options) - set(KNOWN))
        if unknown:
            raise Refusal(f"{self.name} has no option {unknown[0]!r}.", hint=f"Options: {', '.join(KNOWN)}.")
        misbehave(load.options, "import")

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        with phases("load"):
            session = FakeSession(artifact, load, device)
        with phases("compile"):
            misbehave(load.options, "compile")
            if load.cache_dir is not None:  # given from the second launch on
                misbehave(load.options, "relaunch")
        return session


first: Backend = FakeBackend("fake-a")
second: Backend = FakeBackend("fake-b")
absent: Backend = FakeBackend("fake-absent", version=None)
