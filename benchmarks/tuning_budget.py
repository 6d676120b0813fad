"""Whether a search decides in the time it is given: whole searches on made machines, by the schedules that are shipped.

    python -m benchmarks.tuning_budget --searches 200

A made machine has 180 settings of a model on two processors, whose speeds are drawn again for each search: effects of
the backend, the batch, threads, streams, processes, the graph and an option, and of each setting alone. Its clock
counts what a launch takes: starts, warm-ups, settle calls and rounds, as many of them as irbench would take. What it
measures scatters as in the regimes of ``tests/simulation``. What is launched next, how large launches are and what is
recommended is decided by irbench itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from irbench.core.record import BlockEvidence, CellLaunch, Evidence, LaunchRecord, Round
from irbench.features.tune.confirmation_plan import ConfirmationByCalls, confirmation_timing
from irbench.features.tune.decision import comparison_of, decide, row_traits
from irbench.features.tune.report import ReferenceKind
from irbench.features.tune.search_schedule import SEARCH, SearchSchedule
from irbench.features.tune.search_space import SearchSpace
from irbench.runner.launch_schedule import UNTIL_PRECISE, LaunchSchedule
from irbench.runner.launch_size import Forecast
from irbench.spec import Bundle, Cell, Goal, Group, InputSpec, Load, TensorSpec, Timing, Workload
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.launch_planning import (
    Room,
    behind,
    calls_per_sample,
    fewest_warm_up_calls,
    fits,
    launch_size,
    mean_round_s,
    needs_more_blocks,
    parts_of,
    samples_per_round,
)
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import observe, observe_otherwise
from irbench.stats.stopping_rule import Pace, launches_planned, scatters
from irbench.stats.winner import find_winner
from irbench.worker.cell import Warmed
from tests.simulation.regimes import REGIMES, SLOWER, Regime

_CLOSING_S = 0.3
_SIDE_BY_SIDE = 0.6
_WARM_UP_SHARE = 0.25
_BATCHES = (1, 2, 4, 8, 16)
_SHAPES = ((1, 1, 1), (1, 2, 1), (1, 1, 2), (1, 2, 2), (2, 1, 1), (2, 2, 1))
"""Threads, streams and instances that two processors run."""


@dataclass(frozen=True)
class Model:
    """What calls of a model take on each backend at batch 1 on two threads, in ms, and processes until their output."""

    call_ms: Mapping[str, float]
    ready_s: Mapping[str, float]


MODELS = {
    "resnet50": Model({"ort": 35.0, "openvino": 33.0}, {"ort": 1.5, "openvino": 2.0}),
    "bert_mini": Model({"ort": 6.0, "openvino": 5.0}, {"ort": 1.0, "openvino": 1.3}),
}


@dataclass(frozen=True)
class Policy:
    """How a search spends its time.

    Attributes:
        timing: Of its launches.
        plans: Whether it leaves the time that its confirmation needs, and confirms what there is time for. Otherwise it
            may take 60 % of the budget, whatever the rest has to hold, and confirms three settings.
        confirmation: Of its confirmation.
        calls_per_stream: Samples for each stream in the smallest rounds of its confirmation.
    """

    timing: Timing
    plans: bool = True
    confirmation: Timing = field(default_factory=lambda: confirmation_timing(Timing()))
    calls_per_stream: int = 1


POLICIES = {
    "rounds of calls, 60 %": Policy(
        Timing(blocks=3, max_blocks=4, min_blocks=3, most_blocks=4),
        plans=False,
        confirmation=Timing(),
        calls_per_stream=4,
    ),
    "`irbench tune`": Policy(SEARCH),
}
"""What the first one does is what a search does that uses the rounds of ``irbench run`` for its probes."""


@dataclass
class Machine:
    """A made machine.

    Attributes:
        model: What it runs.
        regime: How its times scatter.
        random: All chance.
        clock_s: Time that has passed.
    """

    model: Model
    regime: Regime
    random: np.random.Generator
    clock_s: float = 0.0
    truth_s: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.cells = {cell.id: cell for cell in _cells()}
        self.truth_s = self._speeds()

    @property
    def settings(self) -> tuple[Cell, ...]:
        """Those that may be chosen."""
        return tuple(cell for cell in self.cells.values() if cell.load.threads is not None)

    @property
    def defaults(self) -> tuple[Cell, ...]:
        """Each backend as it runs without any option."""
        return tuple(cell for cell in self.cells.values() if cell.id.endswith("/default"))

    def references(self, batch: int) -> dict[str, ReferenceKind]:
        """Return the rows that a setting is held against."""
        found: dict[str, ReferenceKind] = {cell.id: "default" for cell in self.defaults}
        return {**found, f"openvino/hint{batch}": "hint"}

    def group(self, cells: Sequence[str], baseline: str) -> Group:
        """Return some rows as a table."""
        inputs = (InputSpec(TensorSpec("x", "float32", ("batch", 8))),)
        workload = Workload(Bundle("made", inputs, ()), {"batch": 1})
        return Group((workload,), tuple(self.cells[cell] for cell in cells), baseline, Goal("fps"))

    def completion_s(self, cell: str) -> float:
        """Return the true time per completed call."""
        return self.truth_s[cell] * self.cells[cell].load.batch

    def _speeds(self) -> dict[str, float]:
        """Draw the true time per sample of every row."""
        draw = self.random.normal
        effects = {
            backend: {
                "batch": draw(-0.02, 0.02),
                "shape": {shape: draw(0.02, 0.06) for shape in _SHAPES[1:-2]},
                "streams": draw(-0.03, 0.03),
                "extended": draw(-0.03, 0.03),
                "option": draw(0.0, 0.03),
            }
            for backend in self.model.call_ms
        }
        return {cell.id: self._speed(cell, effects[cell.backend]) for cell in self.cells.values()}

    def _speed(self, cell: Cell, own: Mapping[str, Any]) -> float:
        load = cell.load
        shape = (load.threads or 2, load.streams, load.instances)
        log = own["batch"] * math.log2(load.batch) + own["shape"].get(shape, 0.0)
        if shape == (1, 1, 1):
            log = own["batch"] * math.log2(load.batch) + math.log(1.75)
        log += own["streams"] if shape == _SHAPES[-1] else 0.0
        log += own["extended"] if "extended" in cell.id else 0.0
        log += own["option"] if load.varied else 0.0
        log += self.random.normal(0, 0.01) if load.threads is not None else 0.0
        return self.model.call_ms[cell.backend] / 1e3 * math.exp(log)


def _cells() -> Iterator[Cell]:
    for backend, level in product(("ort", "openvino"), ("none", "extended")):
        options: tuple[dict[str, str], ...] = ({}, {"spinning": "0"}) if backend == "ort" else ({},)
        for batch, (threads, streams, instances), varied in product(_BATCHES, _SHAPES, options):
            name = f"{backend}/{level}/{batch}/{threads}/{streams}/{instances}/{len(varied)}"
            load = Load(batch, threads, streams, instances=instances, varied={"level": level, **varied})
            yield Cell(name, None, backend, "cpu", load)
    for backend in ("ort", "openvino"):
        yield Cell(f"{backend}/default", None, backend, "cpu", Load(1, None))
    for batch in _BATCHES:
        yield Cell(f"openvino/hint{batch}", None, "openvino", "cpu", Load(batch, None, 2, varied={"hint": "1"}))


class Measurement:
    """One run on a machine, as ``Comparison`` of :mod:`irbench.runs.group_measurement` does it, but for the work."""

    def __init__(self, machine: Machine, group: Group, timing: Timing, policy: Policy) -> None:
        self.machine, self.group, self.timing, self.policy = machine, group, timing, policy
        self.records: list[LaunchRecord] = []
        self._samples: dict[str, int] = {}
        self._launches_s: list[float] = []
        self._began_s = machine.clock_s

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return self.machine.clock_s - self._began_s

    def run(self, schedule: LaunchSchedule) -> str:
        """Launch what a schedule asks for, and return why it ended."""
        while True:
            pace = Pace(self.seconds, self._launches_s, _CLOSING_S)
            following = schedule.following(self.group, self.records, self.timing, Admission(), pace)
            if following.stopped_by is not None:
                return following.stopped_by
            before_s = self.machine.clock_s
            self.records.append(self._launch(following.cells))
            self.machine.clock_s += _CLOSING_S
            self._launches_s.append(self.machine.clock_s - before_s)

    def _launch(self, cells: Sequence[str]) -> LaunchRecord:
        machine, began_s = self.machine, self.machine.clock_s
        seen = {own.cell for record in self.records for own in record.cells}
        new = [cell for cell in cells if cell not in seen]
        ready_s = {cell: self._ready_s(cell, is_new=cell in new) for cell in cells}
        machine.clock_s += sum(ready_s.values()) * (1 if new else _SIDE_BY_SIDE)
        levels = {cell: self._level() for cell in cells}
        for cell in cells:
            machine.clock_s += self._warm_up_s(cell, len(cells))
        samples, timing = self._size(cells, machine.clock_s - began_s, bool(new))
        rounds, blocks = self._blocks(cells, levels, samples, timing)
        machine.clock_s += sum(machine.cells[c].load.concurrency * machine.completion_s(c) for c in new)
        own = tuple(
            CellLaunch(
                cell, machine.cells[cell].load.streams, calls_per_sample(1e9 * machine.completion_s(cell)),
                tuple(rounds[cell]), {"ready": round(1e9 * ready_s[cell])}, {}, {"precision": "fp32"},
            )
            for cell in cells
        )  # fmt: skip
        return LaunchRecord(group=0, launch=len(self.records), cells=own, failures={}, blocks=tuple(blocks))

    def _ready_s(self, cell: str, *, is_new: bool) -> float:
        """Return what a process takes until its first outputs: those of every slot where they are verified."""
        row = self.machine.cells[cell]
        answers = row.load.concurrency if is_new else 1
        return self.machine.model.ready_s[row.backend] + answers * self.machine.completion_s(cell)

    def _level(self) -> float:
        """Return what the speed of a launch is off by."""
        regime, random = self.machine.regime, self.machine.random
        is_slow = not regime.only_one and random.random() < regime.slow_share
        return float(random.normal(0, regime.launch_sd) + SLOWER * is_slow)

    def _warm_up_s(self, cell: str, cells: int) -> float:
        """Return what :meth:`irbench.worker.cell.CellHost.warm_up` takes."""
        in_flight, completion_s = self.machine.cells[cell].load.concurrency, self.machine.completion_s(cell)
        launches = self._room(0.0).launches
        most_s = max(self.timing.warm_up, _WARM_UP_SHARE * (self.timing.budget - self.seconds) / launches / cells)
        fewest = fewest_warm_up_calls(self.timing, in_flight)
        is_long = fewest * in_flight * completion_s > most_s * in_flight
        fewest_s = (in_flight if is_long else fewest) * completion_s
        left_s = self.timing.warm_up - fewest_s
        return fewest_s if left_s <= 0 else fewest_s + max(fewest_s, left_s)

    def _room(self, started_s: float) -> Room:
        """Return what is left for a launch that began so many seconds ago."""
        count = len(self.records)
        return Room(
            self.timing.budget - (self.seconds - started_s) - _CLOSING_S,
            max(1, launches_planned(len(self.group.cells), self.timing) - count),
            needed=max(1, self.timing.min_launches * parts_of(len(self.group.cells), self.timing.most_cells) - count),
        )

    def _size(self, cells: Sequence[str], started_s: float, has_new: bool) -> tuple[Mapping[str, int], Timing]:
        """Return samples per round and the blocks, as :func:`irbench.runner.launch_size.choose_tempo` does."""
        machine = self.machine
        speeds = {
            cell: Warmed(ns * 1.0, ns * 1.0, calls_per_sample(ns), {}, {})
            for cell in cells
            for ns in [1e9 * machine.completion_s(cell)]
        }
        answers = max(machine.cells[cell].load.concurrency for cell in cells) if has_new else 0
        forecast = Forecast(self.timing, speeds, answers)
        streams = {cell: machine.cells[cell].load.concurrency for cell in cells}
        per_stream = min(self.timing.calls_per_stream, self.policy.calls_per_stream)
        smallest = replace(self.timing, min_calls=1, calls_per_stream=per_stream)
        kept = {cell: count for cell, count in self._samples.items() if cell in speeds}
        room = self._room(started_s)
        for numbers in (self.timing, smallest):
            completion_ns = {cell: speed.completion_ns for cell, speed in speeds.items()}
            samples = {**samples_per_round(completion_ns, streams, numbers), **kept}
            cost = forecast.cost(started_s, _SIDE_BY_SIDE * started_s if has_new else started_s, samples)
            if fits(self.timing, cost, room):
                break
        self._samples = {**samples, **self._samples}
        known = scatters(self.group, self.records, self.timing, cells)
        return samples, launch_size(self.timing, cost, room, known)

    def _blocks(
        self, cells: Sequence[str], levels: Mapping[str, float], samples: Mapping[str, int], timing: Timing
    ) -> tuple[dict[str, list[Round]], list[BlockEvidence]]:
        machine, random, regime = self.machine, self.machine.random, self.machine.regime
        rounds: dict[str, list[Round]] = {cell: [] for cell in cells}
        blocks: list[BlockEvidence] = []
        timed = list(cells)
        while self._goes_on(len(blocks), timing):
            shared = random.normal(0, regime.wander) + regime.drift * len(blocks) / (timing.blocks + 1)
            before_s = machine.clock_s
            for cell in random.permutation(timed):
                log = levels[cell] + shared + self._noise(len(blocks))
                rounds[cell].append(self._round(cell, len(blocks), samples[cell], math.exp(log)))
            first = {cell: own[0].completion_ns[-1] / samples[cell] / machine.cells[cell].load.batch
                     for cell, own in rounds.items()}  # fmt: skip
            dropped = behind(first, timing)
            timed = [cell for cell in cells if cell not in dropped]
            wall_ns = round(1e9 * (machine.clock_s - before_s))
            blocks.append(BlockEvidence(len(blocks), tuple(cells), wall_ns, 0, 0, 0, None))
        return rounds, blocks

    def _goes_on(self, blocks: int, timing: Timing) -> bool:
        taken = blocks - timing.burn_in_blocks
        return taken < 0 or needs_more_blocks(taken, max(0, taken), timing)

    def _noise(self, block: int) -> float:
        """Return what a round is off by; bursts of disturbances are not seen by the kernel's counters."""
        regime, random = self.machine.regime, self.machine.random
        unit = random.normal() if regime.degrees is None else random.standard_t(regime.degrees)
        burst = 0.3 * (random.random() < regime.burst_share)
        return float(regime.round_sd * unit + burst + (regime.burn_in if block == 0 and not regime.only_one else 0.0))

    def _round(self, cell: str, block: int, samples: int, factor: float) -> Round:
        call_s = self.machine.completion_s(cell) * factor
        in_flight = self.machine.cells[cell].load.concurrency
        sample_ns = 1e9 * call_s * calls_per_sample(1e9 * self.machine.completion_s(cell))
        completion = np.rint(np.arange(1, samples + 1) * sample_ns).astype(np.int64)
        settle_s = mean_round_s(0.0, call_s, self.timing)
        self.machine.clock_s += settle_s + completion[-1] / 1e9
        wall_ns = round(1e9 * settle_s) + int(completion[-1])
        evidence = Evidence(wall_ns, wall_ns, 0, 0, 0, 0, 0)
        return Round(block, completion - round(in_flight * sample_ns), completion, evidence)


class SixtyPercent(SearchSchedule):
    """A search that may take 60 % of the budget, and leaves the rest to the confirmation, whatever that needs."""

    def _until_s(self) -> float:
        return 0.6 * self._seconds


@dataclass(frozen=True)
class Found:
    """What one search came to.

    Attributes:
        seen: Settings that were launched.
        launches: Of the confirmation.
        is_confirmed: Whether what is recommended is confirmed.
        is_wrong: Whether a setting was confirmed as better that is not, by the true speeds.
        regret: How much more time per sample what is recommended takes than the best setting.
        seconds: What all of it took.
    """

    seen: int
    launches: int
    is_confirmed: bool
    is_wrong: bool
    regret: float
    seconds: float


def search(machine: Machine, policy: Policy, budget_s: float, seed: int) -> Found:
    """Search and confirm as ``irbench tune`` does, in what is left of the budget when the machine has prepared."""
    left_s = budget_s - machine.clock_s
    plan = ConfirmationByCalls(machine.cells, machine.references, policy.confirmation)
    defaults = [cell.id for cell in machine.defaults]
    schedule = (SearchSchedule if policy.plans else SixtyPercent)(
        SearchSpace(machine.settings, 2), plan, left_s, seed, defaults if policy.plans else defaults[:1]
    )
    rows = [*(cell.id for cell in machine.settings), *defaults]
    timing = replace(policy.timing, budget=left_s)
    searched = Measurement(machine, machine.group(rows, defaults[0]), timing, policy)
    searched.run(schedule)
    left_s = budget_s - machine.clock_s
    best = schedule.affordable(3, left_s) if policy.plans else schedule.best(3)
    references = machine.references(machine.cells[best[0]].load.batch)
    table = machine.group(list(dict.fromkeys((*best, *references))), f"{machine.cells[best[0]].backend}/default")
    confirmed = Measurement(machine, table, replace(policy.confirmation, budget=max(1.0, left_s)), policy)
    confirmed.run(UNTIL_PRECISE)
    return _found(machine, searched, confirmed, references)


def _found(
    machine: Machine, searched: Measurement, confirmed: Measurement, references: Mapping[str, ReferenceKind]
) -> Found:
    group, records, timing = confirmed.group, confirmed.records, confirmed.timing
    launches = observe(group, records, timing)
    eligibility = decide_eligibility(group, records, Admission())
    rows: Any = {cell.id: SimpleNamespace(batch=cell.load.batch, fps=None, latency_ms=None) for cell in group.cells}
    otherwise = observe_otherwise(group, records, launches, timing)
    state = TableState(group, records, launches, otherwise, eligibility, rows, timing, "budget", confirmed.seconds)
    found = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    compared, traits = partial(comparison_of, state), row_traits(state, references)
    decision = decide(found.leader, eligibility.candidates, references, compared, traits, timing.within)
    assert decision.row is not None
    truth = machine.truth_s
    settings = {cell.id for cell in machine.settings}
    return Found(
        seen=len({own.cell for record in searched.records for own in record.cells} & settings),
        launches=len(records),
        is_confirmed=decision.is_confirmed,
        is_wrong=decision.conclusion == "better" and truth[decision.row] >= min(truth[row] for row in references),
        regret=truth[decision.row] / min(truth.values()) - 1,
        seconds=machine.clock_s,
    )


@click.command()
@click.option("--searches", default=200, help="Of each kind.")
@click.option("--budget", "budget_s", default=300.0, help="Of a search, in seconds.")
@click.option("--model", "models", multiple=True, type=click.Choice(tuple(MODELS)), default=tuple(MODELS))
@click.option(
    "--regime",
    "regimes",
    multiple=True,
    type=click.Choice(tuple(REGIMES)),
    default=("quiet", "bursts", "noisy launches"),
)
def main(searches: int, budget_s: float, models: Sequence[str], regimes: Sequence[str]) -> None:
    """Print what searches come to, as a table in Markdown."""
    click.echo(
        "| model | regime | search | settings seen | launches | decided | wrong | regret, median | 90th percentile |"
    )
    click.echo("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for model, regime, (name, policy) in product(models, regimes, POLICIES.items()):
        found = []
        for seed in range(searches):
            machine = Machine(MODELS[model], REGIMES[regime], np.random.default_rng(seed))
            found.append(search(machine, policy, budget_s, seed))
        click.echo(f"| {model} | {regime} | {name} | {_row(found)} |")


def _row(found: Sequence[Found]) -> str:
    median, high = np.percentile([each.regret for each in found], [50, 90])
    figures = (
        f"{np.median([each.seen for each in found]):.0f}",
        f"{np.median([each.launches for each in found]):.0f}",
        f"{np.mean([each.is_confirmed for each in found]):.0%}",
        f"{np.mean([each.is_wrong for each in found]):.1%}",
        f"{median:.1%}",
        f"{high:.1%}",
    )
    return " | ".join(figures)


if __name__ == "__main__":
    main()
