"""Steps that a signal must not cut in half."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["signals_held_back"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Let what is inside finish; a signal that arrives meanwhile is obeyed afterwards.

    Use it in the main thread: only there can handlers be set.
    """
    arrived: list[int] = []
    before = {one: signal.signal(one, lambda number, _: arrived.append(number)) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    for number in arrived[:1]:
        signal.raise_signal(number)
