"""Warnings about rows that were measured before they were warm, or that change after their rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from irbench.notices import Warn
from irbench.record import WarmUp
from irbench.stats.doubts import log_ratio_by_launch
from irbench.stats.figures import frames_by_launch, sustained_by_launch
from irbench.stats.scene import Scene

_ALONE_MOVES = 0.1
"""Frozen neighbours and cold caches make rounds a little slower than a run alone."""
_MOSTLY = 0.5


def warm_up_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield warnings about rows whose warm-up ended too early, and about rows that are unlike their rounds alone."""
    yield from _still_warming(scene)
    yield from _alone_unlike_rounds(scene)


def _still_warming(scene: Scene) -> Iterator[Warn]:
    rows = [facts for cell in scene.standing.compared if (facts := _cut(scene, cell)) is not None]
    if rows:
        yield Warn("still-warming-up", {"rows": rows})


def _cut(scene: Scene, cell: str) -> dict[str, Any] | None:
    """Return the facts of a row whose calls still got faster at the end of most warm-ups.

    Where the first launch looked until calls got no faster, the calls of later launches are known to be enough.
    """
    warm_ups = [own.warm_up for own in scene.launches_of(cell) if own.warm_up is not None]
    unsteady = [own for own in warm_ups if own.ended_unsteady]
    if not unsteady or len(unsteady) <= _MOSTLY * len(warm_ups) or _knows_when(warm_ups):
        return None
    calls = max(own.calls for own in unsteady)
    return {"cell": cell, "calls": calls, "launches": len(unsteady), "of": len(warm_ups)}


def _knows_when(warm_ups: list[WarmUp]) -> bool:
    first = warm_ups[0]
    return bool(first.steady_after) and all(own.calls >= (first.steady_after or 0) for own in warm_ups)


def _alone_unlike_rounds(scene: Scene) -> Iterator[Warn]:
    rows: list[dict[str, Any]] = []
    for cell in scene.standing.compared:
        alone = sustained_by_launch(scene.records, cell, 1)
        ratio = log_ratio_by_launch(alone, frames_by_launch(scene.records, scene.launches, cell, 1), scene)
        if ratio is None or ratio.confidence is None:
            continue
        if ratio.low > math.log1p(_ALONE_MOVES) or ratio.high < -math.log1p(_ALONE_MOVES):
            rows.append({"cell": cell, "faster": math.expm1(ratio.value)})
    if rows:
        yield Warn("alone-unlike-rounds", {"rows": rows, "seconds": scene.timing.sustain})
