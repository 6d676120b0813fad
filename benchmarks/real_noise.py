"""Real runtimes on a graph and on the same graph with more layers: what their own noise does to a known ratio.

ONNX Runtime and OpenVINO bring their own pools of threads, which spin while they wait, and every process of theirs has
a speed of its own. The work that is added is real, so the ratio is known by construction
(:mod:`benchmarks.real_work.layers`).

The ablation measures the same pairs in ways that each do without one part of the protocol:

* without freezing: workers whose turn it is not are left alone (``IRBENCH_NO_FREEZE``), and a round begins when the
  worker before it no longer computes, for which irbench waits a second at most;
* without interleaving: a run of one graph, then a run of the other, half the budget each. Their launches' medians are
  not paired, so they are compared by the usual interval for two samples;
* without relaunching: the blocks of the first launch of the run as shipped, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path

from benchmarks.ablation_figures import ONE_AFTER_THE_OTHER, ONE_LAUNCH, UNFROZEN, over_blocks, shift_interval
from benchmarks.claims import SHIPPED, Claim, claim_of_interval, claim_of_row, known
from benchmarks.real_work.layers import PROGRAM, RATIOS, write_model
from benchmarks.steps import Step
from benchmarks.stored import StoredRun, run_stored
from benchmarks.workbench import MEASURED, Workbench
from irbench.optimizer import UNOPTIMIZED
from irbench.stats.observed import log_level

_EQUAL, _LONGER, _TWICE = "same", "longer", "twice"
_LINEAR_RUNS = 3
_HALF_THE_BUDGET = "45s"


@dataclass(frozen=True)
class RealNoise:
    """What is measured, and how often.

    Attributes:
        bench: Where it runs.
        backends: Their names.
        runs: Of each pair.
    """

    bench: Workbench
    backends: Sequence[str]
    runs: int

    def linear_steps(self) -> Iterator[Step]:
        """Yield a few runs in which one graph is twice as long: whether time follows the number of layers."""
        for seed in range(1, min(_LINEAR_RUNS, self.runs) + 1):
            yield from (self._pair_step(backend, _TWICE, seed) for backend in self.backends)

    def steps(self, *, ablation: bool) -> Iterator[Step]:
        """Yield runs of equals and of graphs that differ by 5 %, in which backends, pairs and ways take turns.

        Args:
            ablation: Whether they are also measured in the ways that need runs of their own.
        """
        for seed, backend in product(range(1, self.runs + 1), self.backends):
            yield from (self._pair_step(backend, level, seed) for level in (_EQUAL, _LONGER))
            if ablation:
                yield from self._ablation_steps(backend, seed)

    def _ablation_steps(self, backend: str, seed: int) -> Iterator[Step]:
        for level in (_EQUAL, _LONGER):
            words = f"{_words(backend, seed)}, ratio {RATIOS[level]:.2f}, {UNFROZEN}"
            yield Step(words, partial(self._unfrozen, backend, level, seed))
        words = f"{_words(backend, seed)}, {ONE_AFTER_THE_OTHER}"
        yield Step(words, partial(self._one_after_the_other, backend, seed))

    def _pair_step(self, backend: str, level: str, seed: int) -> Step:
        words = f"{_words(backend, seed)}, ratio {RATIOS[level]:.2f}"
        return Step(words, partial(self._pair, backend, level, seed))

    @cached_property
    def _model(self) -> Path:
        return write_model(self.bench.scratch / "layers.onnx")

    def _pair(self, backend: str, level: str, seed: int) -> Sequence[Claim]:
        """Measure as users do; a single launch of the same run says what it would have said alone."""
        run = self._compare(backend, level, seed)
        ratio = RATIOS[level]
        first, (row, baseline) = run.observed[0], _ids(run)
        alone = over_blocks(first, row, baseline, run.timing.confidence)
        cost = (1, run.launch_ended_s[0])
        return [
            claim_of_row(run.table, backend, ratio, backend, SHIPPED),
            claim_of_interval(alone, run.timing, (backend, ONE_LAUNCH), ratio, cost),
        ]

    def _unfrozen(self, backend: str, level: str, seed: int) -> Sequence[Claim]:
        run = self._compare(backend, level, seed, environment={"IRBENCH_NO_FREEZE": "1"})
        return [claim_of_row(run.table, backend, RATIOS[level], backend, UNFROZEN)]

    def _one_after_the_other(self, backend: str, seed: int) -> Sequence[Claim]:
        """Measure the shortest graph twice, then the longer one; the run in the middle is compared with both."""
        before, run, after = (self._alone(backend, level, seed) for level in (UNOPTIMIZED, UNOPTIMIZED, _LONGER))
        return [_unpaired(backend, run, before, _EQUAL), _unpaired(backend, run, after, _LONGER)]

    def _compare(self, backend: str, level: str, seed: int, environment: Mapping[str, str] | None = None) -> StoredRun:
        baseline = ("--optimize", f"{UNOPTIMIZED},{level}", "--baseline", f"{backend}+{level}")
        return self._run(backend, seed, *baseline, environment=environment)

    def _alone(self, backend: str, level: str, seed: int) -> StoredRun:
        return self._run(backend, seed, "--optimize", level, "--budget", _HALF_THE_BUDGET)

    def _run(
        self, backend: str, seed: int, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> StoredRun:
        asked = (self._model, "--backends", backend, "--seed", seed, *arguments)
        return run_stored(self.bench, PROGRAM, *asked, accept=MEASURED, environment=environment)


def _words(backend: str, seed: int) -> str:
    return f"{backend}, run {seed}"


def _ids(run: StoredRun) -> tuple[str, str]:
    """Return the ids of the row that is compared and of the baseline."""
    baseline = known(run.table.baseline, "the baseline")
    row = next((cell.id for cell in run.table.cells if cell.id != baseline and cell.speedup is not None), None)
    return known(row, "the shortest graph"), baseline


def _unpaired(backend: str, run: StoredRun, other: StoredRun, level: str) -> Claim:
    """Return what two runs one after the other say of the first graph's speedup over the second."""
    own, others = (_levels(item) for item in (run, other))
    faster = shift_interval(own, others, run.timing.confidence)
    cost = (len(own) + len(others), run.table.seconds + other.table.seconds)
    return claim_of_interval(faster, run.timing, (backend, ONE_AFTER_THE_OTHER), RATIOS[level], cost)


def _levels(run: StoredRun) -> list[float]:
    """Return the log time of a run's only row in each launch, ln(ns)."""
    (row,) = run.table.cells
    found = (log_level(item, row.id) for item in run.observed)
    return [known(item, row.label) for item in found]
