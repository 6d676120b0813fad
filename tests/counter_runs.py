"""Runs with counters whose figures are derived from made-up raw counts."""

from __future__ import annotations

from dataclasses import replace

from documents import document

from irbench.core.counter_row import CountedLaunch, CounterRow, CounterTable, PhaseCounts, PhaseTimeline
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.row import Requested
from irbench.perf_events.obstacles import NotSupported, UnknownEvent
from irbench.perf_events.perf_output import EventCount
from irbench.stats.counter_figures import derive_counter_table

EVENTS = ("task-clock", "context-switches", "cycles", "instructions")
SHAPES = {"image": (1, 224, 224, 3)}


def phase(scale: float, inferences: int = 0, running: float = 1.0, without: str = "") -> PhaseCounts:
    """Return counts of a phase of so many seconds of processor time, one event perhaps not counted."""
    events = {
        "task-clock": EventCount(1e3 * scale),
        "context-switches": EventCount(round(40 * scale)),
        "cycles": EventCount(3e9 * scale, running),
        "instructions": EventCount(7.2e9 * scale, running),
    }
    shares = {"retiring": 0.48, "frontend_bound": 0.07, "bad_speculation": 0.01, "backend_bound": 0.44}
    if without:
        events[without] = EventCount(None)
    return PhaseCounts(events, shares, inferences)


def counter_row(name: str, speed: float, launches: int = 6, running: float = 1.0) -> CounterRow:
    def launch(number: int) -> CountedLaunch:
        wobble = speed * (1 + 0.01 * ((number * len(name)) % 5 - 2))
        inference = phase(wobble, inferences=25, running=running)
        return CountedLaunch(
            number, {"import": phase(0.4), "compile": phase(0.2), "warm_up": phase(0.3), "inference": inference}
        )

    effective = {"precision": "fp32", "threads": 2, "device": "cpu"}
    made = tuple(map(launch, range(launches)))
    asked = Requested(2, 1, "fp32")
    return CounterRow(
        id=name,
        label=name,
        artifact="onnx",
        backend=name,
        device="cpu",
        batch=1,
        io="copy",
        requested=asked,
        effective=effective,
        state="ok",
        launches=made,
    )


def timeline() -> tuple[PhaseTimeline, ...]:
    steps = tuple(0.1 for _ in range(12))
    counts = {"task-clock": tuple(8.0 * step for step in range(12)), "cycles": tuple(None for _ in steps)}
    return (PhaseTimeline("compile", steps, counts), PhaseTimeline("inference", (0.1, 0.02), {"cycles": (3e8, 6e7)}))


def counted(*rows: CounterRow, timeline_ms: int | None = None) -> RunDocument:
    """Return a run whose table of speeds has a table of counters."""
    died = replace(
        counter_row("tf", 1, 0), state="failed", failure=Failure("measure", "perf cannot count it: it ended")
    )
    table = CounterTable(
        table=0,
        model="resnet50",
        batch=1,
        shapes=SHAPES,
        asked=("software", "topdown", "cache", "nonsense"),
        events=EVENTS,
        perf_version="6.8.12",
        rounds=6,
        preview=False,
        confidence=0.95,
        stopped_by="launches",
        seconds=41.0,
        topdown="perf",
        unavailable={"cache": NotSupported(), "nonsense": UnknownEvent()},
        timeline_ms=timeline_ms,
        rows=(*(rows or (counter_row("ort", 0.5), counter_row("openvino", 0.4))), died),
    )
    return replace(document(), counters=(derive_counter_table(table),))
