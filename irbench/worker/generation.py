"""Backends that generate: each session's slots run a decoder token after token."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from irbench.core.decode_loop import DecodeLoop
from irbench.measure.generation import GenerationSlot
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Backend, CacheKeeper, Feed, Phases, Refusal, Session, Slot
from irbench.worker.wrapped_backend import WrappedBackend


def generating_if_decoder(backend: Backend, artifact: Artifact | None, io: Io = "copy") -> Backend:
    """Return what runs an artifact: a backend itself, or around it what generates with a decoder."""
    return GeneratingBackend(backend, io) if isinstance(artifact, GenerationArtifact) else backend


class GeneratingBackend(WrappedBackend):
    """Runs generations on another backend, which is given single calls of the decoder.

    Args:
        backend: The other one.
        io: With ``bound`` it keeps the caches; otherwise each call is given them, and answers them.
    """

    def __init__(self, backend: Backend, io: Io = "copy") -> None:
        super().__init__(backend)
        self._io = io

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Compile the decoder of a :class:`GenerationArtifact`."""
        generation = cast("GenerationArtifact", artifact)
        if self._io == "copy":
            return self._passing_caches(generation, load, device, phases)
        keeper = self._backend
        if not isinstance(keeper, CacheKeeper):
            raise Refusal(f"{self.name} cannot keep the caches of a decoder.", hint="Use `--io copy`, the default.")
        if len(generation.graphs) > 1:
            raise Refusal(
                "The caches of this decoder come from another graph, so no runtime can keep them.",
                hint="Use `--io copy`, the default, or a decoder of one file.",
            )
        if "branch" in generation.step.takes:
            raise Refusal(
                "This decoder decides by an input whether it answers its caches, so no runtime can keep them.",
                hint="Use `--io copy`, the default, or export the decoder without use_cache_branch.",
            )
        session = keeper.compile_decoder(generation.step, load, device, phases, _first_call(generation))
        return _GeneratingSession([session], generation.with_graphs(lambda graph: graph.without_caches))

    def _passing_caches(self, generation: GenerationArtifact, load: Load, device: str, phases: Phases) -> Session:
        sessions: list[Session] = []
        try:
            sessions.extend(self._backend.compile(graph.artifact, load, device, phases) for graph in generation.graphs)
        except BaseException:
            _close(sessions)
            raise
        return _GeneratingSession(sessions, generation)


_SAMPLE_TOKENS = 8


def _first_call(artifact: GenerationArtifact) -> Feed:
    """Return what a decoder is given for a prompt of a few tokens, with ones for the constants of a text."""
    ones = (
        np.ones([size if isinstance(size, int) else 1 for size in of.shape], numpy_dtype(of.dtype))
        for of in artifact.inputs[1:]
    )
    loop = DecodeLoop(artifact)
    loop.begin((np.zeros((1, _SAMPLE_TOKENS), np.int64), *ones))
    return loop.next()


class _GeneratingSession:
    def __init__(self, sessions: Sequence[Session], artifact: GenerationArtifact) -> None:
        self._sessions = sessions
        self._artifact = artifact
        self._slots: tuple[GenerationSlot, ...] = ()

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the runtime uses for the graph of each token, and the size of a stream's caches after a generation."""
        held = self._slots[0].cache_bytes if self._slots else 0
        return {**self._sessions[-1].effective, **({"cache_bytes": held} if held else {})}

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        slots = zip(*(session.open_slots(count, io) for session in self._sessions), strict=True)
        self._slots = tuple(GenerationSlot(of_graphs, DecodeLoop(self._artifact)) for of_graphs in slots)
        return self._slots

    def close(self) -> None:
        _close(self._sessions)


def _close(sessions: Sequence[Session]) -> None:
    with contextlib.ExitStack() as stack:  # each is closed, also where another one fails to
        for session in sessions:
            stack.callback(session.close)
