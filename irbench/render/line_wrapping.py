"""Shorten, wrap and fold text, in terminal cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from rich.cells import cell_len, chop_cells

from irbench.core.plain_text import plain, unmarked

_TO_BE_TYPED = re.compile(r"(.*?: )((?:[A-Z_]+=\S* )*(?:irbench |--|python |pip |uv ).*)")
"""Words, and what is to be typed, which ends a sentence; variables of the environment may be set before it."""

_SEPARATED = re.compile(r"(?<=[/_+.,:;=-])(?=[^/_+.,:;=-])")
"""Where a long name is broken."""
_PIECE = re.compile(
    r"\[[^\]]*\]\S*"  # an interval
    r"|[<>≥≤~] \S+(?: [^\W\d_]\S*)?"  # a bound with its unit
    r"|[-+]?\d(?:[\d.,]*\d)? (?:[^\W\d_]|[%±])\S*"  # a number with its unit or its spread
    r"|\S+"
)
_LONGEST_PROSE = 30
_PROSE = re.compile(r"[(\[\"']*[^\W\d_]+(?:['-][^\W\d_]+)*[)\]\"'.,;:!?]*")


def cell_count(text: str) -> int:
    """Return how many terminal cells a plain text takes; rich would look at each character of ASCII, too."""
    return len(text) if text.isascii() else cell_len(text)


def shorten(text: str, width: int) -> str:
    """Return text on one line of at most ``width`` terminal cells, cut between words where need be."""
    text = plain(text)
    if cell_count(text) <= width:
        return text
    words = text.split()
    while len(words) > 1 and cell_count(f"{' '.join(words)} …") > width:
        words.pop()
    return f"{' '.join(words)} …"


def shorten_middle(text: str, longest: int, head: int) -> str:
    """Return both ends of a long text: runtimes begin an error with where it arose and end it with what it is."""
    if len(text) <= longest:
        return text
    return f"{text[:head].rstrip()} ... {text[len(text) - longest + head :].lstrip()}"


_Words = Callable[[str], str]
_WORDS: ContextVar[_Words] = ContextVar("words", default=unmarked)


@contextmanager
def worded(words: _Words) -> Iterator[None]:
    """Lay sentences out in the words of their reader within the block; cells of tables stay as they are.

    Args:
        words: Returns a sentence as its reader knows the options that it names.
    """
    token = _WORDS.set(words)
    try:
        yield
    finally:
        _WORDS.reset(token)


def wrap(text: str, width: int) -> list[str]:
    """Return sentences as lines of at most ``width`` terminal cells; at least one line, and no word is lost."""
    return _wrapped(_WORDS.get()(text), width)


def _wrapped(text: str, width: int, *, breaks_words: bool = True) -> list[str]:
    """Return text as lines. The standard library counts characters, of which some take two cells."""
    text = plain(text)
    if cell_count(text) <= width:
        return [text]
    lines: list[str] = [""]
    for word in text.split():
        # nothing comes back for a word without width, as a lone accent
        for piece in (_chopped(word, width) if breaks_words else ()) or [word]:
            joined = f"{lines[-1]} {piece}" if lines[-1] else piece
            if cell_count(joined) <= width or not lines[-1]:
                lines[-1] = joined
            else:
                lines.append(piece)
    return lines


def _chopped(word: str, width: int) -> list[str]:
    """Return a word in parts of at most ``width`` terminal cells: behind what separates its parts, if it has such."""
    return [word] if cell_count(word) <= width else filled(_SEPARATED.split(word), width, chop_cells)


def filled(pieces: Iterable[str], width: int, broken: Callable[[str, int], list[str]], gap: str = "") -> list[str]:
    """Return lines with as many pieces as fit.

    Args:
        pieces: What stays together where it fits.
        width: Of a line, in terminal cells.
        broken: Returns the lines of a piece that begins a line.
        gap: What stands between pieces on a line.
    """
    lines: list[str] = []
    for piece in pieces:
        if lines and cell_count(f"{lines[-1]}{gap}{piece}") <= width:
            lines[-1] += f"{gap}{piece}"
        else:
            lines += broken(piece, width)
    return lines


def wrap_message(text: str, width: int) -> list[str]:
    """Return text as lines of at most ``width`` terminal cells, except for long words and a command that it ends with.

    Paths and commands are there to be copied: a command is on a line of its own where it does not fit behind the words,
    and a terminal breaks what is too long without a line break in what is copied.
    """
    text = plain(_WORDS.get()(text))
    match = _TO_BE_TYPED.fullmatch(text)
    if match is None or cell_count(text) <= width:
        return _wrapped(text, width, breaks_words=False)
    words, typed = match.groups()
    lines = _wrapped(words.rstrip(), width, breaks_words=False)
    if cell_count(f"{lines[-1]} {typed}") <= width:
        return [*lines[:-1], f"{lines[-1]} {typed}"]
    return [*lines, typed]


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
    """Return text as lines of at most ``width`` terminal cells; at least one line."""
    text = plain(text)
    parts = parts_of(text, folds_at)
    is_plain = not folds_at.strip() and not breaks_at
    if is_plain and (cell_count(text) <= width or any(cell_count(part) > width for part in parts)):
        return _wrapped(text, width)
    gap = " " if folds_at.endswith(" ") else ""
    return filled(parts, width, partial(_broken, behind=breaks_at), gap) or [""]


def _broken(part: str, width: int, behind: str) -> list[str]:
    if not behind or cell_count(part) <= width:
        return _wrapped(part, width)
    return filled(re.split(f"(?<={re.escape(behind)})", part), width, _wrapped)
