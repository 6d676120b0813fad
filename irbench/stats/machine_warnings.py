"""Warnings about the machine and about how the cells sit on it, each with its remedy."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator

from irbench.phrases import listing, percent, plural
from irbench.record import BlockEvidence, Round
from irbench.result import Warn
from irbench.stats.blocks import run_queue_share
from irbench.stats.scene import Scene

__all__ = ["machine_warnings"]

_MANY_DIRTY = 0.25
_SELF_WAIT = 0.10
_STOLEN = 0.02


def machine_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield what the kernel's counters say against trusting the figures."""
    yield from _disturbed(scene)
    yield from _stolen(scene)
    yield from _throttled(scene)
    yield from _not_frozen(scene)
    yield from _waits_on_itself(scene)
    yield from _threads_differ(scene)


def _disturbed(scene: Scene) -> Iterator[Warn]:
    """Yield one warning, named after the worst of what one cause brings about, which says all of it."""
    found: dict[str, str] = {}
    share = _of_a_processor(scene, lambda item: item.foreign_cpu_ns)
    if share > scene.timing.dirty_foreign_share * max((record.processors for record in scene.records), default=1):
        found["busy-machine"] = f"Other programs used {percent(share, 0)} of a processor while this was measured."
    dirty = sum(len(launch.dirty) for launch in scene.launches)
    blocks = sum(len(launch.blocks) for launch in scene.launches)
    if dirty > _MANY_DIRTY * blocks:
        found["many-dirty-blocks"] = f"{dirty} of {plural(blocks, 'block')} were disturbed from outside."
    launches = sum(launch.too_few_clean for launch in scene.launches)
    if launches:
        found["few-clean-blocks"] = (
            f"{plural(launches, 'launch')} had fewer than {scene.timing.min_blocks} undisturbed blocks;"
            " all of their blocks were used."
        )
    if found:
        processors = ", keep to processors that it leaves alone with --cpus," if "busy-machine" in found else ""
        yield Warn(
            tuple(found)[-1],
            " ".join(found.values()),
            f"Close what else runs (top shows it){processors} or repeat the run on a quiet machine.",
        )


def _stolen(scene: Scene) -> Iterator[Warn]:
    share = _of_a_processor(scene, lambda item: item.steal_ns)
    if share > _STOLEN:
        yield Warn(
            "stolen-time",
            f"The hypervisor took {percent(share, 0)} of a processor away while this was measured.",
            "Repeat the run at another time, or on a machine with dedicated processors.",
        )


def _of_a_processor(scene: Scene, time_ns: Callable[[BlockEvidence], int]) -> float:
    """Return a time of all blocks as a fraction of their wall time."""
    return sum(time_ns(block) for block in scene.blocks) / max(1, sum(block.wall_ns for block in scene.blocks))


def _throttled(scene: Scene) -> Iterator[Warn]:
    held = [block for block in scene.blocks if block.throttled_ns > 0]
    if held:
        seconds = sum(item.throttled_ns for item in held) / 1e9
        yield Warn(
            "cpu-quota",
            f"The container's CPU quota held the measured programs back for {seconds:.2g} s"
            f" in {plural(len(held), 'block')}.",
            "Raise the quota, or ask for no more --threads than it allows.",
        )


def _not_frozen(scene: Scene) -> Iterator[Warn]:
    if not all(record.frozen for record in scene.records):
        yield Warn(
            "not-frozen",
            "Idle workers could not be frozen here; each round waited until the others stood still instead.",
            "Measure where processes may be stopped (Linux); runtimes that spin while idle disturb the others.",
        )


def _waits_on_itself(scene: Scene) -> Iterator[Warn]:
    waiting: list[str] = []
    for cell in scene.standing.healthy:
        rounds = _quiet_rounds(scene, cell)
        if len(rounds) < scene.timing.min_blocks:
            continue  # among so few the machine's part and the cell's cannot be told apart
        share = _median(run_queue_share(round_) for round_ in rounds)
        if share > _SELF_WAIT:
            running = _median(round_.evidence.cpu_ns / max(1, round_.evidence.wall_ns) for round_ in rounds)
            threads = scene.rows[cell].effective.get("threads")
            of = f" of {threads}" if threads is not None else ""
            waiting.append(f"{percent(share, 0)} of the time of {scene.label(cell)} ({running:.1f}{of} threads ran)")
    if waiting:
        yield Warn(
            "waits-on-itself",
            "In quiet blocks too, threads of a cell wait for a processor while others of its own run;"
            f" their waiting adds up to {listing(waiting)}.",
            "Lower --threads or --streams, or give it more processors with --cpus.",
        )


def _quiet_rounds(scene: Scene, cell: str) -> list[Round]:
    """Return a cell's rounds of undisturbed blocks."""
    return [
        round_
        for record, observed in zip(scene.records, scene.launches, strict=True)
        for cell_launch in record.cells
        if cell_launch.cell == cell
        for round_ in cell_launch.rounds
        if round_.block in observed.blocks - observed.dirty
    ]


def _median(values: Iterable[float | None]) -> float:
    """Return the median of what is known; 0 where nothing is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else 0.0


def _threads_differ(scene: Scene) -> Iterator[Warn]:
    threads = {cell: scene.rows[cell].effective.get("threads") for cell in scene.standing.compared}
    known = {cell: count for cell, count in threads.items() if count is not None}
    if len(set(known.values())) > 1:
        yield Warn(
            "threads-differ",
            f"The cells run on different numbers of threads:"
            f" {listing(f'{scene.label(cell)} {count}' for cell, count in known.items())}.",
            "Some runtimes need a thread for each stream: ask for no more --streams than --threads."
            if scene.group.has_streams
            else "Pin them with --threads N.",
        )
