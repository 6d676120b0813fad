"""Models that irbench can build by name, with seeded random weights."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from irbench.spi import ModelSource

_IMPORT_KERAS = "transformer_layers"


def models() -> Iterator[ModelSource]:
    """Yield every model that a module of the zoo describes; imports no framework."""
    for module in iter_modules(__path__, f"{__name__}."):
        if not module.name.endswith(_IMPORT_KERAS):
            described = vars(import_module(module.name)).values()
            yield from (value for value in described if isinstance(value, ModelSource))
