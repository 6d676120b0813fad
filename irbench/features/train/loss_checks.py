"""Whether the loss falls with the settings of each row, and ends near that of fp32: before steps are timed."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import TypeAlias

from irbench.api.progress import Say
from irbench.core.quantities import plural, significant
from irbench.core.record import Failure, Stage
from irbench.errors import IrbenchError
from irbench.features.train.options import TrainOptions
from irbench.features.train.training_rows import training_of, without
from irbench.render.training_tables import loss_line
from irbench.runner.plan import PlannedGroup
from irbench.runner.workers import more_time
from irbench.spec import Cell, LossCheck
from irbench.spec.training import TrainingSettings
from irbench.stats.run_modes.training import has_fallen, held_against, is_near, loss_check
from irbench.worker import call_in_worker
from irbench.worker.failures import WorkerTimedOut

Outcome: TypeAlias = LossCheck | Failure
_USUAL = TrainingSettings()
_TRAIN_LONGER = "Give more --check-steps or another --learning-rate; a model that does not train has no speed."


def checked(planned: PlannedGroup, options: TrainOptions, deadline_s: float, say: Say) -> PlannedGroup:
    """Return the table with the losses of each row; those whose loss does not fall, or ends too high, are not launched.

    Rows that differ only in how batches are made compute the same, and are checked once. The first row of each batch in
    fp32 is what the others of it are held against.
    """
    known: dict[Hashable, Outcome] = {}
    references: dict[int, LossCheck] = {}
    for cell in sorted(planned.measured, key=lambda cell: training_of(cell).settings.precision != _USUAL.precision):
        key = _computation(cell)
        if key not in known:
            known[key] = outcome = _checked(cell, references.get(cell.load.batch), options, deadline_s)
            say(loss_line(cell, outcome, options.check_steps))
            if isinstance(outcome, LossCheck) and training_of(cell).settings.precision == _USUAL.precision:
                references.setdefault(cell.load.batch, outcome)
    outcomes = {cell.id: known[_computation(cell)] for cell in planned.measured}
    failures = {cell: outcome for cell, outcome in outcomes.items() if isinstance(outcome, Failure)}
    checks = {cell: outcome for cell, outcome in outcomes.items() if isinstance(outcome, LossCheck)}
    cells = tuple(replace(cell, loss=checks.get(cell.id)) for cell in planned.group.cells)
    return without(replace(planned, group=replace(planned.group, cells=cells)), failures)


def _computation(cell: Cell) -> Hashable:
    """Return what rows have in common that compute the same numbers from the same batches."""
    settings = training_of(cell).settings
    return cell.load.batch, settings.precision, settings.xla, settings.cache, cell.device


def _checked(cell: Cell, reference: LossCheck | None, options: TrainOptions, deadline_s: float) -> Outcome:
    stages: list[Stage] = ["start"]
    try:
        losses: tuple[float, ...] = call_in_worker(
            "irbench.worker.training:losses_of", cell.backend, training_of(cell), cell.load, cell.device,
            options.check_steps, deadline_s=deadline_s, returns=tuple[float, ...], say=stages.append, says=Stage,
        )  # fmt: skip
    except IrbenchError as error:
        hint = more_time(deadline_s) if isinstance(error, WorkerTimedOut) else error.hint
        return Failure(stages[-1], error.message.rstrip("."), hint or None)
    check = loss_check(losses)
    if not has_fallen(check):
        return not_falling(check)
    if reference is None:
        return check
    held = held_against(check, reference, options.loss_distance)
    return held if is_near(held) else too_far(held)


def not_falling(check: LossCheck) -> Failure:
    """Return why a row is not timed whose loss did not fall."""
    steps = plural(len(check.losses), "step")
    if not all(map(math.isfinite, check.losses)):
        return Failure("accuracy", f"the loss is not a number after {steps}", "Give a smaller --learning-rate.")
    message = f"the loss does not fall: {significant(check.first)} to {significant(check.last)} in {steps}"
    return Failure("accuracy", message, _TRAIN_LONGER)


def too_far(check: LossCheck) -> Failure:
    """Return why a row is not timed whose loss ended too far above that of fp32."""
    assert check.reference is not None
    assert check.allowed is not None
    message = (
        f"the loss ends at {significant(check.last)}, more than {significant(check.allowed)} above"
        f" {significant(check.reference)}, that of fp32"
    )
    return Failure("accuracy", message, "Give more --check-steps, or a larger --loss-distance if that is enough.")
