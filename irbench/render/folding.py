"""Fold the cells of a table behind what separates their parts."""

from __future__ import annotations

import re

from irbench.plain_text import plain
from irbench.render.line_wrapping import cell_count, wrap

__all__ = ["fold", "parts_of"]


def parts_of(text: str, folds_at: str) -> list[str]:
    """Return what belongs on one line each; separators stay at the ends of lines."""
    if not folds_at.strip():
        return text.split()
    *parts, last = text.split(folds_at)
    return [*(part + folds_at.rstrip() for part in parts), last]


def fold(text: str, width: int, *, folds_at: str = " ", breaks_at: str = "") -> list[str]:
    """Return text as lines of at most ``width`` terminal cells; at least one line.

    Args:
        text: One line.
        width: At least 1.
        folds_at: A space, or what stands between parts that belong on one line.
        breaks_at: What parts are broken behind that are longer than a line, as far as that suffices; may be empty.
    """
    if not folds_at.strip():
        return wrap(text, width)
    lines: list[str] = []
    gap = " " if folds_at.endswith(" ") else ""
    for part in parts_of(plain(text), folds_at):
        if lines and cell_count(f"{lines[-1]}{gap}{part}") <= width:
            lines[-1] += f"{gap}{part}"
        else:
            lines += _broken(part, width, breaks_at)
    return lines


def _broken(part: str, width: int, behind: str) -> list[str]:
    if not behind or cell_count(part) <= width:
        return wrap(part, width)
    lines: list[str] = []
    for piece in re.split(f"(?<={re.escape(behind)})", part):
        if lines and cell_count(lines[-1] + piece) <= width:
            lines[-1] += piece
        else:
            lines += wrap(piece, width)
    return lines
