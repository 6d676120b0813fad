"""Documents whose examples are followed: their fenced blocks one after the other, in a folder, as a reader would.

A block of ``bash`` is typed, and one of ``python`` is a script that is run. A block of any language whose first line is
a comment with the name of a file is saved to that file. ``<!-- needs: network, torch -->`` on the line before a block
says what it needs besides irbench with all its backends: ``network``, ``gpu``, a program, or a package of Python. Where
something of that is missing the block is only read, and the test puts there what it would have made.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import small_calls

from irbench.cli import cli

_FENCE = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^>]+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"# (\S*[.]\w+|Dockerfile)")
_NEVER_HERE = {"network", "gpu"}
_GATES = {"compare": {1, 4, 6}, "gate": {1, 6}, "history": {1, 4, 6}, "receipt": {2}, "replay": {1, 2, 4}}
"""Exit codes of commands that judge a machine, besides 0: which of them it is depends on the machine.

A short run on a busy one decides nothing, and then no receipt is written.
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and what it needs besides irbench."""

    language: str
    text: str
    needs: tuple[str, ...]

    @property
    def file(self) -> str | None:
        """The file that it is to be saved to."""
        named = _FILE.fullmatch(self.text.partition("\n")[0])
        return named[1] if named else None

    @property
    def calls(self) -> list[str]:
        """Its calls of irbench, each on one line, without what the shell does with their output."""
        if self.language != "bash":
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [_until_operator(line.strip()) for line in lines if line.strip().startswith("irbench ")]

    def runs_here(self) -> bool:
        """Whether all that it needs is there."""
        return all(name not in _NEVER_HERE and _is_there(name) for name in self.needs)


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    return [
        Block(found["language"], found["text"], tuple(re.findall(r"[^\s,]+", found["needs"] or "")))
        for found in _FENCE.finditer(text)
    ]


def understand(call: str) -> None:
    """Read a call to its last argument, as the command line does before it obeys."""
    command: click.Command = cli
    parent, arguments = None, shlex.split(call)[1:]
    while arguments or isinstance(command, click.Group):  # the name of a command alone is no call
        try:
            context = command.make_context(command.name, arguments, parent)
        except click.exceptions.Exit:  # --help and --version
            return
        if not isinstance(command, click.Group) or not (rest := [*context._protected_args, *context.args]):
            return
        _, found, arguments = command.resolve_command(context, rest)
        assert found is not None
        command, parent = found, context


def _is_there(name: str) -> bool:
    return shutil.which(name) is not None or find_spec(name) is not None


def _until_operator(line: str) -> str:
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    kept: list[str] = []
    for word in words:
        if set(word) <= set(";|&<>()"):
            break
        kept.append(word)
    return shlex.join(kept)


@dataclass
class Reader:
    """Somebody who follows a document in a folder, with small measurements.

    Attributes:
        folder: Where the reader is.
        programs: A folder for the programs that take the place of installed ones.
        printed: What was printed so far.
    """

    folder: Path
    programs: Path
    printed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.instead_of("irbench", f'exec {shlex.quote(sys.executable)} -P {shlex.quote(small_calls.__file__)} "$@"')

    def instead_of(self, program: str, script: str) -> None:
        """Put a script of the shell in the place of a program."""
        self.programs.mkdir(exist_ok=True)
        path = self.programs / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the reader's shell."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "IRBENCH_RESULTS")}
        path = os.pathsep.join([str(self.programs), str(Path(sys.executable).parent), kept["PATH"]])
        return {**kept, "PATH": path, "IRBENCH_CALLS": str(self._calls), "FAILED_COMMANDS": str(self._failed)}

    @property
    def _calls(self) -> Path:
        return self.programs / "calls.jsonl"

    @property
    def _failed(self) -> Path:
        return self.programs / "failed.txt"

    def follow(self, block: Block) -> None:
        """Save, run or only read a block.

        Raises:
            AssertionError: A command of it failed, and not because of what it judged.
        """
        if block.file is not None:
            (self.folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.file).write_text(block.text)
        elif block.language == "bash" and block.runs_here():
            self.type(block.text)
        elif block.language == "python" and block.runs_here():
            self.type(f"python - <<'END_OF_SCRIPT'\n{block.text}END_OF_SCRIPT\n")
        if block.language == "python":
            compile(block.text, block.file or "a block", "exec")

    def type(self, script: str) -> None:
        """Type commands into the shell, and go on where one fails.

        Raises:
            AssertionError: A command failed, and not because of what it judged.
        """
        noting = 'trap \'echo "$? $BASH_COMMAND" >> "$FAILED_COMMANDS"\' ERR\n'
        done = subprocess.run(
            ["bash", "-c", noting + script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        self.printed += [done.stdout, done.stderr]
        told = f"{script}\n{done.stdout}\n{done.stderr}"
        failed = self._failed.read_text().splitlines() if self._failed.exists() else []
        others = [line for line in failed if line.split()[1] not in ("irbench", "bash")]  # calls are judged below
        assert not others, f"{others}\n{told}"
        for call in self.calls:
            arguments = call["arguments"]
            assert call["code"] in {0, *_GATES.get(arguments[0], ())}, f"{call}\n{told}"

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of irbench so far: code and arguments of each."""
        return [json.loads(line) for line in self._calls.read_text().splitlines()] if self._calls.exists() else []
