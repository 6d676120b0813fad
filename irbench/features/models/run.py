"""List models, backends and exported bundles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from irbench.core import registry
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError

if TYPE_CHECKING:
    from irbench.spi import ModelSource


def models(family: str = "") -> tuple[ModelSource, ...]:
    """Return the models that can be exported by name, sorted by name; imports no framework.

    Args:
        family: Only models of families whose name holds this.

    Raises:
        IrbenchError: No family's name does.
    """
    found: list[ModelSource] = sorted(registry.load_all(registry.MODELS).values(), key=_by_number)
    chosen = tuple(source for source in found if family.casefold() in source.family.casefold())
    if found and not chosen:
        known = sorted({source.family for source in found})
        raise IrbenchError(
            f"No model family contains '{family}'.",
            hint=f"{did_you_mean(family, known)}Families: {', '.join(known)}.",
        )
    return chosen


def _by_number(source: ModelSource) -> list[str | int]:
    """Return what sorts resnet50 before resnet101."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", source.name)]
