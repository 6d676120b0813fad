"""Notes about the default precisions of backends that were measured with a fixed one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import NativePrecision
from irbench.requests import probes
from irbench.spi import Availability


def native_notes(
    backends: Sequence[BackendAddress], precisions: Sequence[str], say: Callable[[str], None]
) -> tuple[Note, ...]:
    """Return a note for each backend whose default precision here is none of those that are measured.

    Backends that never looked at this machine are asked to, once for each version.

    Args:
        backends: Those that take part.
        precisions: What is pinned; empty where every graph is run as it is.
        say: Receives which backend is looking.
    """
    if "native" in precisions or not precisions:
        return ()
    notes: list[Note] = []
    for name, device in backends:
        native = _native(name, device, say)
        if native is not None and native not in precisions:
            measured = tuple(dict.fromkeys(precisions))
            notes.append(NativePrecision(backend=name, precision=native, measured=measured))
    return tuple(notes)


def _native(name: str, device: str, say: Callable[[str], None]) -> str | None:
    description = registry.describe(registry.BACKENDS, name)
    found: Availability | None = probes.remembered(description)
    if found is None:
        say(f"probing {name}: devices and precisions on this machine")
        try:
            found = probes.probe(description)
        except IrbenchError:
            return None  # its row will say what is wrong with it
    return found.native.get(device)
