"""When the parts of a call were complete: the tokens of a generation, or the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from irbench.errors import IrbenchError, RequestRefused, first_line
from irbench.measure.clock import now_ns
from irbench.spi import Slot

FinishedCall: TypeAlias = tuple[int, list[int]]
"""When a call ended, and when each of its parts was complete after its begin, in nanoseconds."""


@runtime_checkable
class PartedSlot(Protocol):
    """A slot whose calls have parts.

    Attributes:
        parts: Their names; empty where they have none, as tokens.
    """

    parts: tuple[str, ...]

    def take_finished(self) -> list[FinishedCall]:
        """Return the calls since the last time, and forget them."""
        ...


def part_names(slots: Sequence[Slot]) -> tuple[str, ...]:
    """Return what the parts of a session's calls are called; empty where they have no names."""
    return next((slot.parts for slot in slots if isinstance(slot, PartedSlot)), ())


def part_times_ns(slots: Sequence[Slot], calls: int) -> NDArray[np.int64]:
    """Return when the parts of the last calls were complete, and forget all before.

    Args:
        slots: Those of a session; calls of one that is no :class:`PartedSlot` have no parts.
        calls: Of how many calls.

    Returns:
        Nanoseconds from the begin of each call to the end of each part, int64, one call after the other; empty
        without parts.
    """
    finished = [entry for slot in slots if isinstance(slot, PartedSlot) for entry in slot.take_finished()]
    latest = sorted(finished)[-calls:] if calls else []
    return np.array([moment for _, moments in latest for moment in moments], np.int64)


def timed_in_turns(functions: Mapping[str, Callable[[], None]], calls: int) -> dict[str, NDArray[np.int64]]:
    """Call each function so many times, one after the other and again, after a call of each that is not timed.

    Returns:
        Nanoseconds of each call, int64, by the names of functions.
    """
    for function in functions.values():
        function()
    taken_ns = {name: np.empty(calls, np.int64) for name in functions}
    for call in range(calls):
        for name, function in functions.items():
            begun = now_ns()
            function()
            taken_ns[name][call] = now_ns() - begun
    return taken_ns


class TimedStages:
    """The stages of a pipeline as one function: each is given what the one before returned.

    Args:
        stages: By name, in order; at least one.
    """

    def __init__(self, stages: Mapping[str, Callable[[Any], Any]]) -> None:
        self.names = tuple(stages)
        self._stages = tuple(stages.values())
        self._finished: list[FinishedCall] = []

    def __call__(self, inputs: Any) -> Any:
        """Return what the last stage returned.

        Raises:
            IrbenchError: A stage failed; names it and what it was given.
            RequestRefused: A stage has no room for the request.
        """
        value, moments = inputs, list[int]()
        begun = now_ns()
        try:
            for stage in self._stages:
                value = stage(value)
                moments.append(now_ns() - begun)
        except RequestRefused:
            raise
        except Exception as error:
            raise self._failure(len(moments), value, error) from error
        self._finished.append((begun + moments[-1], moments))
        return value

    def take_finished(self) -> list[FinishedCall]:
        """Return the calls since the last time, and forget them."""
        finished, self._finished = self._finished, []
        return finished

    def _failure(self, place: int, given: Any, error: Exception) -> IrbenchError:
        source = f"what {self.names[place - 1]} returned" if place else "the inputs"
        if isinstance(error, IrbenchError):  # says itself what it was given
            return IrbenchError(f"The stage {self.names[place]} failed on {source}: {error.message}", hint=error.hint)
        return IrbenchError(
            f"The stage {self.names[place]} failed on {source}, {described(given)}: {type(error).__name__}:"
            f" {first_line(error)}",
            hint="Call the stages one after the other in Python, which shows where it fails.",
        )


_SHOWN = 5
"""Keys of a mapping that are shown."""


def described(value: Any) -> str:
    """Return what a value is in a few words: ``float32 of shape 1x3x224x224``."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {'x'.join(map(str, value.shape)) or '()'}"
    if isinstance(value, Mapping):
        keys = [str(key) for key in value]
        more = ", ..." if len(keys) > _SHOWN else ""
        return f"a {type(value).__name__} with {', '.join(keys[:_SHOWN]) or 'nothing'}{more}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
