"""What one asks of a backend of known speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from irbench.spi import Refusal

Wait = Literal["spin", "sleep", "work"]


@dataclass(frozen=True)
class Script:
    """The options, as ``--set`` gives them.

    Attributes:
        call_us: How long one call lasts, in microseconds.
        wait: ``spin`` keeps a processor busy until the call is over; ``sleep`` leaves it free until shortly before,
            so that many streams overlap on few processors; ``work`` computes for so long of its thread's processor
            time, so that a call takes longer where other programs get a share.
        drift: By which fraction calls become slower in each second since the process started.
        launch_sd: Standard deviation of the logarithm of a factor that each process draws again, from the system's
            entropy, and keeps: no seed repeats it.
        stall_ms: How much longer every ``stall_every``-th call lasts, in milliseconds.
        stall_every: Counts the calls of all streams together.
        wrong: What the right outputs are multiplied by.
        beacon: A file that is touched at the beginning of each call, by which another program can tell whether this
            backend runs; none where it is empty.
    """

    call_us: float = 1000.0
    wait: Wait = "spin"
    drift: float = 0.0
    launch_sd: float = 0.0
    stall_ms: float = 0.0
    stall_every: int = 100
    wrong: float = 1.0
    beacon: str = ""

    def duration_ns(self, number: int, elapsed_s: float, factor: float) -> int:
        """Return how long a call lasts, in nanoseconds.

        Args:
            number: Of the call, counted from 1.
            elapsed_s: Since the process started.
            factor: What this process drew for ``launch_sd``.
        """
        call_ns = 1e3 * self.call_us * factor * (1 + self.drift * elapsed_s)
        stall_ns = 1e6 * self.stall_ms if number % self.stall_every == 0 else 0.0
        return round(call_ns + stall_ns)


def read_script(backend: str, options: Mapping[str, str]) -> Script:
    """Return the options of ``backend``, read.

    Raises:
        Refusal: An option is unknown, or its value is not one that it takes.
    """
    read: dict[str, Any] = {}
    for name, text in options.items():
        if name not in _READERS:
            raise Refusal(f"{backend} has no option '{name}'.", hint=f"Options: {', '.join(_READERS)}.")
        form, reader = _READERS[name]
        try:
            read[name] = reader(text)
        except ValueError:
            raise Refusal(f"{backend} cannot take {name}={text}.", hint=f"{name} is {form}.") from None
    return Script(**read)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0:
        raise ValueError(text)
    return value


def _not_negative(text: str) -> float:
    value = _number(text)
    if value < 0:
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _wait(text: str) -> str:
    if text not in get_args(Wait):
        raise ValueError(text)
    return text


_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "call_us": ("a number above 0, in microseconds", _positive),
    "wait": ("spin, sleep or work", _wait),
    "drift": ("a number from 0 on: 0.01 for 1 % slower in each second", _not_negative),
    "launch_sd": ("a number from 0 on: 0.01 for 1 % from process to process", _not_negative),
    "stall_ms": ("a number from 0 on, in milliseconds", _not_negative),
    "stall_every": ("a whole number from 1 on", _count),
    "wrong": ("a number; 1 leaves the outputs right", _number),
    "beacon": ("the path of a file", str),
}
