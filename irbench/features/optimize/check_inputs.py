"""The inputs that an optimised graph is checked, calibrated and judged on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from irbench.optimizer import CheckInputs
from irbench.options.input_request import InputRequest
from irbench.options.values import Shapes
from irbench.runner.inputs import fixed_batch, read_data
from irbench.spec import Bundle
from irbench.spec.requested_sizes import has_name

_DYNAMIC_BATCH = 2
"""As without data: a batch of 1 would hide broadcasting along a dynamic batch."""


def sized_inputs(
    bundle: Bundle, asked: InputRequest, batch: int | None, shapes: Shapes, folder: Path
) -> tuple[Mapping[str, int], CheckInputs | None]:
    """Return the sizes to bind in the graph, none where none was asked for, and the inputs of its checks.

    Args:
        bundle: The model.
        asked: Data and constants; without either the inputs are ``None``.
        batch: The batch asked for.
        shapes: Shapes asked for, by input name; those of other models' inputs are left out.
        folder: Where samples are written.

    Raises:
        IrbenchError: Data or shapes do not fit the model.
    """
    shapes = {name: shape for name, shape in shapes.items() if has_name(bundle, name)}
    data = read_data(asked, bundle, shapes)
    bound = data.bind(batch, shapes) if batch is not None or shapes else {}
    if not data.samples and not asked.values:
        return bound, None
    sizes = bound or data.bind(_DYNAMIC_BATCH if fixed_batch(bundle) is None else None, {})
    return bound, CheckInputs(data.feeding(sizes, bundle.seed, folder), sizes if data.samples else {})
