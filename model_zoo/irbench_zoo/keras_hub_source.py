"""Backbones of the package keras-hub in small configurations: graphs of many architectures as their authors wrote them.

Every one has two layers, which is enough to show what layers share and what each repeats, and random weights: nothing
is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec, is_named_as_mask
from irbench.spi import ModelSource

DISTRIBUTION = "keras-hub"
FAMILY = "keras-hub backbone"
LENGTH = 16
"""Tokens of a text, unless a run says otherwise."""
SEQUENCE = "sequence"

Settings = Mapping[str, Any]
"""Arguments of a backbone's constructor."""


def source(
    name: str, constructor: str, settings: Settings, inputs: tuple[InputSpec, ...], counts: tuple[int, int]
) -> ModelSource:
    """Return a backbone, ``keras_hub_NAME`` on the command line.

    Args:
        name: Without that prefix.
        constructor: Its class in ``keras_hub.models``.
        settings: What it is called with.
        inputs: In the order of the model's.
        counts: Its parameters and multiply-accumulates, as :class:`irbench.spi.ModelSource` counts them.
    """
    dynamic = any(SEQUENCE in spec.tensor.dynamic_dimensions for spec in inputs)
    return ModelSource(
        name=f"keras_hub_{name}",
        family=FAMILY,
        summary=f"{constructor} of keras-hub with few and narrow layers",
        inputs=inputs,
        build=partial(build_backbone, constructor, settings),
        defaults={SEQUENCE: LENGTH} if dynamic else {},
        classifier=False,
        parameters=counts[0],
        macs=counts[1],
        requires=(DISTRIBUTION,),
    )


def build_backbone(constructor: str, settings: Settings) -> Any:
    """Return a backbone as an uncompiled ``keras.Model``; imports keras-hub.

    Args:
        constructor: Its class in ``keras_hub.models``.
        settings: What it is called with.
    """
    import keras_hub

    return getattr(keras_hub.models, constructor)(**settings)


def token_ids(name: str, high: int) -> InputSpec:
    """Return an int32 input of shape ``(batch, sequence)``: a mask if it is named so, or values in ``[0, high)``."""
    return InputSpec(TensorSpec(name, "int32", (BATCH, SEQUENCE)), 0, high, is_named_as_mask(name))
