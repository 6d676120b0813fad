"""Warnings about the comparison itself, each with its remedy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from irbench.phrases import listing, percent, plural
from irbench.result import Warn
from irbench.stats.dependence import dependence_warnings
from irbench.stats.doubts import log_ratio_by_launch, mostly_disturbed
from irbench.stats.figures import frames_by_launch, sustained_by_launch
from irbench.stats.machine_warnings import machine_warnings
from irbench.stats.modes import mode_warnings
from irbench.stats.race import aim_of
from irbench.stats.scatter import scatter_of
from irbench.stats.scene import Scene
from irbench.stats.stopping import launches_to_reach

__all__ = ["find_warnings"]

_SUSTAINED_MOVES = 0.03
_FPS_MOVE = 0.1
_DOMINATES = 4.0


def find_warnings(scene: Scene) -> tuple[Warn, ...]:
    """Return everything a reader must know before quoting the table.

    Where most blocks were disturbed that is said, and nothing is made of what the disturbance did to the figures.
    """
    first = (*_baseline_replaced(scene), *_too_few_launches(scene), *machine_warnings(scene))
    if mostly_disturbed(scene):
        return first
    return (
        *first,
        *mode_warnings(scene),
        *dependence_warnings(scene),
        *_wide_interval(scene),
        *_set_aside_matters(scene),
        *_fps_differ(scene),
        *_sustained_differs(scene),
    )


def _baseline_replaced(scene: Scene) -> Iterator[Warn]:
    asked, used = scene.group.baseline, scene.standing.baseline
    if scene.records and used is not None and used != asked:
        yield Warn(
            "baseline-replaced",
            f"The baseline {scene.label(asked)} gave no valid figures; speedups are relative to {scene.label(used)}.",
            "See its row for the reason, or name another one with --baseline.",
        )


def _too_few_launches(scene: Scene) -> Iterator[Warn]:
    done, wanted = len(scene.records), scene.timing.min_launches
    if scene.stopped_by == "budget" and 0 < done < wanted:
        room = f"The budget had room for {done} of at least {plural(wanted, 'launch')}"
        if done == 1 and scene.seconds > scene.timing.budget:
            room = f"Even the smallest launch took longer than the budget, and at least {wanted} are needed"
        yield Warn(
            "too-few-launches",
            f"{room}; ranges over launches are shown as a preview.",
            f"This table alone needs about --budget {math.ceil(scene.seconds / done * wanted * 1.1)}s.",
        )


def _wide_interval(scene: Scene) -> Iterator[Warn]:
    aim = aim_of(scene.launches, scene.standing, scene.timing)
    if aim is None or aim.interval.confidence is None:
        return  # the range of a preview is no interval, and has no target
    if aim.interval.half_width <= aim.half_width:
        return
    wanted = launches_to_reach(aim.interval, aim.half_width, scene.timing)
    remedy = (
        f"About {plural(wanted, 'launch')} would reach it: use --thorough, or a larger --budget."
        if wanted is not None
        else "No reasonable number of launches would reach it: look for what makes them differ."
    )
    dominate = aim.is_lead and _launches_dominate(scene, aim.cell)
    yield Warn(
        "wide-interval",
        f"The interval of the {'lead' if aim.is_lead else 'time'} of {scene.label(aim.cell)} is"
        f" ±{percent(aim.interval.half_width)} wide, above the target of ±{percent(aim.half_width)}"
        f"{': its launches differ far more than the blocks within them' if dominate else ''}.",
        f"{remedy}{' More blocks will not help.' if dominate else ''}",
    )


def _launches_dominate(scene: Scene, leader: str) -> bool:
    """Whether the variance of some ratio to the leader between launches is well above what their blocks explain."""
    others = (cell for cell in scene.standing.compared if cell != leader)
    return any(
        item is not None and item.between > _DOMINATES * item.within_estimate
        for item in (scatter_of(scene.launches, cell, leader) for cell in others)
    )


def _set_aside_matters(scene: Scene) -> Iterator[Warn]:
    for cell in scene.rivals:
        speedup = scene.rows[cell].speedup
        if speedup is None:
            continue
        found = [f"outside its interval, {speedup.all_blocks_value:.3f}x"] * (
            not speedup.low <= speedup.all_blocks_value <= speedup.high
        )
        if speedup.all_blocks_verdict != speedup.verdict:
            found.append(f"{speedup.all_blocks_verdict} and not {speedup.verdict}")
        if found:
            yield Warn(
                "set-aside-matters",
                f"Over all blocks, disturbed ones included, the speedup of {scene.label(cell)} is {listing(found)}.",
                "Repeat the run on a quiet machine before quoting it.",
            )


def _fps_differ(scene: Scene) -> Iterator[Warn]:
    if scene.group.has_streams:
        return  # there speedups are ratios of throughputs
    moved = _told_otherwise(scene, lambda cell: frames_by_launch(scene.records, scene.launches, cell), _FPS_MOVE)
    if moved:
        yield Warn(
            "fps-differ",
            f"FPS, in which slow calls count in full, give another speedup: {listing(moved)}.",
            "Compare p90 too: where slow calls belong to the backend, FPS are what a server gets.",
        )


def _sustained_differs(scene: Scene) -> Iterator[Warn]:
    batch = scene.group.batch
    moved = _told_otherwise(scene, lambda cell: sustained_by_launch(scene.records, cell, batch), _SUSTAINED_MOVES)
    if moved:
        yield Warn(
            "sustained-differs",
            f"Throughput alone and uninterrupted for {scene.timing.sustain:g} s, relative to the baseline's:"
            f" {listing(moved)}.",
            "A long run heats the machine and keeps caches to itself: quote the sustained FPS for a server.",
        )


def _told_otherwise(scene: Scene, figure: Callable[[str], Mapping[int, float]], beyond: float) -> list[str]:
    """Return the rows whose ratio of a throughput to the baseline's surely leaves their speedup's interval.

    Args:
        scene: The group.
        figure: Returns a cell's throughput in each launch.
        beyond: How far the interval of the ratio must lie from that of the speedup, as a fraction.
    """
    baseline = scene.standing.baseline
    found: list[str] = []
    for cell in scene.rivals if baseline is not None else ():
        row = scene.rows[cell]
        ratio = log_ratio_by_launch(figure(cell), figure(baseline), scene) if baseline is not None else None
        if row.speedup is None or ratio is None or ratio.confidence is None:
            continue
        above = ratio.low > math.log(row.speedup.high) + math.log1p(beyond)
        if above or ratio.high < math.log(row.speedup.low) - math.log1p(beyond):
            found.append(f"{scene.label(cell)} {math.exp(ratio.value):.2f}x (in turns {row.speedup.value:.2f}x)")
    return found
