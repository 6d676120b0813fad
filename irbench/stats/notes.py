"""Notes below a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from irbench.notices import Note
from irbench.stats.figures import tail_percentiles_ms
from irbench.stats.scene import Scene
from irbench.stats.slower_levels import slower_levels


def find_notes(scene: Scene) -> tuple[Note, ...]:
    """Return what belongs below a group's table."""
    return (*_lowered_ir_versions(scene), *_tails(scene), *slower_levels(scene), *_neighbours(scene))


def _lowered_ir_versions(scene: Scene) -> Iterator[Note]:
    for cell in scene.standing.healthy:
        for launch in itertools.islice(scene.launches_of(cell), 1):
            held, given = (launch.effective.get(key) for key in ("ir_version", "lowered_ir_version"))
            if given is not None:
                yield Note("ir-version-lowered", {"cell": cell, "ir_version": held, "lowered_ir_version": given})


def _tails(scene: Scene) -> Iterator[Note]:
    for cell in scene.standing.healthy:
        tails = [launch.tail_ns for launch in scene.launches_of(cell)]
        p99 = tail_percentiles_ms(tails, 99, scene.timing)
        if p99:
            yield Note("tail-range", {"cell": cell, "low_ms": min(p99), "high_ms": max(p99)})


def _neighbours(scene: Scene) -> Iterator[Note]:
    if scene.timing.busy_processors:
        yield Note("busy-neighbour", {"processors": list(scene.timing.busy_processors)})
