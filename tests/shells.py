"""Shells at a pseudo-terminal, in which somebody types ``irbench``, Tab and Enter."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_S = 30.0
"""Far more than a completion takes, also on a busy machine."""
_PROMPT = "READY> "
_STARTS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
_PREPARATIONS = {
    "bash": "PS1='READY> '; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; . {script}",
    "zsh": "PS1='READY> '; autoload -U compinit; compinit -D -u; . {script}",
    "fish": "function fish_prompt; echo 'READY> '; end; source {script}",
}
_PROGRAM = """#!/bin/sh
if [ -n "$_IRBENCH_COMPLETE" ]; then exec {python} -P -m irbench; fi
printf '%s\\0' "$@" > {called}.part && mv {called}.part {called}
"""
"""Completes as irbench does; what it is called with is kept and not obeyed."""


class Shell:
    """A shell with irbench's completion, in a folder.

    Args:
        name: ``bash``, ``zsh`` or ``fish``.
        script: What ``irbench completion`` prints for it.
        folder: The folder that it works in.
        scratch: Another, for what belongs to the test.
    """

    def __init__(self, name: str, script: str, folder: Path, scratch: Path) -> None:
        self._called = scratch / "called"
        (scratch / "script").write_text(script)
        program = scratch / "bin" / "irbench"
        program.parent.mkdir()
        program.write_text(_PROGRAM.format(python=shlex.quote(sys.executable), called=shlex.quote(str(self._called))))
        program.chmod(0o755)
        environment = {
            **os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(scratch), "TERM": "dumb",
            "COLUMNS": "500", "XDG_CONFIG_HOME": str(scratch), "XDG_DATA_HOME": str(scratch),
        }  # fmt: skip
        self._process, self._terminal = _forked(_STARTS[name], folder, environment)
        self._type(_PREPARATIONS[name].format(script=shlex.quote(str(scratch / "script"))) + "; echo IS''SET\r")
        self._shown = ""
        self._wait_for("ISSET", _PROMPT)

    def words_of(self, typed: str, *, ends_with: str) -> list[str]:
        """Type the beginning of a line, Tab and Enter; return what irbench is called with.

        Args:
            typed: The beginning.
            ends_with: What the line shows once it is completed.
        """
        self._called.unlink(missing_ok=True)
        self._type(typed)
        self._type("\t")
        self._wait_for(ends_with)
        self._type("\r")
        deadline = time.monotonic() + PATIENCE_S  # noqa: TID251 - a shell takes its time
        while not self._called.exists():
            assert time.monotonic() < deadline, f"{typed!r} does not call irbench"  # noqa: TID251 - as above
            self._shown += self._read(0.05)
        self._wait_for(_PROMPT)
        return self._called.read_bytes().decode().split("\0")[:-1]

    def _type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _wait_for(self, *wanted: str) -> None:
        """Wait until the terminal has shown one text after the other."""
        deadline = time.monotonic() + PATIENCE_S  # noqa: TID251 - a shell takes its time
        for text in wanted:
            while text not in self._shown:
                assert time.monotonic() < deadline, self._shown  # noqa: TID251 - as above
                self._shown += self._read(0.2)
            self._shown = self._shown.partition(text)[2]

    def _read(self, seconds: float) -> str:
        if not select.select([self._terminal], [], [], seconds)[0]:
            return ""
        return os.read(self._terminal, 2**16).decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)


def _forked(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, int]:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, environment)
    return process, terminal
