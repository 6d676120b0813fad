"""Whether the loss falls with the settings of each row, and ends near that of fp32: before steps are timed."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from irbench.api.progress import Say
from irbench.core.quantities import significant
from irbench.core.record import Failure, Stage
from irbench.errors import IrbenchError
from irbench.features.train.options import TrainingOptions
from irbench.features.train.training_rows import training_of, without
from irbench.measure.clock import Stopwatch
from irbench.render.training_tables import fall_text, loss_line, metric_text
from irbench.runner.plan import PlannedGroup
from irbench.runner.workers import more_time
from irbench.spec import Cell, Load, LossCheck
from irbench.spec.training import TrainedModel, TrainingData, TrainingSettings
from irbench.stats.run_modes.training import has_fallen, held_against, is_near, loss_check
from irbench.worker import call_in_worker
from irbench.worker.failures import WorkerTimedOut
from irbench.worker.process import SharedProcess

Outcome: TypeAlias = LossCheck | Failure


@dataclass(frozen=True)
class Unchecked(Failure):
    """Why a row is not timed whose loss was not checked: it may train as well as any other."""


UNCHECKED = Unchecked("start", "no time was left in the budget to check its loss", "Give a larger --budget.")
_USUAL = TrainingSettings()
_TRAIN_LONGER = "Give more --check-steps or another --learning-rate; a model that does not train has no speed."


class LossChecks:
    """Checks rows of a table, and knows of those that were checked.

    Rows that differ only in how batches are made compute the same, and are checked once. Checks one after the other
    share a process, unless they run code of the user's. The first row of each batch in
    fp32 is what the others of it are compared with.

    Args:
        options: In how many steps the loss must fall, and how near to that of fp32 it must end.
        deadline_s: Of each check.
        say: Receives a line about each.
        process: In which the model was loaded, and which the first checks share; ``None`` where there is none.
    """

    def __init__(
        self, options: TrainingOptions, deadline_s: float, say: Say, process: SharedProcess | None = None
    ) -> None:
        self._options, self._deadline_s, self._say = options, deadline_s, say
        self._process = SharedProcess() if process is None else process
        self._longest_s, self._start_s = 0.0, math.inf
        self._known: dict[Hashable, Outcome] = {}
        self._references: dict[int, LossCheck] = {}

    @property
    def longest_s(self) -> float:
        """What the longest check took."""
        return self._longest_s

    @property
    def start_s(self) -> float:
        """What the quickest check took until its first step; 0 where none came to that."""
        return self._start_s if math.isfinite(self._start_s) else 0.0

    def check(
        self, planned: PlannedGroup, rows: Collection[str], left_s: float = math.inf, whatever: Collection[str] = ()
    ) -> PlannedGroup:
        """Check some rows, and the first in fp32 of their batches; return what :meth:`known` does.

        All of it ends within ``left_s``: rows without time for a check as long as the longest before fail for that,
        except those that are checked ``whatever`` is left.
        """
        watch = Stopwatch()
        measured = [cell for cell in planned.measured if cell.id in rows]
        usual = [cell for cell in planned.group.cells if _is_usual(cell)]
        firsts = (next((cell for cell in usual if cell.load.batch == own.load.batch), own) for own in measured)
        with self._process:  # which it ends: nothing runs beside launches
            for cell in (*firsts, *sorted(measured, key=lambda cell: not _is_usual(cell))):
                self._check(cell, math.inf if cell.id in whatever else left_s - watch.elapsed_s)
        return self.known(planned)

    def known(self, planned: PlannedGroup) -> PlannedGroup:
        """Return a table with the losses of rows that are known; those that do not train are not launched."""
        known = ((cell.id, self._known.get(computation_of(cell))) for cell in planned.measured)
        return with_outcomes(planned, {cell: outcome for cell, outcome in known if outcome is not None})

    def _check(self, cell: Cell, left_s: float) -> None:
        key = computation_of(cell)
        if key in self._known:
            return
        outcome = UNCHECKED if left_s <= self._longest_s else self._checked(cell, left_s)
        self._known[key] = outcome
        if not isinstance(outcome, Unchecked):
            self._say(loss_line(cell, outcome, self._options.check_steps))
        if isinstance(outcome, LossCheck) and _is_usual(cell):
            self._references.setdefault(cell.load.batch, outcome)

    def _checked(self, cell: Cell, left_s: float) -> Outcome:
        watch = Stopwatch()
        deadline_s = min(self._deadline_s, left_s)
        stages = _Stages()
        outcome = _checked(
            cell, self._references.get(cell.load.batch), self._options, deadline_s, stages, self._process
        )
        self._start_s = min(self._start_s, stages.start_s)
        self._longest_s = max(self._longest_s, watch.elapsed_s)
        if deadline_s < self._deadline_s and watch.elapsed_s >= deadline_s and isinstance(outcome, Failure):
            return UNCHECKED
        return outcome


class _Stages:
    """What a check says that it begins."""

    def __init__(self) -> None:
        self._watch = Stopwatch()
        self.last: Stage = "start"
        self.start_s = math.inf
        """When the first step began; infinite before."""

    def say(self, stage: Stage) -> None:
        """Keep a stage that begins now."""
        self.last = stage
        if stage == "run":
            self.start_s = self._watch.elapsed_s


def with_outcomes(planned: PlannedGroup, outcomes: Mapping[str, Outcome]) -> PlannedGroup:
    """Return the table with what the check of each row gave, by cell id; rows that failed it are not launched."""
    failures = {cell: outcome for cell, outcome in outcomes.items() if isinstance(outcome, Failure)}
    checks = {cell: outcome for cell, outcome in outcomes.items() if isinstance(outcome, LossCheck)}
    cells = tuple(replace(cell, loss=checks.get(cell.id)) for cell in planned.group.cells)
    return without(replace(planned, group=replace(planned.group, cells=cells)), failures)


def _is_usual(cell: Cell) -> bool:
    return training_of(cell).settings.precision == _USUAL.precision


def computation_of(cell: Cell) -> Hashable:
    """Return what rows have in common that compute the same numbers from the same batches."""
    settings = training_of(cell).settings
    return cell.load.batch, settings.precision, settings.xla, settings.cache, cell.device


def _checked(
    cell: Cell,
    reference: LossCheck | None,
    options: TrainingOptions,
    deadline_s: float,
    stages: _Stages,
    process: SharedProcess,
) -> Outcome:
    training, load = training_of(cell), cell.load
    try:
        metric, losses = call_in_worker(
            "irbench.worker.training:losses_of", cell.backend, training, load, cell.device,
            options.check_steps, options.check_metric, deadline_s=deadline_s, returns=tuple[str, tuple[float, ...]],
            say=stages.say, says=Stage, process=process if may_share(training.model, training.data) else None,
            kind=process_kind(cell.backend, cell.device, load),
        )  # fmt: skip
    except IrbenchError as error:
        hint = more_time(deadline_s) if isinstance(error, WorkerTimedOut) else error.hint
        return Failure(stages.last, error.message.rstrip("."), hint or None)
    check = loss_check(losses, metric)
    if not has_fallen(check):
        return not_falling(check)
    if reference is None:
        return check
    held = held_against(check, reference, options.loss_distance)
    return held if is_near(held) else too_far(held)


def may_share(model: TrainedModel, data: TrainingData | None = None) -> bool:
    """Whether several calls of a process may use a model and data: code of the user may leave anything behind."""
    return ":" not in model.source and not model.imports and (data is None or not data.is_function)


def process_kind(backend: str, device: str, load: Load) -> Hashable:
    """Return what is the same for all of a process: TensorFlow's threads and options are chosen once."""
    return backend, device, load.threads, load.cpus, tuple(sorted(load.options.items()))


def not_falling(check: LossCheck) -> Failure:
    """Return why a row is not timed whose loss did not fall, or not by more than it scatters."""
    remedy = _TRAIN_LONGER if check.is_finite else "Give a smaller --learning-rate."
    return Failure("accuracy", fall_text(check), remedy)


def too_far(check: LossCheck) -> Failure:
    """Return why a row is not timed whose loss ended too far above that of fp32."""
    assert check.reference is not None
    assert check.allowed is not None
    message = (
        f"{metric_text(check)} ends at {significant(check.last)}, more than {significant(check.allowed)} above"
        f" {significant(check.reference)}, that of fp32"
    )
    return Failure("accuracy", message, "Give more --check-steps, or a larger --loss-distance if that is enough.")
