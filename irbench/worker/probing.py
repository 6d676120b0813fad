"""What a worker is asked about a runtime before anything is measured."""

from __future__ import annotations

from irbench.core import registry
from irbench.spec import Artifact, Load
from irbench.spi import Availability
from irbench.worker.watchdog import own_temporary_files


def probe(name: str) -> Availability:
    """Let a backend look at this machine; see :func:`irbench.core.registry.probe`."""
    own_temporary_files()
    return registry.probe(name)


def advised_streams(name: str, artifact: Artifact, load: Load, device: str) -> int:
    """Return how many inferences at a time a runtime advises; see :func:`irbench.core.registry.advised_streams`."""
    own_temporary_files()
    return registry.advised_streams(name, artifact, load, device)
