"""List models, backends and exported bundles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from irbench import registry
from irbench.errors import IrbenchError
from irbench.suggestions import did_you_mean

if TYPE_CHECKING:
    from irbench.api.backend_rows import BackendRow
    from irbench.api.progress import ProgressOption
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


def backends(*, probe: bool = False, progress: ProgressOption = "auto") -> tuple[BackendRow, ...]:
    """Return the runtimes, shown as a table: versions, devices and precisions, or what installs them.

    Args:
        probe: Start each runtime and see what it has here; otherwise a former look is remembered.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook hears which runtime is looked at.
    """
    from irbench.api.backend_rows import BackendListing, backend_rows
    from irbench.api.progress import reporting

    with reporting(progress) as reporter:
        return BackendListing(backend_rows(look=probe, say=reporter.say))


def _by_number(source: ModelSource) -> list[str | int]:
    """Return what sorts resnet50 before resnet101."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", source.name)]
