"""Code that measuring a stored plan again would run: who stored it need not be who runs it."""

from __future__ import annotations

from irbench.across_runs.confirmation import Obstacle
from irbench.api.options import RunOptions
from irbench.exporter.source import Source

__all__ = ["own_code_obstacle"]


def own_code_obstacle(stored: RunOptions) -> Obstacle | None:
    """Return an obstacle that names all code of a stored plan that is no part of irbench; ``None`` without any.

    These are the rows of the user's own code, models that a function makes, and a measure of accuracy.

    Args:
        stored: From :func:`~irbench.api.stored_plan.stored_options`.
    """
    rows = [f"{name}={program.target}" for name, program in stored.cells.items()]
    functions = [model for model in stored.models if Source(model).function is not None]
    measures = [stored.metric.function] if stored.metric is not None else []
    code = [*rows, *functions, *measures]
    return Obstacle("own-code", {"code": code}) if code else None
