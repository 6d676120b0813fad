"""What a slot is given call by call where it is not always the same: samples in turn, and its own last outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Protocol

import numpy as np

from irbench.spi import Array, AsyncSlot, Feed, Outputs, Slot


class Turns(Protocol):
    """The feeds of consecutive calls."""

    def begin(self, position: int) -> None:
        """Start again: the next feed is that of the sample at ``position``, counted on over the end of the samples."""
        ...

    def next(self) -> Feed:
        """Return the next call's feed."""
        ...

    def take(self, outputs: Outputs, /) -> None:
        """Take the outputs of the call that was given the last feed."""
        ...


class SampleTurns:
    """Samples one after the other, from the beginning again after the last; several threads may share them."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = tuple(feeds)
        self._order = cycle(self._feeds)

    def begin(self, position: int) -> None:
        """Start at a sample; see :class:`Turns`."""
        start = position % len(self._feeds)
        self._order = cycle(self._feeds[start:] + self._feeds[:start])

    def next(self) -> Feed:
        """Return the next sample."""
        return next(self._order)

    def take(self, outputs: Outputs, /) -> None:
        """Do nothing: no sample depends on outputs."""


class Loop:
    """Samples in turn, in which some inputs are outputs of the call before.

    Args:
        feeds: The samples; each holds the initial values of the inputs that are fed back.
        fed_back: Places of outputs by the places of the inputs that they become.
        permutations: Orders of axes by the places of those inputs that an output must be transposed for.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        fed_back: Mapping[int, int],
        permutations: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self._samples = SampleTurns(feeds)
        self._fed_back = tuple(fed_back.items())
        self._permutations = dict(permutations or {})
        self._state: dict[int, Array] = {}

    def begin(self, position: int) -> None:
        """Start at a sample with the initial values; see :class:`Turns`."""
        self._samples.begin(position)
        self._state = {}

    def next(self) -> Feed:
        """Return the next sample with the last outputs in it."""
        feed = self._samples.next()
        if not self._state:
            return feed
        return tuple(self._state.get(place, array) for place, array in enumerate(feed))

    def take(self, outputs: Outputs, /) -> None:
        """Keep the outputs that the next call is given."""
        self._state = {given: self._as_input(given, outputs[made]) for given, made in self._fed_back}

    def _as_input(self, place: int, output: Array) -> Array:
        order = self._permutations.get(place)
        return np.ascontiguousarray(output if order is None else output.transpose(order))


def turning_slot(slot: Slot, turns: Turns) -> Slot:
    """Return a slot that stages what ``turns`` give it, whatever it is given, and lets them take the outputs."""
    return _AsyncTurningSlot(slot, turns) if isinstance(slot, AsyncSlot) else _TurningSlot(slot, turns)


class _TurningSlot:
    def __init__(self, slot: Slot, turns: Turns) -> None:
        self.run = slot.run
        self._stage, self._fetch = slot.stage, slot.fetch
        self._next, self._take = turns.next, turns.take

    def stage(self, _feed: Feed, /) -> None:
        self._stage(self._next())

    def fetch(self) -> Outputs:
        outputs = self._fetch()
        self._take(outputs)
        return outputs


class _AsyncTurningSlot(_TurningSlot):
    def __init__(self, slot: AsyncSlot, turns: Turns) -> None:
        super().__init__(slot, turns)
        self._start = slot.start

    def start(self, done: Callable[[BaseException | None], None], /) -> None:
        self._start(done)
