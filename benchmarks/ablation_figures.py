"""What each part of the protocol buys: intervals that do without it, and how all of them keep to a known truth.

Pure functions from stored records and claims to intervals and a table.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cache
from math import comb

from benchmarks.claims import SHIPPED, Claim
from benchmarks.truth_figures import percent
from irbench.render.table import Row, TableColumn, TextTable
from irbench.stats.intervals import Bound, Interval, Looks, interval_at
from irbench.stats.observed import Observed

UNFROZEN = "without freezing"
ONE_AFTER_THE_OTHER = "without interleaving"
ONE_LAUNCH = "without relaunching"
WAYS = (SHIPPED, UNFROZEN, ONE_AFTER_THE_OTHER, ONE_LAUNCH)
"""In the order in which they are shown."""


def over_blocks(launch: Observed, cell: str, baseline: str, confidence: float) -> Interval:
    """Return the interval of the log speedup of ``cell`` over the blocks of a single launch.

    It lies between order statistics of the blocks, as intervals over launches do between those of the launches. It
    holds what such blocks scatter around: the speedup of these processes.

    Args:
        launch: With at least one block that counts and measured both.
        cell: Whose speedup.
        baseline: Relative to whom.
        confidence: Of the interval.
    """
    own, others = launch.log_ns[cell], launch.log_ns[baseline]
    values = [others[block] - own[block] for block in sorted(launch.counted & own.keys() & others.keys())]
    return interval_at(values, Looks(len(values), len(values)), confidence)


def shift_interval(first: Sequence[float], second: Sequence[float], confidence: float) -> Interval:
    """Return by how much the values of ``second`` are shifted against those of ``first``, which are not paired.

    The estimate is the median of all differences, the interval lies between the k-th smallest and the k-th largest of
    them: exact whatever the distribution, provided that both have the same one but for the shift. Too few values to
    reach the confidence give the range, without one.
    Source: Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd edition (2014), section 4.3.

    Args:
        first: At least one value.
        second: At least one value.
        confidence: Of the interval.
    """
    differences = sorted(after - before for before in first for after in second)
    miss = round(1 - confidence, 12)
    rank = 0
    while 2 * _share_up_to(rank, len(first), len(second)) <= miss:
        rank += 1
    place = max(rank, 1)
    return Interval(
        value=statistics.median(differences),
        low=differences[place - 1],
        high=differences[-place],
        count=len(first) + len(second),
        confidence=confidence if rank else None,
        bound=Bound(place),
    )


def ablation_table(claims: Sequence[Claim]) -> TextTable:
    """Return a row for each subject and way: equals that were told apart, and what was said of unequals."""
    keys = {(claim.subject, claim.way) for claim in claims}
    subjects = dict.fromkeys(claim.subject for claim in claims)
    columns = (
        *(TableColumn("backend", words=True), TableColumn("measured", words=True)),
        *(TableColumn("equals told apart"), TableColumn("5 % held"), TableColumn("5 % found")),
        *(
            TableColumn("median error"),
            TableColumn("median half-width"),
            TableColumn("launches"),
            TableColumn("s per run"),
        ),
    )
    rows = (
        _row([claim for claim in claims if (claim.subject, claim.way) == (subject, way)])
        for subject in subjects
        for way in WAYS
        if (subject, way) in keys
    )
    return TextTable(columns, tuple(rows))


def _row(claims: Sequence[Claim]) -> Row:
    equals = [claim for claim in claims if claim.ratio == 1]
    unequals = [claim for claim in claims if claim.ratio != 1]
    found = sum(unequal.verdict == "faster" for unequal in unequals)
    return Row(
        (
            *(claims[0].subject, claims[0].way),
            _of(sum(equal.tells_apart for equal in equals), equals),
            *(_of(sum(unequal.holds for unequal in unequals), unequals), _of(found, unequals)),
            *(percent(statistics.median(claim.error for claim in claims)),),
            *(percent(statistics.median(claim.half_width for claim in claims)),),
            f"{statistics.median(claim.launches for claim in claims):g}",
            f"{statistics.median(claim.seconds for claim in claims):.0f}",
        )
    )


def _of(count: int, claims: Sequence[Claim]) -> str:
    return f"{count} of {len(claims)}" if claims else "-"


def _share_up_to(most: int, first: int, second: int) -> float:
    """Return the probability that at most ``most`` of the pairs of two equal samples are in the wrong order."""
    return sum(_arrangements(count, first, second) for count in range(most + 1)) / comb(first + second, first)


@cache
def _arrangements(inversions: int, first: int, second: int) -> int:
    """Return how many orders of two samples have exactly so many pairs in the wrong order.

    The largest value of all is either of the first sample, and then larger than all of the second, or of the second.
    """
    if inversions < 0:
        return 0
    if not (first and second):
        return int(inversions == 0)
    return _arrangements(inversions - second, first - 1, second) + _arrangements(inversions, first, second - 1)
