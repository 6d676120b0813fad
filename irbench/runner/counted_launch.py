"""One counted launch of a cell: a fresh process, alone, with counters attached to each of its phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from irbench.counter_row import PhaseCounts, PhaseTimeline
from irbench.counters import (
    CountedPhase,
    Counting,
    Obstacle,
    PerfReading,
    Said,
    ToplevFailed,
    read_intervals,
    read_perf,
    shares_of,
)
from irbench.measure.perf_stat import CountingFailed, PerfStat, TopLev
from irbench.record import Failure, Stage
from irbench.runner.cell_worker import CellFailed, CellWorker, Setting
from irbench.spec import Cell
from irbench.worker.cell import Prepared, Warmed
from irbench.worker.soak import SoakBlock

_COUNTED_NS = 5e8
"""What the counted inferences of a launch take together."""
_FEWEST_INFERENCES = 5
_SLOWDOWN = 5
"""How much longer calls may take than was foreseen before their worker counts as hanging."""
_STAGES: Mapping[CountedPhase, Stage] = {
    "import": "import",
    "compile": "compile",
    "warm_up": "warm-up",
    "inference": "measure",
}


@dataclass
class CountedPhases:
    """What counting the phases of a launch gave.

    Attributes:
        counts: By phase.
        timeline: Phase by phase, where counts were told in intervals.
        nodes_missing: Why toplev reported no nodes.
    """

    counts: dict[CountedPhase, PhaseCounts] = field(default_factory=dict[CountedPhase, PhaseCounts])
    timeline: list[PhaseTimeline] = field(default_factory=list[PhaseTimeline])
    nodes_missing: Obstacle | None = None


def count_cell(cell: Cell, setting: Setting, counting: Counting, folder: Path) -> CountedPhases:
    """Start a cell, count each of its phases, and end it.

    Args:
        cell: It.
        setting: Of its table.
        counting: What is counted.
        folder: An empty one, for the files of perf.

    Raises:
        CellFailed: The cell failed, or perf did.
    """
    return _Launch(cell, setting, counting, folder, None).run()


def timeline_of_cell(
    cell: Cell, setting: Setting, counting: Counting, folder: Path, step_ms: int
) -> tuple[PhaseTimeline, ...]:
    """Start a cell once more, and return what was counted in each step of its phases; raises as :func:`count_cell`.

    Reading the counters that often takes time of its own, so such a launch is no sample.
    """
    return tuple(_Launch(cell, setting, counting, folder, step_ms).run().timeline)


class _Launch:
    def __init__(self, cell: Cell, setting: Setting, counting: Counting, folder: Path, step_ms: int | None) -> None:
        self._cell = cell
        self._setting = setting
        self._counting = counting
        self._folder = folder
        self._step_ms = step_ms
        self._found = CountedPhases()

    def run(self) -> CountedPhases:
        with self._setting.worker(self._cell) as worker:
            worker.hold("irbench.worker.soak:SoakHost")
            self._count(worker, "import", lambda: worker.ask("import", "import_runtime"))
            prepared: Prepared = self._count(worker, "compile", lambda: worker.ask("compile", "prepare", False))
            timing = self._setting.timing
            extra_s = _SLOWDOWN * (timing.warm_up + timing.warm_up_calls * prepared.first_inference_s)
            warmed: Warmed = self._count(worker, "warm_up", lambda: worker.ask("warm-up", "warm_up", extra_s=extra_s))
            self._infer(worker, warmed)
        return self._found

    def _infer(self, worker: CellWorker, warmed: Warmed) -> None:
        sample_ns = warmed.calls_per_sample * warmed.completion_ns
        samples = max(_FEWEST_INFERENCES, math.ceil(_COUNTED_NS / sample_ns))
        extra_s = _SLOWDOWN * samples * sample_ns / 1e9
        self._count(worker, "inference", lambda: worker.ask("measure", "block", samples, extra_s=extra_s))
        if self._counting.toplev is not None and self._step_ms is None:
            self._count_deeper(worker, lambda: worker.ask("measure", "block", samples, extra_s=extra_s))

    def _count(self, worker: CellWorker, phase: CountedPhase, action: Callable[[], Any]) -> Any:
        """Do something in the worker while the counters run, and keep what they came to."""
        if not self._counting.arguments:
            return action()
        try:
            with PerfStat(self._counting, worker.process_id, self._folder / phase, self._step_ms) as perf:
                perf.enable()
                answer = action()
                perf.disable()
                self._keep(phase, perf.finish(), answer.calls if isinstance(answer, SoakBlock) else 0)
        except CountingFailed as failed:
            raise CellFailed(Failure(_STAGES[phase], f"perf cannot count it: {failed}")) from failed
        return answer

    def _keep(self, phase: CountedPhase, text: str, inferences: int) -> None:
        if self._step_ms is not None:
            self._found.timeline.append(_timeline(phase, read_intervals(text), self._counting))
            return
        reading = read_perf(text)
        shares = {} if self._counting.topdown is None else shares_of(reading, self._counting.topdown)
        self._found.counts[phase] = PhaseCounts(self._counting.counts(reading), shares, inferences)

    def _count_deeper(self, worker: CellWorker, action: Callable[[], SoakBlock]) -> None:
        """Have toplev attached during as many inferences once more."""
        assert self._counting.toplev is not None
        assert self._counting.level is not None
        program, level = self._counting.toplev, self._counting.level
        try:
            with TopLev(program, level, worker.process_id, self._folder / "toplev") as toplev:
                block = action()
                nodes = toplev.nodes()
        except CountingFailed as failed:
            self._leave_out_nodes(failed)
            return
        before = self._found.counts.get("inference", PhaseCounts({}, {}, block.calls))
        self._found.counts["inference"] = PhaseCounts(before.events, {**before.shares, **nodes}, before.inferences)

    def _leave_out_nodes(self, failed: CountingFailed) -> None:
        """Keep why toplev failed beside what perf counted; without that, the launch has counted nothing."""
        if not self._counting.arguments:
            raise CellFailed(Failure("measure", f"toplev cannot count it: {failed}")) from failed
        self._found.nodes_missing = ToplevFailed(Said(str(failed)))


def _timeline(phase: CountedPhase, steps: tuple[tuple[float, PerfReading], ...], counting: Counting) -> PhaseTimeline:
    counts = [counting.counts(reading) for _, reading in steps]
    ends_s = (0.0, *(end_s for end_s, _ in steps))
    return PhaseTimeline(
        phase,
        tuple(later - earlier for earlier, later in pairwise(ends_s)),
        {event: tuple(step[event].value for step in counts) for event in counting.events},
    )
