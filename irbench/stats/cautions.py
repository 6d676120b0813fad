"""Warnings about the comparison itself, each with its remedy."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator

from irbench.phrases import listing, percent, plural
from irbench.result import CellResult, Warn
from irbench.stats.modes import mode_warnings
from irbench.stats.scene import Scene
from irbench.stats.stopping import Width, launches_to_reach, widest, widths
from irbench.stats.surroundings import machine_warnings

__all__ = ["find_warnings"]

_SUSTAINED_MOVES = 0.03
_FPS_MOVE = 0.1
_DOMINATES = 4.0


def find_warnings(scene: Scene) -> tuple[Warn, ...]:
    """Return everything a reader must know before quoting the table."""
    return (
        *_baseline_replaced(scene),
        *_too_few_launches(scene),
        *machine_warnings(scene),
        *mode_warnings(scene),
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
        yield Warn(
            "too-few-launches",
            f"The budget had room for {done} of {plural(wanted, 'launch')};"
            " ranges over launches are shown as a preview.",
            f"This table alone needs about --budget {math.ceil(scene.seconds / done * wanted * 1.1)}s.",
        )


def _wide_interval(scene: Scene) -> Iterator[Warn]:
    width = widest(widths(scene.launches, scene.standing, scene.timing))
    if width is None or width.excess <= 1 or len(scene.records) < scene.timing.min_launches:
        return
    if width.interval.coverage < scene.timing.confidence:
        return  # the range of a preview is no interval, and has no target
    wanted = launches_to_reach(width, scene.timing.confidence)
    remedy = (
        f"About {plural(wanted, 'launch')} would reach it: use --thorough, or a larger --budget."
        if wanted is not None
        else "No reasonable number of launches would reach it: look for what makes them differ."
    )
    dominate = _launches_dominate(scene, width)
    yield Warn(
        "wide-interval",
        f"The interval of {scene.label(width.cell)} is ±{percent(width.interval.half_width)} wide,"
        f" above the target of ±{percent(width.target)}"
        f"{': its launches differ far more than the blocks within them' if dominate else ''}.",
        f"{remedy}{' More blocks will not help.' if dominate else ''}",
    )


def _launches_dominate(scene: Scene, width: Width) -> bool:
    """Whether the variance between launches is well above what the blocks within them explain.

    The variance of a Hodges-Lehmann estimate of n normal values is pi / 3 times their variance over n.
    """
    baseline = scene.standing.baseline
    estimates: list[float] = []
    explained: list[float] = []
    for one in scene.launches:
        own = one.log_ns.get(width.cell, {})
        other = one.log_ns.get(baseline or "", {}) if width.cell != baseline else dict.fromkeys(own, 0.0)
        ratios = [own[block] - other[block] for block in one.counted if block in own and block in other]
        if len(ratios) > 1:
            estimates.append(statistics.fmean(ratios))
            explained.append(math.pi / 3 * statistics.variance(ratios) / len(ratios))
    return len(estimates) > 2 and statistics.variance(estimates) > _DOMINATES * statistics.fmean(explained)


def _set_aside_matters(scene: Scene) -> Iterator[Warn]:
    for cell in scene.rivals:
        one = scene.rows[cell].speedup
        if one is None:
            continue
        found = [f"outside its interval, {one.all_blocks_value:.3f}x"] * (
            not one.low <= one.all_blocks_value <= one.high
        )
        if one.all_blocks_verdict != one.verdict:
            found.append(f"{one.all_blocks_verdict} and not {one.verdict}")
        if found:
            yield Warn(
                "set-aside-matters",
                f"Over all blocks, disturbed ones included, the speedup of {scene.label(cell)} is {listing(found)}.",
                "Repeat the run on a quiet machine before quoting it.",
            )


def _fps_differ(scene: Scene) -> Iterator[Warn]:
    moved = _told_otherwise(scene, lambda row: row.fps, _FPS_MOVE)
    if moved:
        yield Warn(
            "fps-differ",
            f"FPS, in which slow calls count in full, give another speedup: {listing(moved)}.",
            "Compare p90 too: where slow calls belong to the backend, FPS are what a server gets.",
        )


def _sustained_differs(scene: Scene) -> Iterator[Warn]:
    moved = _told_otherwise(scene, lambda row: row.sustained_fps, _SUSTAINED_MOVES)
    if moved:
        yield Warn(
            "sustained-differs",
            f"Throughput alone and uninterrupted for {scene.timing.sustain:g} s, relative to the baseline's:"
            f" {listing(moved)}.",
            "A long run heats the machine and keeps caches to itself: quote the sustained FPS for a server.",
        )


def _told_otherwise(scene: Scene, figure: Callable[[CellResult], float | None], beyond: float) -> list[str]:
    """Return the rows whose ratio of a throughput to the baseline's leaves their speedup's interval.

    Args:
        scene: The group.
        figure: Picks the throughput, which may not have been measured.
        beyond: How far it must leave the interval, as a fraction.
    """
    baseline = scene.standing.baseline
    usual = figure(scene.rows[baseline]) if baseline is not None else None
    found: list[str] = []
    for cell in scene.rivals if usual else ():
        row = scene.rows[cell]
        own = figure(row)
        if row.speedup is None or own is None or not usual:
            continue
        ratio = own / usual
        if not row.speedup.low / (1 + beyond) <= ratio <= row.speedup.high * (1 + beyond):
            found.append(f"{scene.label(cell)} {ratio:.2f}x (in turns {row.speedup.value:.2f}x)")
    return found
