"""An optimised graph: its files, what every step changed, and how to go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from irbench.api.display import Displayable
from irbench.core.plain_text import plain
from irbench.features.optimize.options import OPTIMIZE, OptimizeOptions
from irbench.optimizer import Lineage, Optimized
from irbench.spec import BATCH, Bundle
from irbench.worker.model_files import read_inventory

if TYPE_CHECKING:
    from rich.console import RenderableType


class OptimizedModel(Displayable):
    """A graph that passes made of a model's.

    Attributes:
        model: The model as the user named it.
        bundle: The model.
        lineage: How the graph was made: each pass with what it changed, and what that costs in accuracy.
        path: The graph; the copy where one was asked for.
    """

    _command = OPTIMIZE

    def __init__(self, model: str, bundle: Bundle, optimized: Optimized, options: OptimizeOptions) -> None:
        self.model = model
        self.bundle = bundle
        self._optimized = optimized
        self._options = options
        self.path: Path = options.output or optimized.artifact.path

    @property
    def lineage(self) -> Lineage:
        """How the graph was made."""
        return self._optimized.lineage

    @property
    def kept_path(self) -> Path:
        """The graph in the cache."""
        return self._optimized.artifact.path

    @property
    def advice(self) -> tuple[str, ...]:
        """Warnings of the result, each with its remedy, and how to go on."""
        from irbench.features.optimize.view import advice

        options = self._options
        files = [f"--data {quote(str(options.data))}"] if isinstance(options.data, Path) else []
        constants = ((name, ",".join(map(str, values))) for name, values in options.value.items())
        inputs = (*files, *(f"--value {quote(f'{name}={values}')}" for name, values in constants))
        return tuple(advice(self.model, self.bundle, self._optimized, options.output, inputs))

    @property
    def bound(self) -> Mapping[str, int]:
        """The size of each dimension that was dynamic and was bound, in the order of the inputs' axes."""
        artifact = self.bundle.artifact(("onnx",)) or self._optimized.artifact
        names = dict.fromkeys(name for spec in artifact.inputs for name in spec.dynamic_dimensions)
        return {name: self.lineage.sizes[name] for name in names if name in self.lineage.sizes}

    @property
    def bound_by_default(self) -> tuple[str, ...]:
        """Which of the bound dimensions no option gave a size."""
        sized = {*self._options.shape, *([BATCH] if self._options.batch is not None else [])}
        for tensor in self.bundle.inputs:
            if tensor.tensor.name in self._options.shape:
                sized |= set(tensor.tensor.dynamic_dimensions)
        return tuple(name for name in self.bound if name not in sized)

    def to_dict(self) -> dict[str, Any]:
        """Return all that is known of it as JSON values."""
        return {
            "model": self.bundle.name,
            "path": str(self.kept_path),
            "sizes_by_default": list(self.bound_by_default),
            **msgspec.to_builtins(self.lineage),
        }

    def __repr__(self) -> str:
        """Return the model, the recipe and the file."""
        return plain(f"<OptimizedModel {self.bundle.name}+{self.lineage.recipe.name}: {self.path}>")

    def __rich__(self) -> RenderableType:
        """Return the passes with what each changed, as ``irbench optimize`` prints them; called by rich."""
        from irbench.features.optimize.view import steps_view

        original = self.bundle.artifact(("onnx",)) or self._optimized.artifact
        before, after = (read_inventory(path).opsets.get("ai.onnx", 0) for path in (original.path, self.kept_path))
        return steps_view(self.bundle.name, self.lineage, (before, after), self.bound, self.bound_by_default)
