"""Counters of the profiles of :mod:`profiles`, made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import profiles

from irbench.core.counter_row import CountedLaunch, PhaseCounts
from irbench.core.record import Failure
from irbench.features.profile.profile_document import CountedKind, CountedPart, ProfileCounters, ProfileDocument
from irbench.perf_events.obstacles import NotSupported
from irbench.perf_events.perf_output import EventCount

EVENTS = ("task-clock", "cycles", "instructions")
LOST = Failure("compile", "It has no kernel for this.")


def launch(
    number: int,
    *,
    cycles: float = 1e9,
    instructions: float = 2e9,
    retiring: float = 0.5,
    inferences: int = 100,
    running: float = 1.0,
) -> CountedLaunch:
    """Return a launch with counts of all its inferences, at 3 GHz."""
    events = {
        "task-clock": EventCount(cycles / 3e6),
        "cycles": EventCount(cycles, running),
        "instructions": EventCount(instructions, running),
    }
    shares = {"retiring": retiring, "frontend_bound": 0.1, "bad_speculation": 0.02, "backend_bound": 0.88 - retiring}
    return CountedLaunch(number, {"inference": PhaseCounts(events, shares, inferences)})


def part(
    name: str,
    *operators: int,
    launches: Sequence[CountedLaunch] = (),
    times: int = 1,
    cell: str = "ort-cpu",
    kind: CountedKind = "operators",
) -> CountedPart:
    """Return operators of ort, by their places, or its whole model without any."""
    nodes = (f"node{operators[0]}",) if operators else ()
    return CountedPart(f"{cell}-{name}", cell, kind, operators, nodes, times, tuple(launches))


def counters(*parts: CountedPart) -> ProfileCounters:
    """Return counters of some parts."""
    return ProfileCounters(
        asked=("software", "topdown", "cache"),
        events=EVENTS,
        perf_version="6.8.12",
        planned=6,
        share=0.8,
        most_kinds=4,
        confidence=0.95,
        stopped_by="launches",
        seconds=77.0,
        topdown="perf",
        unavailable={"cache": NotSupported()},
        parts=parts,
    )


def example() -> ProfileDocument:
    """Return a profile of two backends whose operators were counted, and of one that reads no ONNX."""
    tf = replace(profiles.ort(), id="tf-cpu", label="tf", backend="tf", artifact="tf-graph")
    document = profiles.document(profiles.ort(), profiles.openvino(), tf, kinds=profiles.KINDS)
    counted = counters(
        part("model", kind="model", launches=_launches(5e9)),
        part("call", kind="call", launches=_launches(2e7)),
        part("conv", 1, times=3, launches=_launches(1e9)),
        part("dense", 4, launches=_launches(5e8, retiring=0.2)),
        part("relu", 2, launches=_launches(1e8)),
        replace(part("softmax", 5), failure=LOST),
        part("model", kind="model", cell="openvino-cpu", launches=_launches(4e9)),
        part("call", kind="call", cell="openvino-cpu", launches=_launches(9e7)),
        part("conv", 0, cell="openvino-cpu", launches=_launches(3e9, retiring=0.7)),
        part("model", kind="model", cell="tf-cpu", launches=_launches(8e9)),
    )
    return replace(document, counters=replace(counted, whole_only=("tf-cpu",)))


def _launches(cycles: float, retiring: float = 0.5) -> list[CountedLaunch]:
    factors = (0.99, 1.0, 1.01, 1.0, 0.98, 1.02)
    return [
        launch(number, cycles=factor * cycles, instructions=2 * cycles, retiring=retiring)
        for number, factor in enumerate(factors)
    ]
