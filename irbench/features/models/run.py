"""The models that can be exported by name, all of them or those of a family."""

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
    sources: list[ModelSource] = sorted(registry.load_all(registry.MODELS).values(), key=_by_number)
    matches = tuple(source for source in sources if family.casefold() in source.family.casefold())
    if sources and not matches:
        known = sorted({source.family for source in sources})
        raise IrbenchError(
            f"No model family contains '{family}'.",
            hint=f"{did_you_mean(family, known)}Families: {', '.join(known)}.",
        )
    return matches


def _by_number(source: ModelSource) -> list[str | int]:
    """Return what sorts resnet50 before resnet101."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", source.name)]
