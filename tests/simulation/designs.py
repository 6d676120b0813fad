"""Hosts with known costs, and the designs of a protocol that are compared on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from irbench.spec import Timing


@dataclass(frozen=True)
class Host:
    """A machine and the cells that are compared on it.

    Attributes:
        times_s: Of a call, by cell, fastest first; the last but one is the baseline.
        launch_sd: Of a pair's log ratio from launch to launch.
        block_sd: Of a pair's log ratio from block to block.
        start_s: Starting, importing, loading and compiling one cell, in seconds.
        together: What remains of that where cells start side by side.
        calls: In a round, settling included.
        round_s: How long a round lasts at least, settling included.
    """

    times_s: Mapping[str, float] = field(default_factory=lambda: {"a": 0.042, "b": 0.044, "c": 0.070, "d": 0.074})
    launch_sd: float = 0.02
    block_sd: float = 0.09
    start_s: float = (2.4 + 1.9 + 9.5) / 4
    together: float = 0.6
    calls: int = 4
    round_s: float = 0.033

    @property
    def cells(self) -> tuple[str, ...]:
        """Fastest first."""
        return tuple(self.times_s)

    @property
    def baseline(self) -> str:
        """Whom rows are relative to."""
        return self.cells[-2]

    def lead(self, cell: str) -> float:
        """Return how much faster, as a logarithm, a cell truly is than its nearest rival."""
        return math.log(min(time for other, time in self.times_s.items() if other != cell) / self.times_s[cell])


_SMALL = Host({"a": 0.0042, "b": 0.0044, "c": 0.0070, "d": 0.0074}, launch_sd=0.01, block_sd=0.03, start_s=1.2)
HOSTS = {
    "slow and noisy": Host(),
    "slow and calm": Host(launch_sd=0.01, block_sd=0.03),
    "slow and calm, cells far apart": Host(
        {"a": 0.042, "b": 0.063, "c": 0.095, "d": 0.142}, launch_sd=0.01, block_sd=0.03
    ),
    "fast and calm": _SMALL,
}


@dataclass(frozen=True)
class Design:
    """A protocol. Seconds are wall time.

    Attributes:
        timing: Its numbers.
        warm_up_s: Of each cell in each launch.
        any_time: Whether intervals hold at all looks together, and rows too; otherwise each at its own count.
        race: Whether only undecided cells are launched again; otherwise all, until every row is narrow.
        together: Whether the cells of later launches start side by side.
        blocks_by_scatter: Whether a launch has as many blocks as buy the most certainty for their time.
        closing_s: Of all cells alone at the end of a run.
        ranks_first: Whether order statistics get all but a tenth of the misses whatever that leaves to earlier looks.
        room_for_lead: Whether blocks leave room for all launches that the lead needs, not for the first look alone.
    """

    timing: Timing = field(default_factory=Timing)
    warm_up_s: float = 0.4
    any_time: bool = True
    race: bool = True
    together: bool = True
    blocks_by_scatter: bool = True
    closing_s: float = 0.0
    ranks_first: bool = False
    room_for_lead: bool = True


_FORMER = Design(
    Timing(min_launches=6, burn_in_blocks=0, budget=150.0),
    warm_up_s=4.5 / 4,
    any_time=False,
    race=False,
    together=False,
    blocks_by_scatter=False,
    closing_s=12.0,
    ranks_first=True,
    room_for_lead=False,
)
_LOOKS = replace(_FORMER, timing=replace(_FORMER.timing, min_launches=4, budget=90.0), any_time=True)
_RACE = replace(_LOOKS, race=True)
_TOGETHER = replace(_RACE, together=True)
_SHORT = replace(_TOGETHER, timing=Timing(most_blocks=24), warm_up_s=0.4, closing_s=0.0)
_SCATTER = replace(_SHORT, blocks_by_scatter=True)
_FEWER = replace(_SCATTER, timing=Timing())
_ROOM = replace(_FEWER, room_for_lead=True)
_SHIPPED = Design()
DESIGNS = {
    "six launches or more, each interval for its own count, 150 s": _FORMER,
    "the same in 90 s": replace(_FORMER, timing=replace(_FORMER.timing, budget=90.0)),
    "+ intervals that hold at all looks, from launch 4 on": _LOOKS,
    "+ only undecided cells again": _RACE,
    "+ later launches start side by side": _TOGETHER,
    "+ short warm-up, burn-in block, no closing runs": _SHORT,
    "+ blocks by scatter, 24 at most": _SCATTER,
    "+ 12 at most": _FEWER,
    "+ blocks leave room for the launches that the lead needs": _ROOM,
    "+ early looks of strict intervals get more of the misses: as shipped": _SHIPPED,
    "as shipped, first look at 3": replace(_SHIPPED, timing=Timing(min_launches=3)),
    "as shipped, first look at 5": replace(_SHIPPED, timing=Timing(min_launches=5)),
    "as shipped, 24 blocks at most": replace(_SHIPPED, timing=Timing(most_blocks=24)),
    "as shipped, 8 blocks": replace(_SHIPPED, blocks_by_scatter=False),
}
"""By what is changed; lines that begin with + add to the one above."""
