"""Warnings about the machine and about how the cells sit on it, each with its remedy."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from irbench.result import Warn
from irbench.stats.blocks import run_queue_share
from irbench.stats.phrases import listing, percent, plural
from irbench.stats.scene import Scene

__all__ = ["machine_warnings"]

_MANY_DIRTY = 0.25
_SELF_WAIT = 0.10
_STOLEN = 0.02


def machine_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield what the kernel's counters say against trusting the figures."""
    yield from _busy(scene)
    yield from _stolen(scene)
    yield from _throttled(scene)
    yield from _dirty(scene)
    yield from _too_few_clean(scene)
    yield from _not_frozen(scene)
    yield from _waits_on_itself(scene)
    yield from _threads_differ(scene)
    yield from _not_steady(scene)


def _busy(scene: Scene) -> Iterator[Warn]:
    wall_ns = sum(one.wall_ns for one in scene.blocks)
    share = sum(one.foreign_cpu_ns for one in scene.blocks) / max(1, wall_ns)
    if share > scene.timing.dirty_foreign_cpu:
        yield Warn(
            "busy-machine",
            f"Other programs used {percent(share, 0)} of a processor while this was measured.",
            "Close them, or keep to processors that they leave alone with --cpus.",
        )


def _stolen(scene: Scene) -> Iterator[Warn]:
    wall_ns = sum(one.wall_ns for one in scene.blocks)
    share = sum(one.steal_ns for one in scene.blocks) / max(1, wall_ns)
    if share > _STOLEN:
        yield Warn(
            "stolen-time",
            f"The hypervisor took {percent(share, 0)} of a processor away while this was measured.",
            "Repeat the run at another time, or on a machine with dedicated processors.",
        )


def _throttled(scene: Scene) -> Iterator[Warn]:
    held = [one for one in scene.blocks if one.throttled_ns > 0]
    if held:
        seconds = sum(one.throttled_ns for one in held) / 1e9
        yield Warn(
            "cpu-quota",
            f"The container's CPU quota held the measured programs back for {seconds:.2g} s"
            f" in {plural(len(held), 'block')}.",
            "Raise the quota, or ask for no more --threads than it allows.",
        )


def _dirty(scene: Scene) -> Iterator[Warn]:
    dirty = sum(len(one.dirty) for one in scene.launches)
    if dirty > _MANY_DIRTY * len(scene.blocks):
        yield Warn(
            "many-dirty-blocks",
            f"{dirty} of {plural(len(scene.blocks), 'block')} were disturbed from outside.",
            "Repeat the run on a quiet machine; irbench doctor shows what else runs.",
        )


def _too_few_clean(scene: Scene) -> Iterator[Warn]:
    launches = sum(one.too_few_clean for one in scene.launches)
    if launches:
        yield Warn(
            "few-clean-blocks",
            f"{plural(launches, 'launch')} had fewer than {scene.timing.min_blocks} undisturbed blocks;"
            " all of their blocks were used.",
            "Repeat the run on a quiet machine.",
        )


def _not_frozen(scene: Scene) -> Iterator[Warn]:
    if not all(record.frozen for record in scene.records):
        yield Warn(
            "not-frozen",
            "Idle workers could not be frozen here; each round waited until the others stood still instead.",
            "Measure where processes may be stopped (Linux); runtimes that spin while idle disturb the others.",
        )


def _waits_on_itself(scene: Scene) -> Iterator[Warn]:
    for cell in scene.standing.healthy:
        shares = [run_queue_share(one) for launch in scene.launches_of(cell) for one in launch.rounds]
        if shares and statistics.median(shares) > _SELF_WAIT:
            yield Warn(
                "waits-on-itself",
                f"{scene.label(cell)} waits for a processor {percent(statistics.median(shares), 0)} of its time,"
                " in quiet blocks too: it has more threads than processors.",
                "Lower --threads or --streams, or give it more processors with --cpus.",
            )


def _threads_differ(scene: Scene) -> Iterator[Warn]:
    threads = {cell: scene.rows[cell].effective.get("threads") for cell in scene.standing.compared}
    known = {cell: count for cell, count in threads.items() if count is not None}
    if len(set(known.values())) > 1:
        yield Warn(
            "threads-differ",
            f"The cells run on different numbers of threads:"
            f" {listing(f'{scene.label(cell)} {count}' for cell, count in known.items())}.",
            "Pin them with --threads N.",
        )


def _not_steady(scene: Scene) -> Iterator[Warn]:
    for cell in scene.standing.healthy:
        unsteady = sum(not one.steady for one in scene.launches_of(cell))
        if unsteady:
            yield Warn(
                "not-steady",
                f"{scene.label(cell)} had not settled after {scene.timing.warmup_max:g} s of warm-up"
                f" in {unsteady} of {plural(len(scene.records), 'launch')}.",
                "Its figures hold part of its warm-up: look for a runtime that still compiles, or clocks that change.",
            )
