"""Lines below the table: what the figures mean, and what cannot be claimed."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.stats.figures import tail_percentiles_ms
from irbench.stats.scene import Scene

__all__ = ["find_notes"]


def find_notes(scene: Scene) -> tuple[str, ...]:
    """Return the lines that belong below a group's table."""
    return (*_not_ranked(scene), *_tails(scene))


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
        tails = [launch.tail_ns for launch in scene.launches_of(cell)]
        p99 = tail_percentiles_ms(tails, 99, scene.timing)
        if p99:
            yield f"p99 of {scene.label(cell)} over launches: {min(p99):.3g} to {max(p99):.3g} ms"
