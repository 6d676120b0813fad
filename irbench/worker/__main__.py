"""The worker's end: answers one request after the other until the coordinator hangs up."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from typing import Any

from irbench.system.signals import adopt_orphans, die_with_parent
from irbench.worker import CONFINEMENT
from irbench.worker.exchange.wire import CallError, Channel, Reply, Request, Say, problem_of, unpickled


def main() -> None:
    """Serve the descriptor named by the first argument, on the processors named by the second."""
    descriptor, cpus = int(sys.argv[1]), sys.argv[2]
    os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides what an interrupt means
    die_with_parent()
    adopt_orphans()
    if cpus:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    with closing(Channel(socket.socket(fileno=descriptor), dump=_form_of_answers())) as channel:
        _serve(channel)
    # runtimes may hang in their exit handlers, and nothing of ours is left to do
    with contextlib.suppress(OSError):  # the log's disk may be full
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


def _form_of_answers() -> Callable[[object], bytes] | None:
    """Return what makes bytes of answers: of a confined worker nobody takes a pickle."""
    if CONFINEMENT not in os.environ:
        return None
    from irbench.worker.exchange.answer_encoding import encoded  # needs NumPy, which others import with their runtime

    return encoded


def _serve(channel: Channel) -> None:
    resource: Any = None
    while True:
        answer: Reply | CallError
        try:
            while not channel.complete:
                channel.take_in(wait=True)
        except (EOFError, OSError):
            return
        try:
            request: Request = unpickled(channel.next())
            value = _call(request, resource, channel)
            if request.hold:
                resource, value = value, None
            answer = Reply(value)
        except BaseException as error:  # noqa: BLE001 - every failure must reach the coordinator as a value
            answer = _problem(error)
        try:
            channel.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # noqa: BLE001 - what cannot be sent is a failure of the call
            channel.send(_problem(error))


def _call(request: Request, resource: Any, channel: Channel) -> Any:
    if ":" in request.target:
        module, _, name = request.target.partition(":")
        function = getattr(importlib.import_module(module), name)
    else:
        function = getattr(resource, request.target)
    if not request.talks:
        return function(*request.args)
    return function(*request.args, lambda progress: channel.send(Say(progress)))


def _problem(error: BaseException) -> CallError:
    with contextlib.suppress(OSError):  # the log's disk may be full
        traceback.print_exc()
    return problem_of(error)


if __name__ == "__main__":
    main()
