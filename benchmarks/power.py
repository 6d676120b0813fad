"""How small a difference is found, and how soon: graphs that differ by a few per cent, measured as users do.

Coverage says how often a claim is wrong. Power says how often there is one: of runs of a graph and of the same graph
with 1, 2, 3, 5 or 10 % more layers (:mod:`benchmarks.real_work.layers`), the share in which the shorter one is known to
be faster within 10, 20, 30, 60 and 90 s. Of equals every such claim is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path

from benchmarks.claims import known
from benchmarks.power_figures import Detection
from benchmarks.real_work.layers import MANY_LAYERS, SHARES, write_model
from benchmarks.steps import Step
from benchmarks.stored import StoredRun, run_stored
from benchmarks.workbench import MEASURED, Workbench
from irbench.optimizer import UNOPTIMIZED
from irbench.stats.speedups import holm_intervals, launch_ratios, verdict

_IRBENCH = ("python", "-m", "benchmarks.real_work")
_RATIOS: Mapping[str, float] = {level: 1 + share for level, share in SHARES.items() if share < 1}
"""How many times as fast as each level the shortest graph truly is."""


@dataclass(frozen=True)
class Power:
    """What is measured, and how often.

    Attributes:
        bench: Where it runs.
        backends: Their names.
        runs: Of each pair.
    """

    bench: Workbench
    backends: Sequence[str]
    runs: int

    def steps(self) -> Iterator[Step]:
        """Yield a run of each pair, and again, so that all of them meet the same hours of the machine."""
        for seed, backend, level in product(range(1, self.runs + 1), self.backends, _RATIOS):
            words = f"{backend}, run {seed}, ratio {_RATIOS[level]:.2f}"
            yield Step(words, partial(self._measure, backend, level, seed))

    @cached_property
    def _model(self) -> Path:
        return write_model(self.bench.scratch / "many-layers.onnx", MANY_LAYERS)

    def _measure(self, backend: str, level: str, seed: int) -> Sequence[Detection]:
        forms = ("--optimize", f"{UNOPTIMIZED},{level}", "--baseline", f"{backend}+{level}")
        asked = (self._model, "--backends", backend, "--seed", seed, *forms)
        return [detection_of(run_stored(self.bench, _IRBENCH, *asked, accept=MEASURED), backend, _RATIOS[level])]


def detection_of(run: StoredRun, subject: str, ratio: float) -> Detection:
    """Return when a run of two rows knew which one is faster; the baseline is the longer graph.

    Raises:
        IrbenchError: It has no baseline, or no other row.
    """
    baseline = known(run.table.baseline, "the baseline")
    row = known(next((cell.id for cell in run.table.cells if cell.id != baseline), None), "the shorter graph")
    detected_s, is_wrong = math.inf, False
    for count, ended_s in enumerate(run.launch_ended_s, start=1):
        launches = replace(run, launches=run.launches[:count]).observed
        ratios = launch_ratios(launches, baseline, row)
        said = verdict(holm_intervals({row: ratios}, run.timing)[row], run.timing) if ratios else "preview"
        if said in ("faster", "slower"):
            detected_s = min(detected_s, ended_s)
            is_wrong |= said == "slower" or ratio == 1
    return Detection(subject, ratio, detected_s, is_wrong, len(run.launches))
