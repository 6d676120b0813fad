"""Sessions of decoders whose caches stay with ONNX Runtime from call to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import Io, Scalar
from irbench.spec.generation import GenerationGraph, cache_shape
from irbench.spi import Array, DecoderSlot, Feed, Outputs
from irbench_ort.shared_caches import LAST, PAST, TOTAL, TOTAL_NUMBER


class OrtDecoderSession:
    """One InferenceSession; each slot has caches of its own.

    Args:
        session: Of the decoder, or of what :func:`irbench_ort.shared_caches.write_shared` made of it.
        graph: The decoder.
        memory: Where the caches lie, ``cpu`` or ``cuda``.
        effective: What the runtime uses.
        shares: Whether growing caches are buffers that the runtime appends to.
    """

    def __init__(
        self, session: Any, graph: GenerationGraph, memory: str, effective: Mapping[str, Scalar], *, shares: bool
    ) -> None:
        self._session: Any = session
        self._graph = graph
        self._memory = memory
        self._shares = shares
        self.effective = {**effective, "cache": "in place" if shares else "copied"}

    def open_slots(self, count: int, io: Io) -> Sequence[DecoderSlot]:  # noqa: ARG002 - caches are always bound
        """Return slots with empty caches."""
        return [_OrtDecoderSlot(self._session, self._graph, self._memory, self._shares) for _ in range(count)]

    def close(self) -> None:
        """Drop the session; its memory goes with the last slot."""
        self._session = None


class _OrtDecoderSlot:
    """Caches as values of the runtime: what a call answers is what the next is given, or both are the same buffer."""

    def __init__(self, session: Any, graph: GenerationGraph, memory: str, shares: bool) -> None:
        self._session = session
        self._binding = session.io_binding()
        self._memory = memory
        self._shares = shares
        self._caches = [(cache.input, cache.axis) for cache in graph.caches]
        self._cache_outputs = {cache.output.name: place for place, cache in enumerate(graph.caches)}
        self._inputs = [spec.name for spec in graph.without_caches.artifact.inputs]
        self._outputs = [spec.name for spec in graph.artifact.outputs]
        self._tokens = graph.tokens.name
        self._values: list[Any] = []
        self._answers: Outputs = ()
        self._feed: Feed = ()
        self._batch = self._length = 0

    @property
    def cache_bytes(self) -> int:
        return sum(value.tensor_size_in_bytes() for value in self._values)

    def begin(self, batch: int, capacity: int) -> None:
        room = capacity if self._shares else 0
        shapes = [cache_shape(spec, axis, batch, room) for spec, axis in self._caches]
        held = zip(self._values, shapes, self._caches, strict=False)
        # buffers that are appended to need not be cleared; a fixed cache may be read as a whole
        if not self._values or any(tuple(value.shape()) != shape or axis is None for value, shape, (_, axis) in held):
            self._values = [
                onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, numpy_dtype(spec.dtype)), self._memory, 0)
                for shape, (spec, _) in zip(shapes, self._caches, strict=True)
            ]
        self._batch, self._length = batch, 0

    def stage(self, feed: Feed) -> None:
        """Bind arrays, which the runtime reads in place on the CPU, and the caches."""
        binding, given = self._binding, dict(zip(self._inputs, feed, strict=True))
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()
        new = given[self._tokens].shape[1]
        if self._shares:
            given |= self._lengths(self._length + new)
        for name, array in given.items():
            binding.bind_cpu_input(name, array)
        for value, (spec, _) in zip(self._values, self._caches, strict=True):
            binding.bind_ortvalue_input(spec.name, value)
        for name in self._outputs:
            place = self._cache_outputs.get(name)
            if place is None:
                binding.bind_output(name, "cpu")
            elif self._is_shared(place):
                binding.bind_ortvalue_output(name, self._values[place])
            else:
                binding.bind_output(name, self._memory)
        binding.synchronize_inputs()  # copies to where they are read are made when inputs are bound
        self._feed = tuple(given.values())  # which the runtime reads until the next staging
        self._length += new

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)
        self._binding.synchronize_outputs()

    def fetch(self) -> Outputs:
        """Return what is no cache; the caches are what the next call is given."""
        answers: list[Array] = []
        for name, value in zip(self._outputs, self._binding.get_outputs(), strict=True):
            place = self._cache_outputs.get(name)
            if place is None:
                answers.append(value.numpy())
            elif not self._is_shared(place):  # a buffer belongs to the value that was bound
                self._values[place] = value
        return answers

    def _is_shared(self, place: int) -> bool:
        return self._shares and self._caches[place][1] is not None

    def _lengths(self, total: int) -> dict[str, Array]:
        return {
            PAST: np.array([self._length]),
            TOTAL: np.array([total]),
            TOTAL_NUMBER: np.array(total, np.int32),
            LAST: np.full(self._batch, total - 1, np.int32),
        }
