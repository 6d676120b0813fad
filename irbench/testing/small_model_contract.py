"""What the contracts of backends, references and profiles share: the part that is tested, and a small model for it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from irbench.errors import IrbenchError
from irbench.onnx.rewriting.bind import bind
from irbench.spec import BATCH, Artifact, Load
from irbench.spi import Backend
from irbench.testing.backend_calls import find
from irbench.testing.judging import fail
from irbench.testing.small_models import write_mlp

SAMPLES = 3
"""The batch of the small model: no kernel is written for it alone."""


class SmallModelContract:
    """Finds a backend or a reference, and makes a model that it reads; subclasses name the part."""

    group: ClassVar[str]
    load: ClassVar[Load]

    @classmethod
    def subject(cls) -> str:
        """Return the name of the entry point."""
        raise NotImplementedError

    def artifact(self, folder: Path) -> Artifact:
        """Return a small model that the backend reads; its only dynamic dimension is ``batch``.

        Override it for a backend that does not read ``onnx``. A model whose making changes the process that it is made
        in is best made in another one.

        Args:
            folder: Where its files are written.
        """
        name, kinds = self.subject(), find(self.group, self.subject()).consumes
        if "onnx" not in kinds:
            fail(
                f"{name} reads {', '.join(kinds)}, and the contract makes only an onnx model.",
                f"Override {type(self).__name__}.artifact(folder): it returns an Artifact of a small model.",
            )
        return write_mlp(folder)

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def part(cls) -> Backend:
        """Return the part that is tested; tests are skipped where its runtime is not installed."""
        try:
            part = find(cls.group, cls.subject())
        except (AttributeError, IrbenchError) as error:
            hint = getattr(error, "hint", "") or f"Give the class the name of an entry point in {cls.group}."
            fail(f"{cls.__name__} cannot be tested: {error}", hint)
        if part.describe().version is None:
            pytest.skip(f"{cls.subject()} is not installed here: {part.describe().distribution} is missing")
        return part

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, part: Backend, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
        """Return the small model with a free batch."""
        model = cls().artifact(tmp_path_factory.mktemp(part.name))
        free = {name for spec in model.inputs for name in spec.dynamic_dimensions}
        if free != {BATCH}:
            fail(
                f"{cls.__name__}.artifact has these dynamic dimensions: {', '.join(sorted(free)) or 'none'}.",
                f"Its inputs must have one that is called {BATCH!r}, and no other.",
            )
        return model

    @pytest.fixture(scope="class")
    @classmethod
    def bound(cls, model: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
        """Return the small model at the batch of the checks."""
        return bind(model, {BATCH: SAMPLES}, tmp_path_factory.mktemp("bound"))
