"""Compare a backend with itself, and find the smallest difference that such a run detects."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import Speedup
from irbench.features.doctor.options import DoctorOptions
from irbench.notices import Context, Note
from irbench.notices.notes import ChosenBackend, ChosenModel
from irbench.onnx.probe_graph import matmul
from irbench.options.run import RunOptions
from irbench.requests.resolve import resolve_backends, resolve_bundles
from irbench.requests.run_requests import allowed_cpus, total_threads
from irbench.runner.request import RunRequest
from irbench.spec import Timing
from irbench.stats.intervals import Looks, interval_at, looks_of
from irbench.stats.stopping_rule import unit_half_width
from irbench.store import bundles

FOUND = 0.8
"""The share of runs that must find a difference for it to count as one that can be seen."""
_FARTHEST = 16.0
"""Log ratio beyond which nobody asks whether a difference is seen."""
_STEPS = 60
_DRAWS = 4000

Outcome = Literal["passed", "failed", "undecided", "busy", "mismatch", "broken", "interrupted"]
"""Not different passes and different fails; ``busy`` says nothing, because most blocks were disturbed; ``mismatch`` is
a wrong answer, ``broken`` a row without figures."""


@dataclass(frozen=True)
class SelfComparison:
    """What came of measuring a backend twice.

    Attributes:
        run_id: Of the stored run.
        folder: Where it is stored.
        table: Its only table.
        timing: The protocol's numbers, the band that is called the same among them.
    """

    run_id: str
    folder: Path
    table: GroupResult
    timing: Timing

    @property
    def speedup(self) -> Speedup | None:
        """The second against the first; ``None`` where one of them has no valid result."""
        return next((cell.speedup for cell in self.table.cells if cell.speedup is not None), None)

    @property
    def outcome(self) -> Outcome:
        """What the comparison says of the machine."""
        speedup = self.speedup
        if self.table.stopped_by == "interrupt":
            return "interrupted"
        if speedup is None:
            return "mismatch" if any(cell.state == "mismatch" for cell in self.table.cells) else "broken"
        if self.table.is_busy and speedup.verdict != "preview":
            return "busy"
        if speedup.verdict == "same":
            return "passed"
        return "failed" if speedup.verdict in ("faster", "slower") else "undecided"

    @property
    def smallest_difference(self) -> float | None:
        """The least true difference that four of five such runs would find, as a fraction.

        ``None`` without an interval, and where the machine told a backend from itself: what it finds means nothing.
        """
        speedup = self.speedup
        if speedup is None or speedup.low is None or self.outcome not in ("passed", "undecided"):
            return None
        return smallest_difference(speedup, self.table.launches, self.timing)


def judge_self_comparison(document: RunDocument, folder: Path, timing: Timing) -> SelfComparison:
    """Return what a run of one backend named twice says of the machine."""
    (table,) = document.groups
    return SelfComparison(document.run_id, folder, table, timing)


def smallest_difference(self_comparison: Speedup, launches: int, timing: Timing) -> float:
    """Return the least true difference that :data:`FOUND` of all runs of this length call faster, as a fraction.

    The scatter of a launch's log ratio is taken from the half-width of the interval of a backend against itself, as
    :func:`irbench.stats.stopping_rule.launches_to_reach` does.
    """
    if self_comparison.low is None or self_comparison.high is None:
        raise ValueError("nothing is known without an interval")
    half_width = (math.log(self_comparison.high) - math.log(self_comparison.low)) / 2
    scatter = half_width / (unit_half_width(launches, timing, timing.confidence) or math.inf)
    seldom, often = 0.0, _FARTHEST
    for _ in range(_STEPS):
        middle = (seldom + often) / 2
        if chance_of_faster(middle, scatter, launches, timing) < FOUND:
            seldom = middle
        else:
            often = middle
    return math.expm1(often)


def chance_of_faster(difference: float, scatter: float, launches: int, timing: Timing) -> float:
    """Return how likely a true log ratio is to be called ``faster``, if launches have this standard deviation.

    That verdict (:func:`irbench.stats.speedups.verdict`) wants the interval to lie above 0 and not wholly inside the
    band. An interval moves and stretches with its values, so those of standard normal launches serve for all.
    """
    edge = math.log1p(timing.within)
    ends = _standard_ends(launches, looks_of(timing), timing.confidence)
    seen = sum(difference + scatter * low > 0 and difference + scatter * high > edge for low, high in ends)
    return seen / len(ends)


@cache
def _standard_ends(launches: int, looks: Looks, confidence: float) -> tuple[tuple[float, float], ...]:
    """Return the interval's ends in many runs whose launches are standard normal, always the same ones."""
    draw = random.Random(launches)  # noqa: S311 - a simulation
    runs = ([draw.gauss(0, 1) for _ in range(launches)] for _ in range(_DRAWS))
    intervals = (interval_at(values, looks, confidence) for values in runs)
    return tuple((interval.low, interval.high) for interval in intervals)


_OWN_SHAPE = (1, 512, 512)
"""Of our own model's input: enough for some milliseconds of work, so that overheads do not decide."""


def self_comparison_request(model: str, options: DoctorOptions, scratch: Path, say: Say) -> RunRequest:
    """Return the plan of a run in which one backend is named twice, and say what was chosen for want of a name."""
    backend, why_backend = _backend(options.backend)
    model, why_model = _model(model, scratch)
    notes = tuple(note for note in (why_backend, why_model) if note is not None)
    for note in notes:
        say(note.text(Context()))
    cpus = allowed_cpus(options.cpus)
    return RunRequest(
        bundles=resolve_bundles([model], everything=False, say=say),
        backends=(backend, backend),
        notes=notes,
        threads=(total_threads(options.threads, cpus),),
        asked=RunOptions(cpus=cpus),
        is_repeatable=False,
        budget_s=options.budget,
    ).with_budget_for(1, 1)


def _backend(name: str | None) -> tuple[BackendAddress, Note | None]:
    """Return the backend, the steadiest of which says most of the machine: a reference where none was named."""
    if name is not None:
        return resolve_backends([name])[0], None
    installed = resolve_backends(())
    trusted = [address for address in map(BackendAddress, registry.references_in_order()) if address in installed]
    chosen = (trusted or installed)[0]
    return chosen, ChosenBackend(backend=str(chosen), is_reference=bool(trusted))


def _model(name: str, scratch: Path) -> tuple[str, Note | None]:
    if name:
        return name, None
    latest = bundles.latest()
    if latest is None:
        return str(matmul(scratch, "fp32", _OWN_SHAPE).path), ChosenModel(model=None)
    return str(latest), ChosenModel(model=latest.parent.name)
