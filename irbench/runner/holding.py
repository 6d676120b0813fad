"""Steps that a signal must not cut in half."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["signals_held_back"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Let what is inside finish, or raise; a signal that arrives meanwhile is obeyed afterwards in either case.

    Use it in the main thread: only there can handlers be set. Signals that are ignored stay so. Blocking them would
    not do: the kernel then gives them to another thread, and Python runs their handlers in this one all the same.
    """
    arrived: list[int] = []
    holding = True
    found: dict[int, Any] = {one: signal.getsignal(one) for one in _SIGNALS}
    before = {one: handler for one, handler in found.items() if handler not in (None, signal.SIG_IGN)}

    def hold(number: int, _frame: object) -> None:
        if holding:
            arrived.append(number)
        else:  # it came while handlers were put back, and may have left this one
            signal.signal(number, before[number])
            signal.raise_signal(number)

    try:
        for one in before:
            signal.signal(one, hold)
        yield
    finally:
        holding = False
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in arrived[:1]:
            signal.raise_signal(number)
