"""A whole generation as one inference, and when each of its tokens was there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irbench.core.decode_loop import DecodeLoop
from irbench.measure.call_parts import FinishedCall
from irbench.measure.clock import now_ns
from irbench.measure.kernel_evidence import resident_bytes
from irbench.spi import Array, DecoderSlot, Feed, Outputs, Slot


class GenerationSlot:
    """A slot whose inference reads a prompt and generates tokens, one decoder call after the other.

    Args:
        slots: What runs each graph, in the order in which they are called.
        loop: Says which graph is called with what, and which tokens are chosen.

    Attributes:
        memory_bytes: The resident memory of the process after each token of the first answer, without what verification
            keeps of it; empty before, and where the kernel does not report it.
    """

    parts: tuple[str, ...] = ()

    def __init__(self, slots: Sequence[Slot], loop: DecodeLoop) -> None:
        self._slots = slots
        self._loop = loop
        self._feed: Feed = ()
        self._finished: list[FinishedCall] = []
        self.memory_bytes: list[int] = []

    def stage(self, feed: Feed, /) -> None:
        """Keep a prompt; the decoder's own inputs are staged call by call, which is timed too."""
        self._feed = feed

    def run(self) -> None:
        """Generate all tokens."""
        self._generate()

    def fetch(self) -> Outputs:
        """Return the tokens, int64 of shape (batch, new tokens)."""
        return (self._loop.tokens,)

    def answer(self, feed: Feed) -> tuple[Array, ...]:
        """Generate once, untimed, and return what verification compares; see :meth:`DecodeLoop.answers`."""
        self.stage(feed)
        is_first = not self.memory_bytes
        self._generate(keeps_logits=True, after_token=self._note_memory if is_first else None)
        return self._loop.answers()

    @property
    def cache_bytes(self) -> int:
        """The size of the caches at the end of the last generation."""
        return slot.cache_bytes if isinstance(slot := self._slots[-1], DecoderSlot) else self._loop.cache_bytes

    def _note_memory(self) -> None:
        resident = resident_bytes()
        if resident is not None:
            self.memory_bytes.append(resident - self._loop.kept_bytes)

    def _generate(self, *, keeps_logits: bool = False, after_token: Callable[[], None] | None = None) -> None:
        slots, loop, moments = self._slots, self._loop, list[int]()
        begun = now_ns()
        loop.begin(self._feed, keeps_logits=keeps_logits)
        if isinstance(slot := slots[-1], DecoderSlot):
            slot.begin(self._feed[0].shape[0], loop.capacity)
        while not loop.is_done:
            slot = slots[loop.place]
            slot.stage(loop.next())
            slot.run()
            loop.take(slot.fetch())
            if loop.generated > len(moments):
                moments.append(now_ns() - begun)
                if after_token is not None:
                    after_token()
        self._finished.append((begun + moments[-1], moments))

    def take_finished(self) -> list[FinishedCall]:
        """Return when each generation since the last time ended, and when its tokens were there after its begin."""
        finished, self._finished = self._finished, []
        return finished
