"""Whether a model trains, what the parts of its steps cost, and what each setting changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irbench.core.record import LaunchRecord
from irbench.core.row import StepPart
from irbench.core.training_row import Effect
from irbench.spec import Cell, Group, LossCheck, Timing
from irbench.spec.training import BEGINNINGS, INPUT, TRAINING
from irbench.stats.figures import Rounds, by_launch, positive_span, span_within
from irbench.stats.observed import Observed, log_level
from irbench.stats.run_modes.factorial import effects_of
from irbench.stats.run_modes.stages import stage_ns

BATCH_SETTING = "batch"
WHOLE, COMPUTE = "whole", "compute"
BESIDE = "beside"
"""The part of a step that is there only while the input pipeline works beside it."""
_ERRORS = 3.0
"""By how many standard errors the loss must have fallen."""
_SHARE = 4
"""The first and the last of so many equal parts of the losses are compared."""


def loss_check(losses: Sequence[float], metric: str = "loss") -> LossCheck:
    """Return how losses went: the means of the first and of the last quarter of the steps."""
    size = max(1, len(losses) // _SHARE)
    return LossCheck(tuple(losses), float(np.mean(losses[:size])), float(np.mean(losses[-size:])), metric=metric)


def has_fallen(check: LossCheck) -> bool:
    """Whether the loss fell by more than what it scatters, and is a number after every step."""
    return check.is_finite and check.first - check.last > scatter(check)


def scatter(check: LossCheck) -> float:
    """Return by how much losses differ that do not fall: three standard errors of the difference of both means.

    The standard error is that of two independent means which scatter as the last quarter does: among the first steps, a
    loss that falls quickly would count as scatter. It is 0 where a quarter is one step.
    """
    size = max(1, len(check.losses) // _SHARE)
    return 0.0 if size == 1 else _ERRORS * math.sqrt(2 * np.var(check.losses[-size:], ddof=1) / size)


def held_against(check: LossCheck, reference: LossCheck, allowed: float) -> LossCheck:
    """Return a check with the loss that the row in fp32 ended with, and how far above it this one may end."""
    return replace(check, reference=reference.last, allowed=allowed * (reference.first - reference.last))


def is_near(check: LossCheck) -> bool:
    """Whether the loss ended near enough to that of the row in fp32."""
    if check.reference is None or check.allowed is None:
        return True
    return check.last <= check.reference + check.allowed


def is_training(cell: Cell) -> bool:
    """Whether a cell's calls are training steps."""
    return cell.artifact is not None and cell.artifact.kind == TRAINING


def step_parts(counted: Rounds, timing: Timing) -> tuple[StepPart, ...]:
    """Return what a row's steps take, waiting for input and computing, and the parts of the latter if they are known.

    The first three are means, so that they add up, and a pipeline counts that stalls in few steps. Other parts are the
    differences of the medians of two beginnings of the step in a launch. What compute takes longer in the blocks, with
    the pipeline beside it, than the whole step on a batch in memory is a part too.

    Args:
        counted: Its rounds that count, at least one, with a moment for the end of each stage.
        timing: The protocol's numbers.
    """
    launches = by_launch(counted)
    means_ms = [_means_ms(rounds) for rounds in launches]
    means = tuple(
        StepPart(name, positive_span([parts[name] for parts in means_ms], timing)) for name in (WHOLE, INPUT, COMPUTE)
    )
    differences = [_differences_ms(rounds, parts[COMPUTE]) for rounds, parts in zip(launches, means_ms, strict=True)]
    known = [parts for parts in differences if parts]  # a launch without time for them has none
    if not known:
        return means
    parts = (
        StepPart(name, span_within([parts[name] for parts in known], timing, float, float))
        for name in (*BEGINNINGS, BESIDE)
    )
    return (*means, *parts)


def _means_ms(rounds: Rounds) -> dict[str, float]:
    input_ms, compute_ms = (stage_ns(rounds).mean(axis=0) / 1e6).tolist()
    return {WHOLE: input_ms + compute_ms, INPUT: input_ms, COMPUTE: compute_ms}


def _differences_ms(rounds: Rounds, compute_ms: float) -> dict[str, float]:
    launch = rounds[0][0]
    if not all(name in launch.beginnings_ns for name in BEGINNINGS):
        return {}
    medians = [float(np.median(launch.beginnings_ns[name])) / 1e6 for name in BEGINNINGS]
    parts = dict(zip(BEGINNINGS, np.diff(medians, prepend=0.0).tolist(), strict=True))
    return {**parts, BESIDE: compute_ms - medians[-1]}


def training_effects(
    group: Group, records: Sequence[LaunchRecord], launches: Sequence[Observed], timing: Timing
) -> tuple[Effect, ...]:
    """Return what each setting of training steps changes; nothing for a group of anything else.

    Speeds are what rows are compared by: samples per second, or per second of the processor. In each launch they count
    relative to those of one row, so that launches may have different rows: of the first that is in all launches, or in
    most.
    """
    if not all(map(is_training, group.cells)):
        return ()
    settings = {cell.id: {BATCH_SETTING: str(cell.load.batch), **cell.load.varied} for cell in group.cells}
    failed = {cell for record in records for cell in record.failures}
    left = [cell for cell in settings if cell not in failed]
    levels = [_levels(launch, left) for launch in launches]
    base = max(left, key=lambda cell: sum(cell in known for known in levels), default="")
    beside = [known for known in levels if base in known]
    speeds = {cell: [known[base] - known[cell] for known in beside if cell in known] for cell in left}
    return effects_of(settings, speeds, timing.confidence)


def _levels(launch: Observed, cells: Sequence[str]) -> dict[str, float]:
    return {cell: level for cell in cells if (level := log_level(launch, cell)) is not None}
