"""How good the settings are that a search finds, and what finding them costs: searches replayed on recorded grids.

    python -m benchmarks.tuning_replay results/reference/tuning-grids/*.json --searches 1000

The truth of a grid is the mean of each setting over its launches. A launch of a search draws that, with the scatter of
a launch of the grid chosen at random. A search ends with its finalists measured again, as ``irbench tune`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.tuning_grid import Grid, load_grid
from irbench.features.tune.gaussian_process import Settings
from irbench.features.tune.search_schedule import Known, finalists, propose
from irbench.spec import Timing

_OBJECTIVE = "fps"
_CONFIRMED = 3
_SEARCH_BLOCKS = 4
"""Blocks of a launch of a search, its burn-in included."""


@dataclass
class World:
    """A grid whose settings can be launched.

    Attributes:
        grid: It.
        generator: Of scatter.
    """

    grid: Grid
    generator: np.random.Generator
    spent_s: float = 0.0
    seen: dict[int, list[float]] = field(default_factory=dict[int, list[float]])

    @cached_property
    def truth(self) -> np.ndarray:
        """Return the cost of each setting."""
        return np.array([np.mean(row.costs[_OBJECTIVE]) for row in self.grid.rows])

    @cached_property
    def scatter(self) -> np.ndarray:
        """Return by how much launches missed the mean of their setting, made up for the mean being theirs."""
        found = []
        for row, mean in zip(self.grid.rows, self.truth, strict=True):
            values = np.array(row.costs[_OBJECTIVE])
            if len(values) > 1 and np.any(values):
                found.extend((values - mean) * np.sqrt(len(values) / (len(values) - 1)))
        return np.array(found)

    def launch(self, places: Sequence[int], blocks: int) -> list[float]:
        """Return what a launch shows of settings, and count what it took; the baseline takes part."""
        rows = [self.grid.rows[place] for place in {*places, 0}]
        self.spent_s += sum(row.start_s + blocks * row.block_s for row in rows)
        return [float(self.truth[place] + self.generator.choice(self.scatter)) for place in places]

    def look(self, places: Sequence[int]) -> None:
        """Launch settings as a search does."""
        for place, value in zip(places, self.launch(places, _SEARCH_BLOCKS), strict=True):
            self.seen.setdefault(place, []).append(value)

    def confirm(self, places: Sequence[int]) -> int:
        """Return the best of some settings after the usual protocol's launches."""
        timing = Timing()
        blocks = timing.blocks + timing.burn_in_blocks
        launches = np.array([self.launch(places, blocks) for _ in range(timing.min_launches)])
        return places[int(np.median(launches, axis=0).argmin())]

    @property
    def whole_s(self) -> float:
        """What the usual protocol takes for every setting of the grid, five and the baseline to a launch."""
        timing = Timing()
        blocks = timing.blocks + timing.burn_in_blocks
        own = [row.start_s + blocks * row.block_s for row in self.grid.rows]
        return float(timing.min_launches * (sum(own[1:]) + own[0] * np.ceil((len(own) - 1) / 5)))


Search = Callable[[World, float], int]


def guided(world: World, share: float) -> int:
    """Search as ``irbench tune`` does."""
    settings = _settings(world.grid)
    budget_s = share * world.whole_s - _confirming_s(world)
    while True:
        proposal = propose(settings, _known(world), 5, world.generator)
        if world.seen and (not proposal.places or world.spent_s + _launch_s(world, proposal.places) > budget_s):
            return world.confirm(finalists(settings, _known(world), _CONFIRMED))
        world.look(proposal.places)


def _known(world: World) -> Known:
    rows = world.grid.rows
    batches = [_batch(world, place) for place in range(len(rows))]
    latencies = {place: [float(np.log(rows[place].latency_ms))] for place in world.seen}
    first = [place for place, batch in enumerate(batches) if batch == min(batches)]
    return Known(dict(world.seen), latencies, batches, first=first)


def _batch(world: World, place: int) -> int:
    return int(world.grid.rows[place].setting["batch"])


def at_random(world: World, share: float) -> int:
    """Measure settings at random, once each."""
    budget_s = share * world.whole_s - _confirming_s(world)
    order = list(world.generator.permutation(len(world.grid.rows)))
    while order and (not world.seen or world.spent_s + _launch_s(world, order[:5]) <= budget_s):
        world.look([int(place) for place in order[:5]])
        order = order[5:]
    best = sorted(world.seen, key=lambda place: np.mean(world.seen[place]))
    return world.confirm(best[:_CONFIRMED])


def halving(world: World, share: float) -> int:
    """Measure settings at random once, the better half of them twice, and so on."""
    budget_s = share * world.whole_s - _confirming_s(world)
    order = [int(place) for place in world.generator.permutation(len(world.grid.rows))]
    while order and (not world.seen or world.spent_s + _launch_s(world, order[:5]) <= 0.5 * budget_s):
        world.look(order[:5])
        order = order[5:]
    left = sorted(world.seen, key=lambda place: np.mean(world.seen[place]))
    while len(left) > _CONFIRMED:
        left = left[: max(_CONFIRMED, len(left) // 2)]
        for first in range(0, len(left), 5):
            if world.spent_s + _launch_s(world, left[first : first + 5]) > budget_s:
                return world.confirm(sorted(left, key=lambda place: np.mean(world.seen[place]))[:_CONFIRMED])
            world.look(left[first : first + 5])
        left.sort(key=lambda place: np.mean(world.seen[place]))
    return world.confirm(left[:_CONFIRMED])


def optuna_sampler(world: World, share: float) -> int:
    """Let Optuna's TPE sampler choose settings, five at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(
        seed=int(world.generator.integers(2**31)), multivariate=True, constant_liar=True, n_startup_trials=10
    )
    study = optuna.create_study(sampler=sampler)
    rows = world.grid.rows
    axes = {axis: list(dict.fromkeys(row.setting[axis] for row in rows)) for axis in rows[0].setting}
    places = {tuple(row.setting.values()): place for place, row in enumerate(rows)}
    budget_s = share * world.whole_s - _confirming_s(world)
    for _ in range(1000):
        trials: list[tuple[Any, int]] = []
        while len(trials) < 5:
            trial = study.ask()
            setting = tuple(trial.suggest_categorical(axis, values) for axis, values in axes.items())
            if setting in places:
                trials.append((trial, places[setting]))
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        chosen = list(dict.fromkeys(place for _, place in trials))
        if world.seen and world.spent_s + _launch_s(world, chosen) > budget_s:
            break
        world.look(chosen)
        for trial, place in trials:
            study.tell(trial, float(np.mean(world.seen[place])))
    best = sorted(world.seen, key=lambda place: np.mean(world.seen[place]))
    return world.confirm(best[:_CONFIRMED])


SEARCHES: dict[str, Search] = {"guided": guided, "halving": halving, "random": at_random, "tpe": optuna_sampler}


def _settings(grid: Grid) -> Settings:
    return Settings([tuple(row.setting.values()) for row in grid.rows])


def _launch_s(world: World, places: Sequence[int]) -> float:
    rows = [world.grid.rows[place] for place in {*places, 0}]
    return sum(row.start_s + _SEARCH_BLOCKS * row.block_s for row in rows)


def _confirming_s(world: World) -> float:
    """Return what confirming takes, settings as the usual ones are."""
    timing = Timing()
    blocks = timing.blocks + timing.burn_in_blocks
    usual = np.median([row.start_s + blocks * row.block_s for row in world.grid.rows])
    return float(timing.min_launches * (_CONFIRMED + 1) * usual)


def replay(grid: Grid, search: Search, share: float, searches: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the regret of each search, and its cost as a share of the whole grid's."""
    regrets, costs = [], []
    for seed in range(searches):
        world = World(grid, np.random.default_rng(seed))
        found = search(world, share)
        regrets.append(float(np.expm1(world.truth[found] - world.truth.min())))
        costs.append(world.spent_s / world.whole_s)
    return np.array(regrets), np.array(costs)


@click.command()
@click.argument("grids", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--searches", default=1000, help="Of each kind on each grid.")
@click.option("--share", "shares", multiple=True, type=float, default=(0.1, 0.2, 0.3), help="Of the time of the grid.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(tuple(SEARCHES)), default=tuple(SEARCHES))
def main(grids: Sequence[Path], searches: int, shares: Sequence[float], kinds: Sequence[str]) -> None:
    """Print the regret of searches on GRIDS, as a table in Markdown."""
    click.echo("| grid | settings | search | time / grid | regret, median | 90th percentile | within 1 % |")
    click.echo("|---|---:|---|---:|---:|---:|---:|")
    for grid in map(load_grid, grids):
        for kind in kinds:
            for share in shares:
                regrets, costs = replay(grid, SEARCHES[kind], share, searches)
                median, high = np.percentile(regrets, [50, 90])
                click.echo(
                    f"| {grid.model} | {len(grid.rows)} | {kind} | {np.median(costs):.2f} | {median:.1%} | {high:.1%} "
                    f"| {np.mean(regrets <= 0.01):.0%} |"
                )


if __name__ == "__main__":
    main()
