"""A backend around another one, of which it is all but what it compiles."""

from __future__ import annotations

from irbench.spec import Load
from irbench.spi import Availability, Backend, Description


class WrappedBackend:
    """Says of itself what another backend says.

    Args:
        backend: The other one.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def name(self) -> str:
        """That of the other backend."""
        return self._backend.name

    @property
    def consumes(self) -> tuple[str, ...]:
        """What the other backend reads."""
        return self._backend.consumes

    def describe(self) -> Description:
        """Describe the other backend."""
        return self._backend.describe()

    def probe(self) -> Availability:
        """Look at the machine through the other backend."""
        return self._backend.probe()

    def import_runtime(self, load: Load, device: str) -> None:
        """Import the runtime of the other backend."""
        self._backend.import_runtime(load, device)
