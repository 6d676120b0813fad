"""The coordinator's end of a worker: start, ask with a deadline, freeze, thaw, end."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import uuid
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Self

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.measure import freeze
from irbench.measure.clock import Stopwatch
from irbench.measure.nvml import one_gpu
from irbench.system.confinement import Confinement
from irbench.worker.confined_start import confined_environment
from irbench.worker.exchange.answer_decoding import ExpectedReply, NotAsked, decoded, expected_of
from irbench.worker.exchange.wire import CallError, Channel, Reply, Request, Say, unpickled
from irbench.worker.failures import (
    CallFailed,
    WorkerDied,
    WorkerTimedOut,
    crash_signal,
    how_it_ended,
    unreadable_answer,
)
from irbench.worker.interpreters import worker_process
from irbench.worker.scratch import scratch_folder
from irbench.worker.shown_variables import shown_variables
from irbench.worker.watchdog import MARK, Offspring, watchdog, worker_folder

_LOG_TAIL_BYTES = 4000
LOOK_S = 5.0
"""How often a worker that gives no answer is looked at; one that stands still at two looks is ended."""
EXIT_GRACE_S = 5.0
"""How long a worker may take to end once it has hung up; a runtime that closes all descriptors hangs up too."""
_OUT_OF_MEMORY = "The machine or its cgroup may be out of memory: use a smaller batch or fewer streams."


class Worker:
    """A fresh process that leads its own session.

    Start it from the coordinator's main thread: the kernel ties its life to the starting thread.

    Args:
        log: Where what it prints is written.
        cpus: The processors that it may use; ``None`` for all.
        environment: Variables to set besides the present ones.
        inherited: Descriptors that it has under the same numbers.
        python: Another interpreter than ours; ``None`` for ours.
        confinement: What it may reach, if it is not to be trusted: it then answers in plain values and arrays.
        shows_all_variables: Whether it sees all of our environment variables; who is confined only sees those of
            runtimes.

    Attributes:
        is_confined: Whether it may answer with anything.
    """

    def __init__(
        self,
        log: Path,
        *,
        cpus: Sequence[int] | None = None,
        environment: Mapping[str, str] | None = None,
        inherited: Sequence[int] = (),
        python: str | None = None,
        confinement: Confinement | None = None,
        shows_all_variables: bool = True,
    ) -> None:
        self.log = log
        command, present = worker_process(python)
        mark = uuid.uuid4().hex
        folder = worker_folder(mark)
        confined = {} if confinement is None else confined_environment(confinement, folder)
        # kernels that CUDA compiles for a GPU are written where a confined worker may write
        caches = {} if confinement is None else {"CUDA_CACHE_PATH": str(folder)}
        inherits_all = shows_all_variables and confinement is None
        read = () if confinement is None else registry.variables()
        variables = present if inherits_all else shown_variables(present, read)
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        arguments = [str(theirs.fileno()), ",".join(map(str, cpus or ()))]
        with theirs, log.open("ab") as output, _started(python, self._channel, folder):
            self._process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(), *inherited),
                start_new_session=True,
                env={**variables, **one_gpu(), **caches, **(environment or {}), **confined, MARK: mark},
            )
        self._exit = os.pidfd_open(self._process.pid)
        self._frozen = False
        self._stood_still = False
        self.is_confined = confinement is not None
        self._awaited: deque[ExpectedReply] = deque()
        self._offspring = Offspring(self._process.pid, mark)
        watchdog().guard(self._offspring)

    @property
    def process_id(self) -> int:
        """The worker's process id, which is its process group's too."""
        return self._process.pid

    @property
    def has_answer(self) -> bool:
        """Whether an answer has arrived that was not received yet."""
        return self._channel.complete

    @property
    def signs(self) -> tuple[int, int]:
        """Descriptors: what becomes readable when more of an answer arrives, and what does when it ends."""
        return self._channel.fileno(), self._exit

    def ask(
        self,
        target: str,
        *args: Any,
        deadline_s: float,
        hold: bool = False,
        say: Callable[[Any], None] | None = None,
        returns: Any = Any,
        says: Any = Any,
    ) -> Any:
        """Call ``target`` in the worker and return what it returned.

        Args:
            target: ``module:function``, or a method's name once an object is held.
            args: Pickled to the worker.
            deadline_s: The worker is killed when it has not taken the request by then, or not answered that long after.
            hold: Keep the result there; later calls by method name belong to it.
            say: Receives the progress; the callee then gets a function to speak with as its last argument.
            returns: The type of what a function returns; another answer of a confined worker is refused.
            says: The type of its progress; other progress of a confined worker is refused too.

        Raises:
            CallFailed: The call raised, or its answer is none.
            WorkerDied: The process ended.
            WorkerTimedOut: The deadline passed.
        """
        self.send(target, *args, deadline_s=deadline_s, hold=hold, talks=say is not None, returns=returns, says=says)
        return self.receive(deadline_s=deadline_s, say=say)

    def send(
        self,
        target: str,
        *args: Any,
        deadline_s: float,
        hold: bool = False,
        talks: bool = False,
        returns: Any = Any,
        says: Any = Any,
    ) -> None:
        """Send a request without waiting for its answer, so that several workers can be busy side by side."""
        self._stood_still = False
        try:
            self._channel.send(Request(target, args, hold, talks), within_s=deadline_s)
        except TimeoutError:
            raise self._late(f"It took no request within {deadline_s:.0f} s and was ended.") from None
        except (BrokenPipeError, ConnectionResetError):
            raise self._death() from None
        self._awaited.append(ExpectedReply(returns, progress=says) if ":" in target else expected_of(target))

    def receive(
        self, *, deadline_s: float, say: Callable[[Any], None] | None = None, watch: Stopwatch | None = None
    ) -> Any:
        """Wait for the answer to :meth:`send`; raises as :meth:`ask` does."""
        watch = watch or Stopwatch()
        while True:
            while not self._channel.complete:
                self._take_in(deadline_s, watch)
            message = self._next()
            if isinstance(message, Say):
                if say is not None:
                    say(message.progress)
                continue
            self._awaited.popleft()
            if isinstance(message, CallError):
                code = message.exit_code
                known = ExitCode(code) if code and code in set(ExitCode) else ExitCode.FAILED_CELL
                raise CallFailed(message.message, hint=message.hint, exit_code=known)
            if not isinstance(message, Reply):
                raise unreadable_answer("it is not a reply")
            return message.value

    def freeze(self) -> None:
        """Stop the worker and all its descendants; returns once the worker has stopped.

        Descendants are signalled at the same time, and stop before they compute anything further.
        Where processes cannot be stopped, it is given a second to come to rest by itself.
        """
        if not freeze.SUPPORTED:
            freeze.wait_until_idle(self.process_id)
            return
        with contextlib.suppress(ProcessLookupError, ChildProcessError):  # the next request finds it dead and says why
            try:
                freeze.freeze(self.process_id)
            except TimeoutError:
                self.kill()
                raise WorkerDied("It could not be frozen and was ended.", log_tail=self.log_tail()) from None
            self._frozen = True
            if self._offspring.stop_escaped():
                watchdog().guard(self._offspring)

    def thaw(self) -> None:
        """Let it run again."""
        if self._frozen:
            self._frozen = False
            with contextlib.suppress(ProcessLookupError):
                freeze.thaw(self.process_id)
            self._offspring.resume_escaped()

    def kill(self) -> None:
        """End the worker and everything it started, frozen or not, and wait for it."""
        if self._channel.closed:
            return
        self._offspring.kill()
        self._process.wait()
        shutil.rmtree(worker_folder(self._offspring.mark), ignore_errors=True)
        watchdog().release(self._offspring)
        self._channel.close()
        os.close(self._exit)

    def log_tail(self) -> str:
        """Return the last of what the worker wrote to stdout and stderr."""
        try:
            with self.log.open("rb") as log:  # which may be larger than memory
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
                return log.read(_LOG_TAIL_BYTES).decode(errors="replace").strip()
        except OSError:
            return ""

    def _next(self) -> Any:
        content = self._channel.next()
        try:
            return decoded(content, self._awaited[0]) if self.is_confined else unpickled(content)
        except Exception as error:
            self._awaited.popleft()
            why = "it is not what was asked for" if isinstance(error, NotAsked) else f"{type(error).__name__}: {error}"
            raise unreadable_answer(why) from error

    def _take_in(self, deadline_s: float, watch: Stopwatch) -> None:
        """Wait for a piece of the answer: a worker can also stop in the middle of one."""
        left_s = deadline_s - watch.elapsed_s
        if left_s <= 0:
            raise self._late(f"It gave no answer within {deadline_s:.0f} s and was ended.")
        if not wait([self._channel.fileno(), self._exit], min(left_s, LOOK_S)):
            self.look()
            return
        try:
            self._channel.take_in(wait=False)
        except (EOFError, OSError):  # also where it has ended and nothing is left to read
            raise self._death() from None

    def look(self) -> None:
        """End a worker that somebody else has stopped: it would give no answer until its deadline.

        Raises:
            WorkerDied: It stands still, as it did at the look before.
        """
        stood_still, self._stood_still = self._stood_still, not self._frozen and freeze.is_stopped(self.process_id)
        if stood_still and self._stood_still:
            self.kill()
            hint = "Something else sent it SIGSTOP or SIGTSTP: leave irbench's processes running."
            raise WorkerDied("It was stopped by a signal and was ended.", hint=hint, log_tail=self.log_tail())

    def _late(self, message: str) -> WorkerTimedOut:
        self.kill()
        return WorkerTimedOut(message, log_tail=self.log_tail())

    def _death(self) -> WorkerDied:
        ended = bool(wait([self._exit], EXIT_GRACE_S))
        tail = self.log_tail()
        self.kill()  # before its exit code is collected, which frees its number for others
        code = self._process.returncode
        hint = _OUT_OF_MEMORY if ended and code == -signal.SIGKILL else ""
        how = how_it_ended(code) if ended else "hung up without an answer and was ended"
        return WorkerDied(f"It {how}.", hint=hint, log_tail=tail, crash=crash_signal(code) if ended else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@contextlib.contextmanager
def _started(python: str | None, channel: Channel, folder: Path) -> Iterator[None]:
    """Leave nothing where a worker does not start; an interpreter that is none is an error of the user's."""
    try:
        yield
    except OSError as error:
        channel.close()
        shutil.rmtree(folder, ignore_errors=True)
        if python is None:
            raise
        raise IrbenchError(f"{python} cannot be started: {error.strerror}.", hint="Name a Python that runs.") from error


_REMARK = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d [\d:.]+: [IW] |WARNING: All log messages before absl")
"""How what libraries log with glog or absl begins where it is not an error: which devices there are, for example."""
_LAST_WORDS = 200


class SharedProcess:
    """A process for several calls one after the other, so that a runtime is imported once for all of them.

    A call of another kind, and one after a failure, begin another process. Use it as a context manager: it ends the
    process.
    """

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._worker: Worker | None = None
        self._kind: Hashable = None

    def serves(self, kind: Hashable) -> bool:
        """Whether a call of that kind would follow another one in its process."""
        return self._worker is not None and kind == self._kind

    def worker(self, kind: Hashable) -> Worker:
        """Return the process for calls of a kind, begun where there is none."""
        if self._worker is None or not self.serves(kind):
            self.end()
            folder = self._open.enter_context(scratch_folder())
            self._worker, self._kind = self._open.enter_context(Worker(folder / "log")), kind
        return self._worker

    def end(self) -> None:
        """End the process, if there is one."""
        self._open.close()
        self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def call_in_worker(
    target: str,
    *args: Any,
    deadline_s: float,
    say: Callable[[Any], None] | None = None,
    environment: Mapping[str, str] | None = None,
    python: str | None = None,
    confinement: Confinement | None = None,
    returns: Any = Any,
    says: Any = Any,
    process: SharedProcess | None = None,
    kind: Hashable = None,
) -> Any:
    """Run one function in a fresh process, or one that other calls have used, and return its result.

    Args:
        target: ``module:function``.
        args: Its arguments, pickled.
        deadline_s: The process is killed when it has not answered by then, a repeated call included.
        say: Receives progress; the function then gets something to speak with as its last argument.
        environment: Variables to set besides the present ones.
        python: Another interpreter than ours; ``None`` for ours.
        confinement: As of :class:`Worker`.
        returns: The type of what it returns; another answer of a confined process is refused.
        says: The type of its progress; other progress of a confined process is refused too.
        process: That of other calls, used again where their ``kind`` is the same. Where the call fails in it after
            another one, it is repeated in a fresh one.
        kind: What must be the same of all calls of a process.

    Raises:
        IrbenchError: What the function raised, with its message, hint and exit code.
        WorkerDied: The process crashed or passed its deadline; the last line of its log is in the hint.
    """
    watch = Stopwatch()

    def ask(worker: Worker) -> Any:
        left_s = deadline_s - watch.elapsed_s
        try:
            return worker.ask(target, *args, deadline_s=left_s, say=say, returns=returns, says=says)
        except WorkerDied as error:
            # the log goes with the folder, so its last line must come along
            lines = [line for line in error.log_tail.splitlines() if _REMARK.match(line) is None]
            last = [f"The last it said: {line[-_LAST_WORDS:]}" for line in lines[-1:]]
            hint = " ".join(filter(None, [error.hint, *last]))
            raise type(error)(error.message, hint=hint, log_tail=error.log_tail, crash=error.crash) from None

    if process is not None:
        was_used = process.serves(kind)
        try:
            return ask(process.worker(kind))
        except IrbenchError as error:
            process.end()
            if not was_used or isinstance(error, WorkerTimedOut) or watch.elapsed_s >= deadline_s:
                raise
    with (
        scratch_folder() as folder,
        Worker(folder / "log", environment=environment, python=python, confinement=confinement) as worker,
    ):
        return ask(worker)
