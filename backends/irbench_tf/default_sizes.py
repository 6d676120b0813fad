"""The sizes of dynamic dimensions that a model is run with: its own defaults, or those that a user gave."""

from __future__ import annotations

from dataclasses import replace

from irbench.errors import IrbenchError
from irbench.spec import BATCH, Bundle
from irbench.spec.requested_sizes import refuse_unknown_names, requested_sizes
from irbench.spi import ExportRequest
from irbench_tf.sources import Loaded


def with_sizes(loaded: Loaded, request: ExportRequest) -> Loaded:
    """Return a model with the default sizes that were asked for."""
    model = Bundle(loaded.name, loaded.inputs, (), loaded.defaults)
    refuse_unknown_names(request.shapes, (model,))
    sizes = requested_sizes(model, None, request.shapes)
    given = sizes.pop(BATCH, 1)
    if given not in (1, request.batch, loaded.fixed_batch):
        raise IrbenchError(
            f"--shape gives a batch of {given}, and the batch of an export is that of --batch.",
            hint=f"Write 1 there, or add --batch {given} for a fixed batch.",
        )
    return replace(loaded, defaults={**loaded.defaults, **sizes})
