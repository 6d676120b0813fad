"""Where output goes: data to stdout or a file, everything else to stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.console import Console, RenderableType
from rich.measure import Measurement

from irbench.errors import IrbenchError

__all__ = ["check_writable", "err_console", "print_data", "to_text"]

_WIDEST = 400


def err_console() -> Console:
    """Return the console for progress and warnings."""
    return Console(stderr=True)


def print_data(text: str, output: Path | None) -> None:
    """Write text to ``output``, or to stdout.

    Raises:
        IrbenchError: The file cannot be written.
    """
    if output is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    try:
        output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from None


def check_writable(output: Path | None) -> None:
    """Refuse a path that cannot be written, before anything is measured.

    Raises:
        IrbenchError: Its folder is missing, or it may not be written.
    """
    if output is None:
        return
    folder = output.resolve().parent
    if not folder.is_dir():
        raise IrbenchError(f"{folder} is no folder.", hint=f"Make it first: mkdir -p {folder}")
    if output.is_dir() or not os.access(output if output.exists() else folder, os.W_OK):
        raise IrbenchError(f"{output} cannot be written.", hint="Give another path with -o.")


def to_text(renderable: RenderableType, *, to_file: bool = False) -> str:
    """Return what stdout's console makes of a renderable: colour and wrapping on a terminal, neither elsewhere.

    Outside a terminal a table is as wide as its columns need, unless ``COLUMNS`` says otherwise.
    """
    console = Console(no_color=True, color_system=None, force_terminal=False) if to_file else Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        needed = Measurement.get(console, console.options.update(max_width=_WIDEST), renderable).maximum
        console.width = max(100, min(_WIDEST, needed))
    with console.capture() as capture:
        console.print(renderable, highlight=False)
    return capture.get()
