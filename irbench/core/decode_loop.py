"""One generation as a loop of calls: which graph is called, what it is given, and which token is chosen."""

from __future__ import annotations

import numpy as np

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import BATCH, TensorSpec, size_of
from irbench.spec.generation import (
    CHECKED_LOGITS,
    LOGITS,
    TOP_LOGITS,
    GenerationArtifact,
    GenerationGraph,
    Given,
    Held,
    Role,
    cache_shape,
    is_of_encoder,
)
from irbench.spi import Array, Feed, Outputs


class DecodeLoop:
    """Feeds a decoder its own choices: the prompt first, then the most likely token of each call.

    An encoder is called before, and where a graph of its own reads the prompt, that one comes first.

    Args:
        artifact: The graphs, and what their tensors are.
    """

    def __init__(self, artifact: GenerationArtifact) -> None:
        self._artifact = artifact
        self._encoded = frozenset(artifact.encoder.gives if artifact.encoder else ())
        self._graphs = artifact.graphs
        self._place = 0
        self._state: dict[str, Array] = {}
        self._given: Feed = ()
        self._pending: Array = np.empty((0, 0), np.int64)
        self._unread: list[Array] = []
        self._length = 0
        self._capacity = 0
        self._chosen: list[Array] = []
        self._kept: _KeptLogits | None = None

    def begin(self, feed: Feed, *, keeps_logits: bool = False) -> None:
        """Start with a prompt and empty caches.

        Args:
            feed: What the generation is given: what the decoder reads first, int64 of shape (batch, tokens), then all
                that stays as it is.
            keeps_logits: Whether the logits of every token are kept until the next prompt.
        """
        prompt = feed[0]
        self._given = feed
        parts = np.split(prompt, prompt.shape[1], axis=1) if self._artifact.one_by_one else [prompt]
        self._pending, self._unread = parts[0], parts[1:]
        self._place = 0
        self._length = 0
        self._chosen = []
        self._kept = _KeptLogits() if keeps_logits else None
        self._state = {}
        self._capacity = prompt.shape[1] + self._artifact.new_tokens - 1

    @property
    def generated(self) -> int:
        """How many tokens were generated so far."""
        return len(self._chosen)

    @property
    def is_done(self) -> bool:
        """Whether all tokens were generated."""
        return len(self._chosen) == self._artifact.new_tokens

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
        """The size of all cached tensors as they are now; what an encoder answered is not one of them."""
        return sum(array.nbytes for name, array in self._state.items() if name not in self._encoded)

    @property
    def kept_bytes(self) -> int:
        """The size of the logits that are kept for verification; 0 where none are."""
        return 0 if self._kept is None else self._kept.size_bytes

    @property
    def place(self) -> int:
        """Which graph is called next, by its place among those of the artifact."""
        return self._place

    def next(self) -> Feed:
        """Return what the next call is given."""
        pairs = zip(self._graph.takes, self._graph.artifact.inputs, strict=True)
        return tuple(self._input(role, spec) for role, spec in pairs)

    def take(self, outputs: Outputs) -> None:
        """Take what the graph answered: its caches, and the token that follows."""
        graph = self._graph
        for name, output in zip(graph.gives, outputs, strict=True):
            if name not in (None, LOGITS) and (output.size or not self._keeps_state):
                self._state[str(name)] = output
        if LOGITS not in graph.gives:
            self._place += 1
            return
        self._length += self._pending.shape[1]
        if self._unread:
            self._pending = self._unread.pop(0)
            return
        self._place = len(self._graphs) - 1
        self._choose(outputs[graph.gives.index(LOGITS)])

    def answers(self) -> tuple[Array, ...]:
        """Return what verification compares, of a generation that kept its logits.

        Returns:
            The tokens; of each token the largest logits in descending order, float32 of shape (batch, new tokens,
            :data:`TOP_LOGITS`), and their tokens; all logits of the first :data:`CHECKED_LOGITS` tokens.
        """
        assert self._kept is not None
        return (self.tokens, *self._kept.arrays())

    @property
    def _graph(self) -> GenerationGraph:
        return self._graphs[self._place]

    @property
    def _keeps_state(self) -> bool:
        """Whether a cache that comes back empty is as it was: decoders with branches leave an encoder's part out."""
        return "branch" in self._graph.takes

    def _choose(self, logits: Array) -> None:
        last = logits[:, -1] if logits.ndim == _RANK_WITH_POSITIONS else logits
        token = np.argmax(last, axis=-1)
        self._chosen.append(token)
        self._pending = token[:, np.newaxis]
        if self._kept is not None:
            self._kept.add(last)

    def _input(self, role: Role, spec: TensorSpec) -> Array:
        if isinstance(role, Held):
            if role.name not in self._state:
                shape = cache_shape(spec, role.axis, self._pending.shape[0])
                self._state[role.name] = np.zeros(shape, numpy_dtype(spec.dtype))
            return self._state[role.name]
        if isinstance(role, Given):
            return np.asarray(self._given[role.place], numpy_dtype(spec.dtype), order="C")
        dtype = numpy_dtype(spec.dtype)
        batch, new = self._pending.shape
        if role == "tokens":
            return np.asarray(self._pending, dtype, order="C")
        if role == "mask":
            return np.ones((batch, self._length + new), dtype)
        if role == "positions":
            positions = np.arange(self._length, self._length + new, dtype=dtype)
            return positions if len(spec.shape) == 1 else np.tile(positions, (batch, 1))
        sizes = [size_of(size, {BATCH: batch}) or 1 for size in spec.shape]
        if role == "branch":
            return np.full(sizes, self._length > 0, dtype)
        ahead = {"past": 0, "total": new, "last": new - 1}
        return np.full(sizes, self._length + ahead[role], dtype)


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

    @property
    def size_bytes(self) -> int:
        """What all of them take."""
        return sum(array.nbytes for array in (*self._all, *self._top, *self._top_tokens))

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return the largest logits, their tokens, and all logits of the first tokens."""
        return np.stack(self._top, axis=1), np.stack(self._top_tokens, axis=1), np.stack(self._all, axis=1)


def fixed_capacity(artifact: GenerationArtifact) -> int | None:
    """Return how many tokens fit into caches whose size is fixed; ``None`` where they grow, or where it is not known.

    A cache of fixed size has its positions along the longest of its axes but the batch and the last one, which holds
    the values of a head.
    """
    capacities = [
        max((size for size in spec.shape[1:-1] if isinstance(size, int)), default=0)
        for spec, cache in artifact.step.held
        if cache.axis is None and not is_of_encoder(cache.name)
    ]
    return min((size for size in capacities if size), default=None) if all(capacities) else None
