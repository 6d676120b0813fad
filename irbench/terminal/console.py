"""Where output goes: data to stdout or a file, everything else to stderr."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from irbench.core.plain_text import plain, plain_lines, unmarked
from irbench.errors import IrbenchError
from irbench.system.file_states import is_folder

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_NO_BLANKS = re.compile(r" +$", re.MULTILINE)


def command_line() -> tuple[str, ...]:
    """Return the words of this call, for whoever wants to repeat it."""
    return ("irbench", *sys.argv[1:])


def resumed_command_line() -> str:
    """Return this call with ``--resume``, as a shell reads it: all of its options hold for what is left, too."""
    words = command_line()
    return shlex.join(words if "--resume" in words else (*words, "--resume"))


def err_console() -> Console:
    """Return the console for progress and warnings."""
    from rich.console import Console

    return Console(stderr=True)


def print_data(text: str, output: Path | None) -> None:
    """Write text to ``output``, or to stdout."""
    whole = text if text.endswith("\n") or not text else text + "\n"
    with data_file(output) as target:
        target.write(whole)


def print_lines(text: str) -> None:
    """Write lines to stdout: nothing in them steers a terminal."""
    print_data(plain_lines(unmarked(text)), None)


def confirmed(question: str, *, default: bool = False) -> bool:
    """Ask on stderr, and return the answer."""
    return click.confirm(plain(question), default=default, err=True)


@contextmanager
def data_file(output: Path | None) -> Iterator[TextIO]:
    """Open ``output`` for text, or lend stdout."""
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with output.open("w", encoding="utf-8") as target:
            yield target
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error


def check_writable(output: Path) -> None:
    """Refuse a path that cannot be written, before anything is measured."""
    folder = output.absolute().parent
    if not is_folder(folder):
        raise IrbenchError(
            f"{output} cannot be written: {folder} is not a folder.", hint=f"Make it first: mkdir -p {folder}"
        )
    if is_folder(output):
        raise IrbenchError(f"{output} is a folder.", hint="Name a file in it with -o.")
    try:
        is_there = output.exists()
    except OSError as error:  # a name too long for any file
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error
    if not os.access(output if is_there else folder, os.W_OK):
        raise IrbenchError(
            f"You do not have permission to write {output}.",
            hint="Give another path with -o, or change its permissions.",
        )


def to_text(renderable: RenderableType, *, to_file: bool = False, crop: bool = True) -> str:
    """Return what stdout's console makes of a renderable: colour and wrapping on a terminal, neither elsewhere.

    Outside a terminal a table is as wide as its columns need, unless ``COLUMNS`` says otherwise.

    Args:
        renderable: What to show.
        to_file: Whether the text goes into a file, so that what stdout is does not matter.
        crop: Whether lines end where the terminal does; code to copy must not.
    """
    from rich.console import Console

    from irbench.render.full_width import in_full_width
    from irbench.render.sanitized import Sanitized

    console = Console(no_color=True, color_system=None, force_terminal=False) if to_file else Console()
    if "COLUMNS" not in os.environ and (to_file or not sys.stdout.isatty()):
        in_full_width(console, renderable)
    with console.capture() as capture:
        console.print(Sanitized(renderable), highlight=False, crop=crop)
    text = capture.get()
    return text if console.is_terminal else _NO_BLANKS.sub("", text)
