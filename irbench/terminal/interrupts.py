"""Signals that end a run as Ctrl-C does: finished launches are stored, and no worker is left running."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from irbench.terminal.standard_streams import send_nowhere

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""Asked to end, and the terminal was closed."""


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` where a request to end arrives; one that is ignored, as under nohup, stays so."""
    heard: list[int] = []
    shown = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]

    def interrupt(number: int, _frame: object) -> None:
        heard.append(number)
        if number == signal.SIGHUP:
            for descriptor in shown:  # the terminal is closed, and writing to it is an error
                send_nowhere(descriptor)
        if len(heard) == 1:  # such requests come in bursts, and the first is being obeyed
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _ENDINGS}
    obeyed = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in obeyed:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in obeyed:
            signal.signal(number, before[number])
