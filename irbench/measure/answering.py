"""The other end of ``--cell "name=command"``: what a program in Python calls to answer irbench's requests.

It imports nothing but the standard library, unless outputs are asked for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TextIO

from irbench.measure.clock import now_ns

_VERSION = 1


def answer_requests(
    call: Callable[[], object] | None = None,
    *,
    run: Callable[[int], Mapping[str, float | Sequence[float]]] | None = None,
    outputs: Callable[[], Mapping[str, Any]] | None = None,
    effective: Mapping[str, str | int | float | bool | None] | None = None,
    replies: TextIO | None = None,
) -> None:
    """Answer the requests of irbench until it ends: the last thing that a command of ``--cell`` calls.

    Args:
        call: One inference; each is timed here.
        run: Makes so many calls and returns how long they took, where they are timed elsewhere: ``{"ms": [...]}``, with
            ``total_ms`` for concurrent calls. Either this or ``call``.
        outputs: Runs one inference on the inputs that irbench gave and returns arrays by the names of outputs; without
            it the row is not verified.
        effective: What is really used, such as ``precision`` and ``threads``.
        replies: Where answers go; standard output unless given, and what else is printed goes to standard error then.

    Raises:
        TypeError: Both ``call`` and ``run`` were given, or neither.
    """
    if (call is None) == (run is None):
        raise TypeError("answer_requests() takes either call or run")
    run = run or _timed(call)
    replies = replies or take_stdout()
    _say(replies, {"irbench": _VERSION, "outputs": outputs is not None, "effective": dict(effective or {})})
    for line in sys.stdin:
        verb, _, argument = line.strip().partition(" ")
        if verb == "run":
            _say(replies, run(int(argument)))
        elif verb == "answer" and outputs is not None:
            import numpy as np

            np.savez(argument, allow_pickle=False, **outputs())
            print("ok", file=replies, flush=True)


def take_stdout() -> TextIO:
    """Return standard output for answers alone: whatever is printed from now on goes to standard error."""
    sys.stdout.flush()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _timed(call: Callable[[], object] | None) -> Callable[[int], Mapping[str, Sequence[float]]]:
    assert call is not None
    inference = call

    def run(calls: int) -> Mapping[str, Sequence[float]]:
        stamps = [0] * (calls + 1)
        stamps[0] = now_ns()
        for index in range(1, calls + 1):
            inference()
            stamps[index] = now_ns()
        return {"ns": [after - before for before, after in pairwise(stamps)]}

    return run


def _say(replies: TextIO, message: Mapping[str, Any]) -> None:
    print(json.dumps(message), file=replies, flush=True)
