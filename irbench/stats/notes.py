"""Lines below the table: what the figures mean, and what cannot be claimed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from irbench.phrases import percent, plural, times
from irbench.stats.figures import tail_percentiles_ms
from irbench.stats.scene import Scene
from irbench.stats.winner import Finding, launches_for_interval

__all__ = ["find_notes"]


def find_notes(scene: Scene, finding: Finding) -> tuple[str, ...]:
    """Return the lines that belong below a group's table."""
    return (*_winner(scene, finding), *_not_ranked(scene), *_tails(scene))


def _winner(scene: Scene, finding: Finding) -> Iterator[str]:
    if finding.leader is None or finding.rival is None or finding.ratio is None:
        return
    leader, rival, ratio = scene.label(finding.leader), scene.label(finding.rival), finding.ratio
    span = f"{times(ratio.value)} [{math.exp(ratio.low):.2f}, {math.exp(ratio.high):.2f}]"
    cells = len(scene.standing.candidates)
    if finding.reason == "preview":
        over = f"the range over {plural(ratio.count, 'launch')}"
        if ratio.count == 1 and ratio.value <= 0:
            yield f"preview: {leader} and {rival} cannot be told apart, {times(ratio.value)} in the only launch"
        elif ratio.count == 1:
            yield f"preview: {leader} {times(ratio.value)} {rival} in the only launch, which gives no range"
        elif ratio.low <= 0:
            yield f"preview: {leader} and {rival} cannot be told apart, {span}, {over}"
        else:
            yield f"preview: {leader} leads {rival} by {span}, {over}"
    elif finding.reason == "same":
        yield f"no winner: {leader} and {rival} are the same within {percent(scene.timing.within, 0)}, {span}"
    elif finding.reason == "undecided":
        yield f"no winner: {leader} and {rival} cannot be told apart, {span} (adjusted for choosing the best)"
    elif finding.coverage < scene.timing.confidence:
        needed = launches_for_interval(cells, scene.timing.confidence)
        yield (
            f"that {leader} is fastest holds at {percent(scene.timing.confidence, 0)}; the interval of its lead covers"
            f" {percent(finding.coverage)} with {plural(ratio.count, 'launch')} of {cells} cells,"
            f" {percent(scene.timing.confidence, 0)} from {needed} on"
        )


def _not_ranked(scene: Scene) -> Iterator[str]:
    for cell in scene.standing.healthy:
        reason = scene.standing.mixed(cell)
        if cell in scene.standing.compared and cell not in scene.standing.candidates:
            caution = scene.standing.cautions[cell]
            yield f"not called the fastest: {scene.label(cell)} no longer answers like the model ({caution})"
        if reason is not None and cell not in scene.standing.compared:
            yield f"not ranked: {scene.label(cell)} computes in {reason} of the baseline (--allow-mixed compares them)"


def _tails(scene: Scene) -> Iterator[str]:
    for cell in scene.standing.healthy:
        tails = [one.tail_ns for one in scene.launches_of(cell)]
        p99 = tail_percentiles_ms(tails, 99, scene.timing)
        if p99:
            yield f"p99 of {scene.label(cell)} over launches: {min(p99):.3g} to {max(p99):.3g} ms"
