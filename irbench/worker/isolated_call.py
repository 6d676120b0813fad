"""A call on a file of unknown origin, in a process forked for it alone: with little memory, and confined.

The worker that forks has imported what the call needs, so that a call costs milliseconds. It never looks at the
answer: these are bytes for the coordinator, which takes plain values from them and nothing else.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

from irbench.system.confinement import Confinement, confine, limit_memory
from irbench.system.signals import die_with_parent
from irbench.worker.exchange.answer_encoding import encoded
from irbench.worker.exchange.wire import CallError, OutOfMemory, Reply, problem_of

_FIRST_DESCRIPTOR = 3
"""Behind stdin, stdout and stderr."""
_LAST_DESCRIPTOR = 1 << 20
_LARGEST_ANSWER_BYTES = 1 << 27
"""Several times what a graph of 250,000 nodes needs; the coordinator holds it as objects, which are larger still."""


@dataclass(frozen=True)
class IsolatedCall:
    """What is called, and with what.

    Attributes:
        target: ``module:function``.
        memory_bytes: What the process may allocate in all.
        imports: Modules to import before the fork: the calls that follow find them there.
        most_answer_bytes: How long its answer may be.
    """

    target: str
    args: tuple[Any, ...]
    memory_bytes: int
    confinement: Confinement
    imports: tuple[str, ...] = ()
    most_answer_bytes: int = _LARGEST_ANSWER_BYTES


@dataclass(frozen=True)
class Ended:
    """How a call ended.

    Attributes:
        answer: A message (:mod:`irbench.worker.exchange.answer_encoding`), not to be trusted. Empty where the process
            ended without one.
        exit_code: What the process ended with; a negative one is a signal's.
        is_too_long: Whether the answer was longer than any that is expected.
    """

    answer: bytes
    exit_code: int
    is_too_long: bool = False


def isolated_call(call: IsolatedCall) -> Ended:
    """Make a call in a fork of this process and return how it ended."""
    for name in call.imports:
        import_module(name)
    module, _, name = call.target.partition(":")
    function = getattr(import_module(module), name)
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        _answer(function, call, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read(call.most_answer_bytes + 1)
    is_too_long = len(answer) > call.most_answer_bytes
    if is_too_long:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return Ended(b"" if is_too_long else answer, os.waitstatus_to_exitcode(status), is_too_long)


def _answer(function: Callable[..., Any], call: IsolatedCall, writing: int) -> NoReturn:
    """Write what a function returns or raises into a pipe, and end; runs in the fork."""
    code = 1
    try:
        die_with_parent()
        os.closerange(_FIRST_DESCRIPTOR, writing)  # the worker's connection among them
        os.closerange(writing + 1, _LAST_DESCRIPTOR)
        answer = _outcome(function, call)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)


def _outcome(function: Callable[..., Any], call: IsolatedCall) -> bytes:
    outcome: Reply | CallError | OutOfMemory
    try:
        limit_memory(call.memory_bytes)
        confine(call.confinement)
        gc.disable()  # it would go through all objects of a large graph again and again, and the process ends soon
        return encoded(Reply(function(*call.args)))
    except MemoryError:
        outcome = OutOfMemory()
    except BaseException as error:  # noqa: BLE001 - every failure must reach the coordinator as a value
        with contextlib.suppress(OSError, MemoryError):  # the log's disk may be full
            traceback.print_exc()
        outcome = problem_of(error)
    return encoded(outcome)
