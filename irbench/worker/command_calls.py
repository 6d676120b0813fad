"""How a user's command is made to call: by requests that it answers, or in a loop of its own."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from irbench.errors import IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.measure.durations import BadDurations, Durations, parse_durations, require_within, window_of
from irbench.measure.ledger import Window
from irbench.worker.command_process import CommandEnded, CommandProcess

_UNSEEN_CALLS = 2
"""After a command was resumed: the call that it was stopped in, and one whose line it could not write before."""


class Requests:
    """Calls of a command that waits for requests: settle calls and timed ones are a request each.

    Args:
        process: The command, which has greeted.
        streams: Calls that it makes at a time.
    """

    def __init__(self, process: CommandProcess, streams: int) -> None:
        self._process = process
        self._streams = streams

    def take(self, samples: int, settle_calls: int) -> Window:
        """Return the window of so many calls, after untimed ones; with streams, of a multiple of them.

        Raises:
            BadDurations: What it wrote is not so many durations.
            CommandEnded: It ended.
        """
        if settle_calls:
            self._run(max(settle_calls, self._streams))
        return self._run(samples)

    def _run(self, calls: int) -> Window:
        calls = math.ceil(calls / self._streams) * self._streams
        waiting = self._process.discard_waiting()
        if waiting.strip():
            shown = waiting[:60].decode(errors="replace").strip()
            raise BadDurations(f"It wrote {shown!r} without a request.", "Write a line for each call, and no more.")
        watch = Stopwatch()
        self._process.write_line(f"run {calls}")
        lines, made = list[Durations](), 0
        while made < calls:
            lines.append(parse_durations(self._process.read_line()))
            made += len(lines[-1].calls_ns)
        elapsed_ns = watch.elapsed_ns
        self._check(lines, made, calls)
        window = window_of(lines)
        require_within(window, elapsed_ns)
        return window

    def _check(self, lines: Sequence[Durations], made: int, calls: int) -> None:
        if made > calls:
            raise BadDurations(
                f"It wrote {made} durations, but {calls} calls were asked for.",
                "Make as many as the request says.",
            )
        if self._streams > 1 and (len(lines) > 1 or lines[0].total_ns is None):
            raise BadDurations(
                f"It makes {self._streams} calls at a time and does not say how long they took together.",
                'Write one line for each request: {"ms": [...], "total_ms": ...}.',
            )


class OwnLoop:
    """Calls of a command that knows nothing of requests, and writes durations as long as it is let run.

    Args:
        process: The command.
        line: The first that it wrote.
        streams: Calls that it makes at a time, which must be 1.

    Raises:
        BadDurations: The line holds none.
        IrbenchError: There are several streams.
    """

    def __init__(self, process: CommandProcess, line: str, streams: int) -> None:
        if streams > 1:
            raise IrbenchError(
                "A command with several streams must answer requests.", hint="See docs/own-code.md, or use --streams 1."
            )
        self._process = process
        self._waiting = deque(parse_durations(line).calls_ns)

    def take(self, samples: int, settle_calls: int) -> Window:
        """Return the window of so many calls, after untimed ones; without these, of the calls that come next.

        Raises:
            BadDurations: It wrote something else.
            CommandEnded: It ended with an error, or without a duration.
        """
        watch = Stopwatch()
        if settle_calls:
            self._process.discard_waiting()
            self._waiting.clear()
            for _ in range(_UNSEEN_CALLS + settle_calls):
                self._next()
        window = window_of([Durations(tuple(self._next() for _ in range(samples)))])
        if settle_calls:
            require_within(window, watch.elapsed_ns)
        return window

    def _next(self) -> int:
        began = False
        while not self._waiting:
            try:
                self._waiting.extend(parse_durations(self._process.read_line()).calls_ns)
            except CommandEnded as ended:
                if ended.code != 0 or began:
                    raise
                self._process.restart()
                began = True
        return self._waiting.popleft()
