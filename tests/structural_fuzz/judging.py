"""What a hostile file may lead to: an answer or a refusal, within bounds, and nothing written elsewhere."""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import signal
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import psutil

from irbench.cli import main
from irbench.errors import IrbenchError

from .cases import Call
from .hostile_values import OUTSIDE

_DEADLINE_S = 20
_MEMORY_BYTES = 2 << 30
"""More than what a process of tests has, a call may not allocate."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal takes for a command; a line feed and a tab are none."""
_SHOWN = 300


class Hung(BaseException):
    """A call had not ended at its deadline; no handler of errors may take it for one of its own."""


@dataclass(frozen=True)
class Finding:
    """What no file may lead to.

    Attributes:
        rule: What was broken.
        said: What was seen.
        place: Where, so that findings with one cause are counted once.
        call: What was called.
    """

    rule: str
    said: str
    place: str
    call: Call

    def __str__(self) -> str:
        """Return all of it in one line."""
        return f"{self.rule} at {self.place}: {' '.join(self.call.words)}: {self.said[:_SHOWN]!r}"


def judge(calls: Sequence[Call], folder: Path) -> Finding | None:
    """Make the calls one after the other, and return the first that broke a rule.

    Args:
        calls: What is called.
        folder: Where it is called, whose parent holds nothing else; ``IRBENCH_HOME`` and results lie in it.
    """
    for call in calls:
        finding = _judge(call, folder)
        if finding is not None:
            return finding
    return None


def _judge(call: Call, folder: Path) -> Finding | None:
    out, err = io.StringIO(), io.StringIO()
    try:
        with _called_in(folder), redirect_stdout(out), redirect_stderr(err), _bounded():
            code = _code(call)
    except Hung:
        return Finding("hung", f"no end within {_DEADLINE_S} s", call.words[0], call)
    except MemoryError as error:
        return Finding("memory", str(error), _place(error), call)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what a fuzzer looks for
        return Finding("uncaught", f"{type(error).__name__}: {error}", _place(error), call)
    escaped = _escaped(folder)
    if escaped:
        return Finding("written outside", escaped, call.words[0], call)
    return _said_badly(call, code, out.getvalue(), err.getvalue())


def _said_badly(call: Call, code: int, out: str, err: str) -> Finding | None:
    name = " ".join(call.words[:2])
    if code not in call.codes:
        return Finding("exit code", f"{code}: {err}", name, call)
    if "Traceback" in err or "Traceback" in out:
        return Finding("traceback", err + out, name, call)
    ends = [line.partition(":")[0] for line in err.strip().splitlines()]
    is_unexplained = call.function is None and not out and ("error" not in ends or "hint" not in ends)
    if code == 2 and is_unexplained:
        return Finding("no remedy", err, name, call)
    whole = err + out
    control = _CONTROL.search(whole)
    if control is not None:
        return Finding("control character", whole[max(0, control.start() - 40) : control.end() + 40], name, call)
    return None


def _code(call: Call) -> int:
    """Make a call and return its exit code; what irbench did not expect comes out as it was raised."""
    if call.function is not None:
        try:
            call.function()
        except IrbenchError:
            return 2
        return 0
    try:
        with patch("irbench.cli._unexpected", _raise):
            main(list(call.words))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 1
    raise AssertionError("main always exits")


def _raise(error: Exception) -> int:
    raise error


def _place(error: BaseException) -> str:
    """Return the last line of irbench's own, or of its backends', that an exception passed."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if re.search(r"/(irbench|backends/irbench_\w+)/", frame.filename)]
    last = (own or frames or [None])[-1]
    if last is None:
        return "?"
    name = re.sub(r".*/(?=(?:irbench|irbench_\w+)/)", "", last.filename)
    return f"{name}:{last.lineno} {type(error).__name__}"


def _escaped(folder: Path) -> str:
    """Return what lies where no call writes; nothing where all is well."""
    found = [str(path) for path in folder.parent.iterdir() if path != folder]
    found += [OUTSIDE] if os.path.lexists(OUTSIDE) else []
    return ", ".join(found)


@contextlib.contextmanager
def _called_in(folder: Path) -> Iterator[None]:
    own: Mapping[str, str] = {
        "IRBENCH_HOME": str(folder / "home"),
        "IRBENCH_RESULTS": str(folder / "results"),
        "IRBENCH_LOCK": str(folder / "lock"),
        "COLUMNS": "120",
    }
    with patch.dict(os.environ, own), contextlib.chdir(folder):
        yield


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """Bound the memory that the body may allocate, and end it at a deadline; call it in the main thread."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    before = signal.signal(signal.SIGALRM, _hang)
    resource.setrlimit(resource.RLIMIT_DATA, (psutil.Process().memory_info().data + _MEMORY_BYTES, hard))
    signal.alarm(_DEADLINE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _hang(_number: int, _frame: object) -> None:
    raise Hung
