"""Training in a worker: a row whose inference is a training step, and what is found out before steps are timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from irbench.core import registry
from irbench.core.record import Stage
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.measure.call_parts import TimedStages
from irbench.measure.kernel_evidence import PhaseLog
from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spec.training import INPUT, STEP, ModelFacts, TrainedModel, TrainingArtifact
from irbench.spi import (
    Backend,
    Feed,
    Outputs,
    Phases,
    Session,
    TrainingBackend,
    TrainingSession,
)
from irbench.worker.watchdog import own_temporary_files
from irbench.worker.wrapped_backend import WrappedBackend


def training_if_trained(backend: Backend, artifact: Artifact | None) -> Backend:
    """Return what runs an artifact: a backend itself, or around it what trains with it."""
    return StepBackend(backend) if isinstance(artifact, TrainingArtifact) else backend


class StepBackend(WrappedBackend):
    """Runs training steps as inferences of another backend."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._trains = _training(backend)

    def import_runtime(self, load: Load, device: str) -> None:
        """Import what training needs."""
        self._trains.import_training(load, device)

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Make a session of a :class:`TrainingArtifact`."""
        return _StepSession(
            self._trains.compile_training(cast("TrainingArtifact", artifact), load, device, phases), load
        )


class _StepSession:
    def __init__(self, session: TrainingSession, load: Load) -> None:
        self._session = session
        self._load = load

    @property
    def effective(self) -> Mapping[str, Scalar]:
        return self._session.effective

    def open_slots(self, count: int, io: Io) -> Sequence[TrainingSlot]:  # noqa: ARG002 - a step copies what it needs
        assert count == 1
        return [TrainingSlot(self._session)]

    def close(self) -> None:
        self._session.close()


class TrainingSlot:
    """Waits for a batch and trains on it, and knows when either was complete."""

    def __init__(self, session: TrainingSession) -> None:
        self.session = session
        stages = TimedStages({INPUT: lambda _: session.next_batch(), STEP: lambda _: session.step()})
        self.parts, self.take_finished, self._call = stages.names, stages.take_finished, stages

    def stage(self, feed: Feed, /) -> None:
        """Do nothing: the pipeline brings the batch."""

    def run(self) -> None:
        """Make one step."""
        self._call(None)

    def fetch(self) -> Outputs:
        """Return nothing: a step has no outputs."""
        return ()


def _training(backend: Backend) -> TrainingBackend:
    if not isinstance(backend, TrainingBackend):
        raise IrbenchError(f"{backend.name} does not train models.", hint="Give `--backends tf`.")
    return backend


def describe_model(backend: str, model: TrainedModel, load: Load) -> ModelFacts:
    """Load a model on the CPU in this process, with the threads of a load, and say what it is."""
    own_temporary_files()
    trains = _training(registry.backend(backend))
    trains.import_training(load, "cpu")
    return trains.describe_model(model)


def losses_of(
    backend: str,
    training: TrainingArtifact,
    load: Load,
    device: str,
    steps: int,
    metric: str,
    say: Callable[[Stage], None],
) -> tuple[str, tuple[float, ...]]:
    """Train for so many steps in this process, and return a metric of each; fewer where one is not a number.

    Each stage is said as it begins: what a crash or the deadline ends cannot say it. An empty name is that of ``loss``,
    or of the only metric that the step reports.

    Returns:
        The name of the metric, and its values.

    Raises:
        IrbenchError: The step reports no such metric, or several of which none is called ``loss``.
    """
    own_temporary_files()
    trains = _training(registry.backend(backend))
    say("import")
    trains.import_training(load, device)
    say("compile")
    session = trains.compile_training(training, load, device, PhaseLog())
    say("run")
    losses: list[float] = []
    while len(losses) < steps and all(map(math.isfinite, losses[-1:])):
        session.next_batch()
        session.step()
        reported = session.metrics()
        metric = metric or _usual_metric(training.model.source, tuple(reported))
        if metric not in reported:
            raise IrbenchError(
                f"The step of {training.model.source} reports no {metric}.",
                hint=f"{did_you_mean(metric, tuple(reported))}It reports {', '.join(reported) or 'no number at all'}.",
            )
        losses.append(reported[metric])
    session.close()  # other checks may follow in this process
    return metric, tuple(losses)


def _usual_metric(source: str, reported: Sequence[str]) -> str:
    """Return the metric that must fall where none is named."""
    if not reported:
        raise IrbenchError(
            f"The step of {source} reports no number, so whether it trains is not known.",
            hint="Return the loss from train_step: {'loss': loss}.",
        )
    if "loss" in reported or len(reported) == 1:
        return "loss" if "loss" in reported else reported[0]
    raise IrbenchError(
        f"The step of {source} reports {', '.join(reported)}, and no loss.",
        hint=f"Choose which of them must fall: `--check-metric {reported[0]}`.",
    )
