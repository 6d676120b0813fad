"""How small a difference is found, and how soon: graphs that differ by a few per cent, measured as users do.

Coverage says how often a claim is wrong. Power says how often there is one: of runs of a graph and of the same graph
with 1, 2, 3, 5 or 10 % more layers (:mod:`benchmarks.real_work.layers`), the share in which the shorter one is known to
be faster within 10, 20, 30, 60 and 90 s. Of equals every such claim is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.claims import known
from benchmarks.power_figures import Detection
from benchmarks.real_work.layers import MANY_LAYERS, PROGRAM, RATIOS, write_model
from benchmarks.steps import Step
from benchmarks.stored import StoredRun, run_stored
from benchmarks.workbench import MEASURED, Workbench
from irbench.optimizer import UNOPTIMIZED
from irbench.stats.speedups import holm_intervals, launch_ratios, verdict


def power_steps(bench: Workbench, backends: Sequence[str], runs: int) -> Iterator[Step]:
    """Yield a run of each pair, and again, so that all of them meet the same hours of the machine."""
    model = write_model(bench.scratch / "many-layers.onnx", MANY_LAYERS)
    near = [level for level, ratio in RATIOS.items() if ratio < 2]
    for seed, backend, level in product(range(1, runs + 1), backends, near):
        words = f"{backend}, run {seed}, ratio {RATIOS[level]:.2f}"
        yield Step(words, partial(_measure, bench, model, (backend, level), seed))


def _measure(bench: Workbench, model: Path, row: tuple[str, str], seed: int) -> Sequence[Detection]:
    backend, level = row
    forms = ("--optimize", f"{UNOPTIMIZED},{level}", "--baseline", f"{backend}+{level}")
    asked = (model, "--backends", backend, "--seed", seed, *forms)
    return [detection_of(run_stored(bench, PROGRAM, *asked, accept=MEASURED), backend, RATIOS[level])]


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
