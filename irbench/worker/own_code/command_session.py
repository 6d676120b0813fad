"""A user's command as a session that times itself: it answers requests, or calls in a loop of its own."""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irbench.core.feeds import storable
from irbench.errors import IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.measure.durations import BadDurations, Durations, parse_durations, require_within, window_of
from irbench.measure.ledger import Window
from irbench.spec import Artifact, Io, Load, Program, Scalar
from irbench.spi import Availability, Description, Feed, Outputs, Phases
from irbench.worker.cuda_contexts import uses_cuda
from irbench.worker.own_code.command_process import CommandEnded, CommandProcess, command_words
from irbench.worker.watchdog import MARK, worker_folder

_UNSEEN_CALLS = 2
"""After a command was resumed: the call that it was stopped in, and one whose line it could not write before."""


class Requests:
    """Calls of a command that waits for requests: settle calls and timed ones are a request each."""

    def __init__(self, process: CommandProcess, streams: int) -> None:
        self._process = process
        self._streams = streams

    def take(self, samples: int, settle_calls: int) -> Window:
        """Return the window of so many calls, after untimed ones; with streams, of a multiple of them."""
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
        lines, count = list[Durations](), 0
        while count < calls:
            lines.append(parse_durations(self._process.read_line()))
            count += len(lines[-1].calls_ns)
        elapsed_ns = watch.elapsed_ns
        self._check(lines, count, calls)
        window = window_of(lines)
        require_within(window, elapsed_ns)
        return window

    def _check(self, lines: Sequence[Durations], count: int, calls: int) -> None:
        if count > calls:
            raise BadDurations(
                f"It wrote {count} durations, but {calls} calls were asked for.",
                "Make as many as the request says.",
            )
        if self._streams > 1 and (len(lines) > 1 or lines[0].total_ns is None):
            raise BadDurations(
                f"It makes {self._streams} calls at a time and does not say how long they took together.",
                'Write one line for each request: {"ms": [...], "total_ms": ...}.',
            )


class OwnLoop:
    """Calls of a command that knows nothing of requests, and writes durations as long as it is let run."""

    def __init__(self, process: CommandProcess, line: str, streams: int) -> None:
        if streams > 1:
            raise IrbenchError(
                "A command with several streams must answer requests.", hint="See docs/own-code.md, or use --streams 1."
            )
        self._process = process
        self._waiting = deque(parse_durations(line).calls_ns)

    def take(self, samples: int, settle_calls: int) -> Window:
        """Return the window of so many calls, after untimed ones; without these, of the calls that come next."""
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


def write_arrays(path: Path, artifact: Artifact, feed: Feed) -> None:
    """Write inputs by name, whatever they are called, without pickles and without dtypes of extensions."""
    with zipfile.ZipFile(path, "w") as archive:
        for spec, array in zip(artifact.inputs, feed, strict=True):
            with archive.open(f"{spec.name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, storable(array), allow_pickle=False)


def read_arrays(path: Path, artifact: Artifact) -> Outputs:
    """Return outputs in the order of the artifact's, from a file that a command wrote."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = [spec.name for spec in artifact.outputs]
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise IrbenchError(
                    f"It wrote no output called {missing[0]!r}.", hint=f"It wrote: {', '.join(archive.files)}."
                )
            return [archive[name] for name in names]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise IrbenchError(
            f"Its outputs cannot be read: {error}.", hint="Write them with numpy.savez, by the names of the outputs."
        ) from error


PLACEHOLDERS = ("model", "inputs", "batch", "threads", "streams", "precision")
"""Names that a command may have in braces; the variables of its environment are ``IRBENCH_`` and these in capitals."""

_PROTOCOL = "irbench"
_VERSION = 1


class CommandBackend:
    """Starts a command of the user's."""

    consumes = ("onnx",)

    def __init__(self, name: str, program: Program, feed: Callable[[], Feed]) -> None:
        self.name = name
        self._target = program.target
        self._feed = feed

    def describe(self) -> Description:
        """Say what runs; nothing is known of its runtime."""
        return Description(self.name, self._target, version=None)

    def probe(self) -> Availability:
        """Say that it runs here; nothing is known of its precisions."""
        return Availability(("cpu",), {}, {}, {})

    def import_runtime(self, load: Load, device: str) -> None:
        """Do nothing: its start is a part of compiling."""

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> CommandSession:
        """Start the command, and wait until it can be called."""
        scratch = worker_folder(os.environ.get(MARK, str(os.getpid())))
        scratch.mkdir(exist_ok=True)
        write_arrays(scratch / "inputs.npz", artifact, self._feed())
        with phases("compile"):
            process = _started(self._target, artifact, load, scratch)
            try:
                return CommandSession(process, artifact, load, device, scratch)
            except BaseException:
                process.close()
                raise


class CommandSession:
    """A command that times its own calls.

    The first line that it writes says which kind it is. One that speaks the protocol begins with a greeting, waits for
    requests, and calls only then. Any other calls in a loop of its own and writes durations; it runs only while it is
    its turn, because the whole process group is frozen otherwise, and starts again if it ends.
    """

    def __init__(self, process: CommandProcess, artifact: Artifact, load: Load, device: str, scratch: Path) -> None:
        self._process, self._artifact, self._load, self._device = process, artifact, load, device
        self._scratch = scratch
        line = process.read_line()
        greeting = _greeting(line)
        process.require_own_group()
        self._said = greeting if greeting is not None else {}
        self._calls: Requests | OwnLoop = (
            Requests(process, load.streams) if greeting is not None else OwnLoop(process, line, load.streams)
        )

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the greeting says, and whether outputs are returned."""
        said = self._said.get("effective", {})
        return {
            "precision": None,
            "threads": None,
            "streams": self._load.streams,
            "device": self._device,
            **(said if isinstance(said, Mapping) else {}),
            "returns_outputs": self._returns_outputs,
            **({"uses_cuda": True} if uses_cuda() else {}),
        }

    def open_slots(self, count: int, io: Io) -> Sequence[_CommandSlot]:  # noqa: ARG002 - it decides what it copies
        """Return what answers; all of them are the same command."""
        return [_CommandSlot(self) for _ in range(count)]

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:  # noqa: ARG002 - inputs stay
        """Have the command time its calls; see :class:`irbench.measure.drive.Driver`."""
        return self._calls.take(samples, settle_calls)

    def answer(self) -> Outputs:
        """Make one call, and return its outputs; none from a command that does not return them."""
        if not self._returns_outputs:
            self.drive(self._load.streams, settle_calls=0)
            return ()
        file = self._scratch / "outputs.npz"
        file.unlink(missing_ok=True)
        self._process.write_line(f"answer {file}")
        line = self._process.read_line().strip()
        if line != "ok" or not file.is_file():
            raise IrbenchError(
                f"It wrote {line!r} when it was asked for outputs.", hint=f"Write them to {file.name}, and then: ok"
            )
        return read_arrays(file, self._artifact)

    def close(self) -> None:
        """End the command."""
        self._process.close()

    @property
    def _returns_outputs(self) -> bool:
        return bool(self._said.get("outputs"))


class _CommandSlot:
    def __init__(self, session: CommandSession) -> None:
        self._session = session
        self._answer: Outputs = ()

    def stage(self, feed: Feed) -> None: ...

    def run(self) -> None:
        self._answer = self._session.answer()

    def fetch(self) -> Outputs:
        return self._answer


def _started(target: str, artifact: Artifact, load: Load, scratch: Path) -> CommandProcess:
    values = {
        "model": str(artifact.path),
        "inputs": str(scratch / "inputs.npz"),
        "batch": str(load.batch),
        "threads": str(load.threads or 0),
        "streams": str(load.streams),
        "precision": load.precision,
    }
    environment = {f"IRBENCH_{name.upper()}": value for name, value in values.items()}
    return CommandProcess(command_words(target, values), environment)


def _greeting(line: str) -> Mapping[str, Any] | None:
    """Return the greeting of a command that speaks the protocol; ``None`` for any other first line."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict) or _PROTOCOL not in said:
        return None
    if said[_PROTOCOL] != _VERSION:
        raise IrbenchError(
            f"It speaks version {said[_PROTOCOL]!r} of the protocol.", hint=f"This irbench speaks version {_VERSION}."
        )
    return said
