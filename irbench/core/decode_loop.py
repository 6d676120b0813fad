"""One generation as a loop of decoder calls: what each call is given, and which token is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import BATCH, TensorSpec, size_of
from irbench.spec.generation import CHECKED_LOGITS, TOP_LOGITS, GenerationArtifact, cache_shape
from irbench.spi import Array, Feed, Outputs


class DecodeLoop:
    """Feeds a decoder its own choices: the prompt first, then the most likely token of each call.

    Args:
        artifact: The decoder, and what its tensors are.
        passes_caches: Whether calls are given the caches and answer them; otherwise both leave them out.
    """

    def __init__(self, artifact: GenerationArtifact, *, passes_caches: bool = True) -> None:
        self._decoding = artifact.decoding
        self._specs = artifact.decoder_inputs
        kept = () if passes_caches else self._decoding.caches
        self._caches = {cache.input: cache for cache in self._decoding.caches if passes_caches}
        taken = {cache.input for cache in kept}
        self._places = [place for place in range(len(self._specs)) if place not in taken]
        self._logits = self._decoding.logits - sum(cache.output < self._decoding.logits for cache in kept)
        self._state: dict[int, Array] = {}
        self._constants: Mapping[int, Array] = {}
        self._pending: Array = np.empty((0, 0), np.int64)
        self._unread: list[Array] = []
        self._length = 0
        self._capacity = 0
        self._chosen: list[Array] = []
        self._kept: _KeptLogits | None = None

    def begin(self, feed: Feed, *, keeps_logits: bool = False) -> None:
        """Start with a prompt and empty caches.

        Args:
            feed: What the generation is given: the prompt, int64 of shape (batch, tokens), then the constants.
            keeps_logits: Whether the logits of every token are kept until the next prompt.
        """
        prompt, *constants = feed
        self._constants = dict(zip(self._decoding.constants, constants, strict=True))
        parts = np.split(prompt, prompt.shape[1], axis=1) if self._decoding.one_by_one else [prompt]
        self._pending, self._unread = parts[0], parts[1:]
        self._length = 0
        self._chosen = []
        self._kept = _KeptLogits() if keeps_logits else None
        batch, tokens = prompt.shape
        self._capacity = tokens + self._decoding.new_tokens - 1
        self._state = {
            place: np.zeros(cache_shape(self._specs[place], cache.axis, batch), numpy_dtype(self._specs[place].dtype))
            for place, cache in self._caches.items()
        }

    @property
    def generated(self) -> int:
        """How many tokens were generated so far."""
        return len(self._chosen)

    @property
    def is_done(self) -> bool:
        """Whether all tokens were generated."""
        return len(self._chosen) == self._decoding.new_tokens

    @property
    def capacity(self) -> int:
        """How many tokens the caches hold at the end of the text; the last choice is not fed any more."""
        return self._capacity

    @property
    def tokens(self) -> Array:
        """The generated tokens, int64 of shape (batch, new tokens)."""
        return np.stack(self._chosen, axis=1)

    @property
    def cache_bytes(self) -> int:
        """The size of all cached tensors as they are now."""
        return sum(array.nbytes for array in self._state.values())

    def next(self) -> Feed:
        """Return what the next call of the decoder is given."""
        return tuple(self._input(place, self._specs[place]) for place in self._places)

    def take(self, outputs: Outputs) -> None:
        """Take what the decoder answered: its caches, and the token that follows."""
        self._length += self._pending.shape[1]
        for place, cache in self._caches.items():
            given = outputs[cache.output]
            if given.size or not self._keeps_state:
                self._state[place] = given
        if self._unread:
            self._pending = self._unread.pop(0)
            return
        logits = outputs[self._logits]
        last = logits[:, -1] if logits.ndim == _RANK_WITH_POSITIONS else logits
        token = np.argmax(last, axis=-1)
        self._chosen.append(token)
        self._pending = token[:, np.newaxis]
        if self._kept is not None:
            self._kept.add(last)

    def answers(self) -> tuple[Array, ...]:
        """Return what verification compares, of a generation that kept its logits.

        Returns:
            The tokens; of each token the largest logits in descending order, float32 of shape (batch, new tokens,
            :data:`TOP_LOGITS`), and their tokens; all logits of the first :data:`CHECKED_LOGITS` tokens.
        """
        assert self._kept is not None
        return (self.tokens, *self._kept.arrays())

    @property
    def _keeps_state(self) -> bool:
        """Whether a cache that comes back empty is as it was: decoders with branches leave an encoder's part out."""
        return bool(self._decoding.branches) and self._length > 0

    def _input(self, place: int, spec: TensorSpec) -> Array:
        decoding, state = self._decoding, self._state
        if place in state:
            return state[place]
        if place in self._constants:
            return self._constants[place]
        dtype = numpy_dtype(spec.dtype)
        batch, new = self._pending.shape
        if place == decoding.tokens:
            return np.ascontiguousarray(self._pending, dtype)
        if place == decoding.mask:
            return np.ones((batch, self._length + new), dtype)
        if place in decoding.positions:
            positions = np.arange(self._length, self._length + new, dtype=dtype)
            return positions if len(spec.shape) == 1 else np.tile(positions, (batch, 1))
        shape = [size_of(size, {BATCH: batch}) or 1 for size in spec.shape]
        if place in decoding.branches:
            return np.full(shape, self._length > 0, dtype)
        (counts,) = (length.counts for length in decoding.lengths if length.input == place)
        ahead = {"past": 0, "total": new, "last": new - 1}
        return np.full(shape, self._length + ahead[counts], dtype)


_RANK_WITH_POSITIONS = 3


class _KeptLogits:
    """The logits that verification needs: the largest of every token, and all of the first tokens."""

    def __init__(self) -> None:
        self._all: list[Array] = []
        self._top: list[Array] = []
        self._top_tokens: list[Array] = []

    def add(self, logits: Array) -> None:
        """Keep those of one token, (batch, vocabulary)."""
        values = np.asarray(logits, np.float32)
        if len(self._all) < CHECKED_LOGITS:
            self._all.append(values.copy())
        most = min(TOP_LOGITS, values.shape[-1])
        largest = np.argpartition(-values, most - 1, axis=-1)[:, :most]
        order = np.argsort(-np.take_along_axis(values, largest, axis=-1), axis=-1, kind="stable")
        tokens = np.take_along_axis(largest, order, axis=-1)
        self._top_tokens.append(tokens)
        self._top.append(np.take_along_axis(values, tokens, axis=-1))

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return the largest logits, their tokens, and all logits of the first tokens."""
        return np.stack(self._top, axis=1), np.stack(self._top_tokens, axis=1), np.stack(self._all, axis=1)


def fixed_capacity(artifact: GenerationArtifact) -> int | None:
    """Return how many tokens fit into caches whose size is fixed; ``None`` where they grow, or where it is not known.

    A cache of fixed size has its positions along the longest of its axes but the batch and the last one, which holds
    the values of a head.
    """
    capacities = [
        max((size for size in artifact.decoder_inputs[cache.input].shape[1:-1] if isinstance(size, int)), default=0)
        for cache in artifact.decoding.caches
        if cache.axis is None
    ]
    return min((size for size in capacities if size), default=None) if math.prod(capacities) else None
