"""Backends that break their contract, each in one way, made of the one in docs/extending.md."""

import threading
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from irbench_numpy import NumPyBackend, NumPySession, NumPySlot

from irbench.spec import Load


class ReusedSlot(NumPySlot):
    def fetch(self):
        if not hasattr(self, "buffers"):
            self.buffers = [np.empty_like(output) for output in self.answer]
        for buffer, output in zip(self.buffers, self.answer, strict=True):
            buffer[...] = output
        return self.buffers


class StaleSlot(NumPySlot):
    def stage(self, feed, /):
        if not hasattr(self, "feed"):
            super().stage(feed)


class WrongSlot(NumPySlot):
    def fetch(self):
        return [output + 0.5 for output in self.answer]


class TwiceSlot(NumPySlot):
    """Says of every queued request twice that it is done."""

    def start(self, done, /):
        self.run()
        done(None)
        done(None)


class CrashingSlot(NumPySlot):
    def run(self):
        raise ValueError("the runtime has no room")


class RestlessSlot(NumPySlot):
    """Multiplies matrices on a thread of its own, for ever."""

    def __init__(self, evaluator, artifact):
        super().__init__(evaluator, artifact)
        threading.Thread(target=self.compute, daemon=True).start()

    def compute(self):
        square = np.ones((512, 512), np.float32)
        while True:
            square @ square


class Broken(NumPyBackend):
    """Has slots of another class; the session of ``shared`` gives the same slot to everybody."""

    def __init__(self, name, slot=NumPySlot, shares=False, **effective):
        self.name, self.slot, self.shares, self.effective = name, slot, shares, effective

    def describe(self):
        return replace(super().describe(), name=self.name)

    def compile(self, artifact, load, device, phases, /):
        session = super().compile(artifact, load, device, phases)
        made = BrokenSession(session.evaluator, artifact, {**session.effective, **self.effective})
        made.slot, made.shares = self.slot, self.shares
        return made


class BrokenSession(NumPySession):
    def open_slots(self, count, io, /):
        slots = [self.slot(self.evaluator, self.artifact) for _ in range(count)]
        return slots[:1] * count if self.shares else slots


class Unphased(Broken):
    """Loads the model while it compiles."""

    def compile(self, artifact, load, device, phases, /):
        with phases("compile"):
            return super().compile(artifact, load, device, lambda _phase: nullcontext())


class Obliging(Broken):
    """Accepts whatever is asked for."""

    def compile(self, artifact, load, device, phases, /):
        asked = Load(batch=load.batch, threads=load.threads, streams=load.streams)
        return super().compile(artifact, asked, "cpu", phases)


reused = Broken("reused", ReusedSlot)
stale = Broken("stale", StaleSlot)
shared = Broken("shared", shares=True)
wrong = Broken("wrong", WrongSlot)
mislabelled = Broken("mislabelled", device="tpu")
obliging = Obliging("obliging")
restless = Broken("restless", RestlessSlot)
unphased = Unphased("unphased")
twice = Broken("twice", TwiceSlot)
crashing = Broken("crashing", CrashingSlot)
