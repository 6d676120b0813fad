"""Decoders whose caches stay with the runtime from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from irbench.spec import Io, Load
from irbench.spec.generation import GenerationGraph
from irbench.spi.backend import Feed, Phases, Session, Slot


@runtime_checkable
class DecoderSlot(Slot, Protocol):
    """A slot that keeps a decoder's caches: what it is given and what it answers leave them out."""

    @property
    def cache_bytes(self) -> int:
        """The size of the caches as they are now, in bytes."""
        ...

    def begin(self, batch: int, capacity: int, /) -> None:
        """Empty the caches.

        Args:
            batch: Samples of all calls until the next begin.
            capacity: The most tokens that a sample will have in the caches.
        """
        ...


class DecoderSession(Session, Protocol):
    """A session whose slots keep caches."""

    def open_slots(self, count: int, io: Io, /) -> Sequence[DecoderSlot]:
        """Return ``count`` slots, each with caches of its own."""
        ...


@runtime_checkable
class CacheKeeper(Protocol):
    """A backend that can keep the caches of decoders; found by ``isinstance``, beside :class:`~irbench.spi.Backend`."""

    def compile_decoder(
        self, graph: GenerationGraph, load: Load, device: str, phases: Phases, sample: Feed, /
    ) -> DecoderSession:
        """Compile a decoder as ``compile`` does, with its caches kept where the runtime wants them.

        ``effective`` says as ``cache`` how tokens get there: ``in place``, or ``copied`` together with all before.

        Args:
            graph: The decoder, and what its tensors are.
            load: As for ``compile``.
            device: As for ``compile``.
            phases: As for ``compile``.
            sample: Arrays for all of the decoder's inputs, as in the first call of a text: caches are empty.

        Raises:
            Refusal: The runtime cannot do what was asked.
        """
        ...
