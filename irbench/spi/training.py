"""What a backend that trains models implements besides :class:`irbench.spi.Backend`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from irbench.spi.backend import Phases

if TYPE_CHECKING:
    from pathlib import Path

    from irbench.spec import Load, Scalar
    from irbench.spec.training import ModelFacts, TrainedModel, TrainingArtifact


IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of the files of a class that are images, in either case."""


def image_files(folder: Path) -> list[Path]:
    """Return the images of one class, by their names; hidden files are none.

    Raises:
        OSError: The folder cannot be read.
    """
    files = (path for path in sorted(folder.iterdir()) if path.suffix.lower() in IMAGE_SUFFIXES)
    return [path for path in files if not path.name.startswith(".") and not path.is_dir()]


class TrainingSession(Protocol):
    """One model with its optimizer and its input pipeline, in one process. It never looks at a clock."""

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What is really used, as :attr:`irbench.spi.Session.effective` says it."""
        ...

    @property
    def beginnings(self) -> Mapping[str, Callable[[], None]]:
        """Beginnings of the step on one batch that stays in memory, each of which contains the one before.

        By the name of what each adds: ``host`` calls the runtime without computing, then ``forward``, ``backward`` and
        ``optimizer``, which is the whole step. Empty where a step of the model's own cannot be divided.
        """
        ...

    def next_batch(self) -> None:
        """Wait for the next batch of the input pipeline.

        Raises:
            IrbenchError: There is none; says why.
        """
        ...

    def step(self) -> None:
        """Train on that batch; the new weights and the metrics are there on return.

        Raises:
            IrbenchError: The model or its step failed; says why.
        """
        ...

    def metrics(self) -> Mapping[str, float]:
        """Return what the last step reports, each number by its name: of that step alone, not of those before.

        Raises:
            IrbenchError: A loss, an optimizer or a learning rate that the user gave is not used by the steps.
        """
        ...

    def trace(self, steps: int) -> bytes:
        """Make so many steps under the profiler of the runtime, each marked as one, with the wait for its batch.

        Returns:
            The trace, as ``xprof`` reads it: a serialised ``XSpace``.
        """
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


@runtime_checkable
class TrainingBackend(Protocol):
    """A backend whose runtime trains models."""

    def describe_model(self, model: TrainedModel, /) -> ModelFacts:
        """Load a model and say what it is; called in a worker after :meth:`import_training` for the CPU.

        Raises:
            IrbenchError: It cannot be trained: it has no loss, for example.
        """
        ...

    def import_training(self, load: Load, device: str, /) -> None:
        """Import all that training needs; takes what :meth:`irbench.spi.Backend.import_runtime` does."""
        ...

    def compile_training(
        self, training: TrainingArtifact, load: Load, device: str, phases: Phases, /
    ) -> TrainingSession:
        """Make a session that trains a model as its settings and the load ask; no step is made yet.

        Raises:
            Refusal: The runtime cannot do what was asked.
            IrbenchError: The model or the data cannot be used.
        """
        ...

    def training_program(self, training: TrainingArtifact, load: Load, /) -> str:
        """Return Python that trains a model as a session of the same arguments does, without irbench.

        What it cannot know of data is the reader's: ``files``, ``labels``, and ``decode`` that makes a sample of both.
        """
        ...
