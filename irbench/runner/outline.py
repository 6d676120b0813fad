"""What a run is going to do, in words, before it does it."""

from __future__ import annotations

from irbench.runner.request import RunRequest
from irbench.runner.sizes import bind_sizes

__all__ = ["outline"]


def outline(request: RunRequest) -> str:
    """Return the models, the rows and how long they may take.

    Raises:
        IrbenchError: A shape or batch is impossible for a model.
    """
    batches = request.batches or (None,)
    sizes = [
        (bundle.name, bind_sizes(bundle, batch, request.shapes)) for bundle in request.bundles for batch in batches
    ]
    tables = len(sizes)
    rows = len(request.backends) * len(request.streams) * len(request.precisions)
    names = ", ".join(name if device == "cpu" else f"{name}:{device}" for name, device in request.backends)
    models = "; ".join(f"{name} ({', '.join(f'{key} {size}' for key, size in of.items())})" for name, of in sizes)
    budget_s = request.budget_s or request.timing.budget * tables
    timing = request.timing
    return (
        f"{models}: {rows} {'row' if rows == 1 else 'rows'} ({names}), "
        f"{timing.min_launches} to {timing.max_launches} launches x {timing.blocks} blocks, at most {budget_s:.0f} s"
    )
