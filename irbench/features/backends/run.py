"""The state of each backend, as shown by ``irbench backends`` and ``irbench doctor``."""

from __future__ import annotations

from irbench.api.progress import ProgressOption, Say, reporting
from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.features.backends.report import BackendListing, BackendRow
from irbench.requests import probes
from irbench.spi import Description


def backend_rows(*, look: bool, say: Say) -> list[BackendRow]:
    """Return what is known of every backend, importing no runtime unless it is to look."""
    described: dict[str, Description] = registry.describe_all(registry.BACKENDS)
    return [_row(description, say if look else None) for description in described.values()]


def _row(description: Description, say: Say | None) -> BackendRow:
    if description.version is None:
        return BackendRow(description)
    if say is None:
        return BackendRow(description, probes.remembered(description))
    say(f"probing {description.name} ...")
    try:
        return BackendRow(description, probes.probe(description))
    except IrbenchError as error:
        return BackendRow(description, problem=f"{error.message} {error.hint}".strip())


def backends(*, probe: bool = False, progress: ProgressOption = "auto") -> tuple[BackendRow, ...]:
    """Return the runtimes, shown as a table: versions, devices and precisions, or what installs them.

    Args:
        probe: Start each runtime and see what it has here; otherwise a former look is remembered.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook shows which runtime is examined.
    """
    with reporting(progress, None) as reporter:
        return BackendListing(backend_rows(look=probe, say=reporter.say))
