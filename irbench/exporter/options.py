"""The options of an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from irbench.errors import IrbenchError
from irbench.system.file_states import is_file

MIN_OPSET, DEFAULT_OPSET, MAX_OPSET = 13, 18, 23


@dataclass(frozen=True)
class ExportOptions:
    """How a model is exported.

    Attributes:
        opset: ONNX operator set version.
        batch: A fixed batch, or ``None`` for a free one.
        seed: Of random weights and of the inputs of the reference outputs.
        weights: ``random``, a file, or ``None`` for the model's own.
        layout: Of image inputs in ONNX.
        signature: Of a SavedModel; ``None`` for ``serving_default``, or the only one.
        force: Build even if a bundle made from the same things exists.
        output: Folder of the bundle; ``None`` for the cache.
        name: What the bundle is called; ``None`` for a name after the model.
        imports: Modules, or files of Python, that are imported before the model is loaded.
        shape: Shapes of inputs, and sizes of dynamic dimensions, that the model is run with and that are its defaults.
        deadline: How long a step of it may take, in seconds; ``None`` for an hour, and 15 minutes for the comparison.
    """

    opset: int = DEFAULT_OPSET
    batch: int | None = None
    seed: int = 0
    weights: str | None = None
    layout: Literal["keep", "nchw"] = "nchw"
    signature: str | None = None
    force: bool = False
    output: Path | None = None
    name: str | None = None
    imports: tuple[str, ...] = ()
    shape: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    deadline: float | None = None

    def validate(self) -> None:
        """Refuse what no export can honour."""
        if not MIN_OPSET <= self.opset <= MAX_OPSET:
            raise IrbenchError(
                f"Opset {self.opset} is not supported.",
                hint=f"Use one from {MIN_OPSET} to {MAX_OPSET}; {DEFAULT_OPSET} is usual.",
            )
        if self.batch is not None and self.batch < 1:
            raise IrbenchError(f"{self.batch} is not a valid batch size.", hint="Use 1 or more, or dynamic.")
        if self.seed < 0:
            raise IrbenchError(f"The seed {self.seed} is negative.", hint="Use 0 or a positive number.")
        if self.weights not in (None, "random") and not is_file(Path(str(self.weights))):
            raise IrbenchError(
                f"There is no weights file {self.weights}.",
                hint="Give --weights random, or a .weights.h5 or .keras file.",
            )
