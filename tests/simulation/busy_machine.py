"""What is claimed on a busy machine, and how often that is true.

Which launches and blocks count, and by what they are reduced, is decided as in :mod:`irbench.stats.observed` from what
the other program used; intervals, race and stopping rule are the shipped ones. A claim of undisturbed blocks is held
against the difference while nothing else runs, and one of the machine as loaded as it was against the expected times
per inference beside that program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from irbench.spec import Timing
from irbench.stats.intervals import Interval
from irbench.stats.notice_rules.machine_warnings import most_uneven
from irbench.stats.observed import Reduction
from irbench.stats.speedups import excludes_zero, holm_intervals, launch_ratios
from irbench.stats.stopping_rule import contenders
from simulation.criterion import LEAST_COVERAGE, MOST_FALSE_POSITIVES
from simulation.markdown import markdown_table
from simulation.neighbours import NEIGHBOURS, TIED, Drawn, Neighbour, draw, truth_of
from simulation.regimes import Array
from simulation.shipped import BASELINE, CELL, decided_by, hodges_lehmann, reduced, standing_of

TIMING = Timing()
EFFECT = 0.05
"""By how much the cell is slower while nothing else runs, as a difference of log times."""
_PROCESSORS = 2

Estimate = Callable[[Array], Array]
"""From calls, of shape (launches, blocks, rows, calls), to the log ratio of each launch."""
Choice = Callable[[Array, NDArray[np.bool_]], NDArray[np.bool_]]
"""From calls and the dirty blocks of each launch to which launches count where undisturbed ones do."""


def by_evidence(_: Array, dirty: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the launches with enough undisturbed blocks, as irbench chooses them."""
    enough: NDArray[np.bool_] = (~dirty).sum(axis=1) >= TIMING.min_blocks
    return enough


def by_time(calls_s: Array, dirty: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return of the launches with enough undisturbed blocks those whose cell is not slower than usual: what not to do.

    The slower two fifths are left out, as if something had to have disturbed them.
    """
    level_s = np.median(calls_s[:, :, 0], axis=(1, 2))
    usual: NDArray[np.bool_] = level_s <= np.quantile(level_s, 0.6)
    return by_evidence(calls_s, dirty) & usual


def _time_per_inference(calls_s: Array) -> Array:
    total_s = calls_s.sum(axis=(1, 3))
    return np.log(total_s[:, 0] / total_s[:, 1])


def _medians(calls_s: Array) -> Array:
    levels = np.log(np.median(calls_s, axis=-1))
    return hodges_lehmann(levels[..., 0] - levels[..., 1])


def _fastest_blocks(calls_s: Array) -> Array:
    own_s = np.sort(calls_s.sum(axis=-1), axis=1)[:, : calls_s.shape[1] // 2].sum(axis=1)
    return np.log(own_s[:, 0] / own_s[:, 1])


def _fastest_calls(calls_s: Array) -> Array:
    """Return the ratio within the faster of two modes, which a tenth of the calls is surely in."""
    flat_s = np.sort(calls_s.transpose(0, 2, 1, 3).reshape(len(calls_s), 2, -1), axis=-1)
    own_s = flat_s[..., : max(1, flat_s.shape[-1] // 10)].mean(axis=-1)
    return np.log(own_s[:, 0] / own_s[:, 1])


def _most_of_the_blocks(calls_s: Array) -> Array:
    own_s = np.median(calls_s.sum(axis=-1), axis=1)
    return np.log(own_s[:, 0] / own_s[:, 1])


SHIPPED: Estimate = _time_per_inference
MUTATIONS: Mapping[str, Estimate] = {
    "medians of calls, as on a quiet machine": _medians,
    "the usual block of each row": _most_of_the_blocks,
    "the faster half of the blocks": _fastest_blocks,
    "the fastest tenth of the calls": _fastest_calls,
}
"""Other ways to reduce the launches of a busy machine, by what they are."""


@dataclass(frozen=True)
class BusyOutcome:
    """What many runs came to.

    Attributes:
        disturbed: Share of blocks that the other program disturbed.
        claims: Share of the runs that claim something of the machine as loaded as it was.
        coverage: Of these, whose interval holds the truth; NaN where there are too few.
        quiet_claims: Share of the runs that claim something of undisturbed blocks.
        quiet_coverage: Of these, whose interval holds the truth; NaN where there are too few.
        false_positives: Share of all runs that tell a row from itself, with both treated alike.
        half_width: Of the intervals of claims as loaded; their mean.
        launches: Mean number at which runs ended.
        tied: Share of the runs whose load is found to be tied to the turns of a row.
    """

    disturbed: float
    claims: float
    coverage: float
    quiet_claims: float
    quiet_coverage: float
    false_positives: float
    half_width: float
    launches: float
    tied: float


@dataclass(frozen=True)
class _End:
    """How a run ended."""

    reduction: Reduction
    interval: Interval
    launches: int
    is_tied: bool


@cache
def measure(
    neighbour: Neighbour, runs: int, estimate: Estimate = SHIPPED, seed: int = 0, choose: Choice = by_evidence
) -> BusyOutcome:
    """Run beside a neighbour many times with a true difference, and with none and both rows treated alike.

    Args:
        neighbour: What runs beside the rows.
        runs: Of each kind.
        estimate: Reduces a launch on a busy machine.
        seed: Of all chance.
        choose: Says which launches count where undisturbed ones do.
    """
    shape = (runs, TIMING.max_launches, TIMING.burn_in_blocks + TIMING.blocks)
    drawn = draw(neighbour, shape, EFFECT, seed)
    ends = list(_ends(drawn, estimate, choose))
    alike = list(_ends(draw(neighbour.alike, shape, 0.0, seed + 1), estimate, choose))
    truth = truth_of(neighbour, shape[2], EFFECT)
    loaded = [end.interval for end in ends if end.reduction == "as-loaded" and not end.is_tied]
    quiet = [end.interval for end in ends if end.reduction == "undisturbed"]
    return BusyOutcome(
        disturbed=float(disturbed_blocks(drawn).mean()),
        claims=len(loaded) / runs,
        coverage=_coverage(loaded, truth),
        quiet_claims=len(quiet) / runs,
        quiet_coverage=_coverage(quiet, EFFECT),
        false_positives=float(np.mean([not end.is_tied and excludes_zero(end.interval) for end in alike])),
        half_width=float(np.mean([found.half_width for found in loaded])) if loaded else math.nan,
        launches=float(np.mean([end.launches for end in ends])),
        tied=float(np.mean([end.is_tied for end in ends])),
    )


def faults(outcome: BusyOutcome) -> Iterator[str]:
    """Yield in what a way to reduce launches fails beside one neighbour; nothing where it claims too seldom to tell."""
    if outcome.coverage < LEAST_COVERAGE:
        yield "coverage"
    if outcome.quiet_coverage < LEAST_COVERAGE:
        yield "coverage of quiet claims"
    if outcome.false_positives >= MOST_FALSE_POSITIVES:
        yield "A/A"


def _ends(drawn: Drawn, estimate: Estimate, choose: Choice) -> Iterator[_End]:
    disturbed = disturbed_blocks(drawn)
    first = TIMING.burn_in_blocks
    for run in range(len(disturbed)):
        loads = drawn.foreign_s[run, :, first:].sum(axis=1) / drawn.turn_s[run, :, first:].sum(axis=1)
        yield _end(drawn.calls_s[run, :, first:], disturbed[run], loads, estimate, choose)


def disturbed_blocks(drawn: Drawn) -> NDArray[np.bool_]:
    """Return which blocks after the burn-in are dirty, of shape (runs, launches, blocks)."""
    share = drawn.foreign_s.sum(axis=-1) / drawn.turn_s.sum(axis=-1)
    dirty: NDArray[np.bool_] = share[..., TIMING.burn_in_blocks :] > TIMING.dirty_foreign_share * _PROCESSORS
    return dirty


def _end(calls_s: Array, dirty: NDArray[np.bool_], loads: Array, estimate: Estimate, choose: Choice) -> _End:
    """Return how one run ends: after each launch it is reduced again, and stops as a run does."""
    counts = choose(calls_s, dirty)
    usual = [_of_clean(calls_s[number], dirty[number]) for number in range(len(calls_s))]
    busy = estimate(calls_s).tolist()
    eligibility = standing_of((BASELINE, CELL), BASELINE)
    count = TIMING.min_launches
    with decided_by():
        while True:
            reduction = _reduction(dirty[:count], counts[:count])
            values = busy if reduction == "as-loaded" else usual
            are_enough = counts[:count].sum() >= TIMING.min_launches
            leaves_out = reduction == "undisturbed" and are_enough
            used = [number for number in range(count) if counts[number] or not leaves_out]
            launches = [reduced({(CELL, BASELINE): values[number]}) for number in used]
            if count == len(calls_s) or not contenders(launches, eligibility, TIMING):
                break
            count += 1
        found = holm_intervals({CELL: launch_ratios(launches, CELL, BASELINE)}, TIMING)[CELL]
    of_rows = {row: dict(enumerate(loads[:count, place].tolist())) for place, row in enumerate((CELL, BASELINE))}
    is_tied = reduction == "as-loaded" and most_uneven(of_rows, _PROCESSORS, 2.0, TIMING) is not None
    return _End(reduction, found, count, is_tied)


def _reduction(dirty: NDArray[np.bool_], counts: NDArray[np.bool_]) -> Reduction:
    return "undisturbed" if dirty.mean() <= 0.5 or counts.sum() >= TIMING.min_launches else "as-loaded"


def _of_clean(calls_s: Array, dirty: NDArray[np.bool_]) -> float:
    counted = calls_s[~dirty] if (~dirty).sum() >= TIMING.min_blocks else calls_s
    return float(_medians(counted[None])[0])


def _coverage(found: list[Interval], truth: float) -> float:
    """Return how many hold the truth; NaN where there are too few to tell."""
    return float(np.mean([item.low <= truth <= item.high for item in found])) if len(found) >= 50 else math.nan


def as_table(runs: int) -> str:
    """Return what irbench claims beside each neighbour, and how often that is true, as Markdown."""
    heads = ["neighbour", "disturbed", "as loaded", "coverage", "±%", "undisturbed", "coverage", "A/A", "launches"]
    rows = [
        [
            name,
            f"{found.disturbed:.2f}",
            f"{found.claims:.2f}",
            _share(found.coverage),
            "-" if math.isnan(found.half_width) else f"{100 * found.half_width:.1f}",
            f"{found.quiet_claims:.2f}",
            _share(found.quiet_coverage),
            f"{found.false_positives:.3f}",
            f"{found.launches:.1f}",
            f"{found.tied:.3f}",
        ]
        for name, neighbour in {**NEIGHBOURS, **TIED}.items()
        for found in [measure(neighbour, runs)]
    ]
    return markdown_table([*heads, "tied"], rows)


def mutations_table(runs: int) -> str:
    """Return the coverage of each way to reduce launches, as Markdown; claims that the criterion rejects in bold."""
    ways = {"time per inference: as shipped": SHIPPED, **MUTATIONS}
    rows = [
        [name, *(_judged(measure(neighbour, runs, way)) for way in ways.values())]
        for name, neighbour in NEIGHBOURS.items()
    ]
    return markdown_table(["neighbour", *ways], [row for row in rows if set(row[1:]) != {"-"}])


def _judged(outcome: BusyOutcome) -> str:
    text = _share(outcome.coverage)
    return f"**{text}**" if "coverage" in set(faults(outcome)) else text


def _share(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.3f}"
