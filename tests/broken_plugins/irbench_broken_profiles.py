"""Backends with profiles that break the contract, each in one way, and a sound one. Nothing is timed."""

import tempfile
from dataclasses import replace
from pathlib import Path

from irbench_numpy import NumPyBackend, NumPySession, NumPySlot

from irbench.onnx.reading.inventory import take_inventory
from irbench.spi import InferenceProfile, OperatorTime, Refusal


class CountedSlot(NumPySlot):
    runs = 0

    def run(self):
        super().run()
        self.runs += 1


class RecordingSession(NumPySession):
    def open_slots(self, count, io, /):
        self.slots = [CountedSlot(self.evaluator, self.artifact) for _ in range(count)]
        return self.slots

    def start_profile(self):
        self.runs_before = self.slots[0].runs

    def finish_profile(self, inferences, /):
        made = self.slots[0].runs - self.runs_before
        if made != inferences and not self.flaws.get("makes_up"):
            raise Refusal(f"{inferences} inferences were asked for, and {made} made.", hint="Profile again.")
        nodes = take_inventory(self.artifact.path).nodes
        operators = tuple(
            replace(
                OperatorTime(node.label, node.operator, 1000, (node.label,), 1000 * place), **self.flaws["operator"]
            )
            for place, node in enumerate(nodes)
        )
        return [InferenceProfile(operators)] * (inferences - self.flaws.get("lost", 0))


class Profiling(NumPyBackend):
    """Records one microsecond for each node of the graph.

    Args:
        name: Of the entry point.
        flaws: ``lost``: inferences that are in no profile; ``makes_up``: tells of inferences that were not made;
            ``litters``: leaves a file; ``effective`` and ``operator``: what is told otherwise.
    """

    def __init__(self, name, **flaws):
        self.name, self.flaws = name, {"operator": {}, "effective": {}, **flaws}

    def describe(self):
        return replace(super().describe(), name=self.name)

    def compile_profiled(self, artifact, load, device, phases, /):
        session = self.compile(artifact, load, device, phases)
        recording = RecordingSession(session.evaluator, artifact, {**session.effective, **self.flaws["effective"]})
        recording.flaws = self.flaws
        if self.flaws.get("litters"):
            (Path(tempfile.gettempdir()) / "records").touch()
        return recording


recording = Profiling("recording")
losing = Profiling("losing", lost=3)
making_up = Profiling("making_up", makes_up=True)
littering = Profiling("littering", litters=True)
elsewhere = Profiling("elsewhere", operator={"device": ""})
nameless = Profiling("nameless", operator={"nodes": ("another",)})
everlasting = Profiling("everlasting", operator={"duration_ns": 10**12})
late = Profiling("late", operator={"start_ns": 10**15})
otherwise = Profiling("otherwise", effective={"threads": 7})
silent = Profiling("silent", lost=30)
