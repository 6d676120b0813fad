"""Backends that generate: each session's slots run a decoder token after token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from irbench.core.decode_loop import DecodeLoop
from irbench.measure.generation import GenerationSlot
from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Availability, Backend, Description, Phases, Session, Slot


def generating_if_decoder(backend: Backend, artifact: Artifact | None) -> Backend:
    """Return what runs an artifact: a backend itself, or around it what generates with a decoder."""
    return GeneratingBackend(backend) if isinstance(artifact, GenerationArtifact) else backend


class GeneratingBackend:
    """Runs generations on another backend, which is given single calls of the decoder."""

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

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Compile the decoder of a :class:`GenerationArtifact`."""
        generation = cast("GenerationArtifact", artifact)
        return _GeneratingSession(self._backend.compile(generation.decoder, load, device, phases), generation)


class _GeneratingSession:
    def __init__(self, session: Session, artifact: GenerationArtifact) -> None:
        self._session = session
        self._artifact = artifact
        self._slots: tuple[GenerationSlot, ...] = ()

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the runtime uses, and the size of a stream's caches after the first generation."""
        held = self._slots[0].cache_bytes if self._slots else 0
        return {**self._session.effective, **({"cache_bytes": held} if held else {})}

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        slots = self._session.open_slots(count, io)
        self._slots = tuple(GenerationSlot(slot, DecodeLoop(self._artifact)) for slot in slots)
        return self._slots

    def close(self) -> None:
        self._session.close()
