"""Fold the cells of a table behind what separates their parts."""

from __future__ import annotations

import re
from functools import partial

from irbench.plain_text import plain
from irbench.render.line_wrapping import cell_count, filled, wrap

_PIECE = re.compile(
    r"\[[^\]]*\]\S*"  # an interval
    r"|[<>≥≤~] \S+(?: [^\W\d_]\S*)?"  # a bound with its unit
    r"|[-+]?\d(?:[\d.,]*\d)? (?:[^\W\d_]|[%±])\S*"  # a number with its unit or its spread
    r"|\S+"
)
_LONGEST_PROSE = 30
_PROSE = re.compile(r"[(\[\"']*[^\W\d_]+(?:['-][^\W\d_]+)*[)\]\"'.,;:!?]*")


def parts_of(text: str, folds_at: str) -> list[str]:
    """Return what belongs on one line each; separators stay at the ends of lines."""
    if not folds_at.strip():
        return pieces_of(text)
    *parts, last = text.split(folds_at)
    return [*(part + folds_at.rstrip() for part in parts), last]


def pieces_of(text: str) -> list[str]:
    """Return what stays on one line: words, intervals, and numbers with their units."""
    return _PIECE.findall(text)


def is_prose(piece: str) -> bool:
    """Return whether it is a word of a language, which is never broken, and no name of a file, a node or a setting."""
    return len(piece) <= _LONGEST_PROSE and _PROSE.fullmatch(piece) is not None


def fold(text: str, width: int, *, folds_at: str = " ", breaks_at: str = "") -> list[str]:
    """Return text as lines of at most ``width`` terminal cells; at least one line.

    Args:
        text: One line.
        width: At least 1.
        folds_at: A space, or what stands between parts that belong on one line.
        breaks_at: What parts are broken behind that are longer than a line, as far as that suffices; may be empty.
    """
    text = plain(text)
    parts = parts_of(text, folds_at)
    is_plain = not folds_at.strip() and not breaks_at
    if is_plain and (cell_count(text) <= width or any(cell_count(part) > width for part in parts)):
        return wrap(text, width)
    gap = " " if folds_at.endswith(" ") else ""
    return filled(parts, width, partial(_broken, behind=breaks_at), gap) or [""]


def _broken(part: str, width: int, behind: str) -> list[str]:
    if not behind or cell_count(part) <= width:
        return wrap(part, width)
    return filled(re.split(f"(?<={re.escape(behind)})", part), width, wrap)
