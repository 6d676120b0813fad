"""Words for what was left out where runs were searched in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irbench.plain_text import plain
from irbench.quantities import plural
from irbench.store.folders import Unsearched, UnsearchedReason

_MOST_LINES = 10

UNSEARCHED_TEXTS: Mapping[UnsearchedReason, str] = {
    "link": "was left out: it is a symbolic link. If you know where it leads, name that folder.",
    "not-a-file": "was left out: it is neither a file nor a folder. Copy what was meant in its place, or remove it.",
    "unreadable": "was left out: it cannot be read. Change its permissions.",
}


def unsearched_text(found: Unsearched) -> str:
    """Return what was left out, why, and what to do about it, in a line."""
    return f"{plain(str(found.path))} {UNSEARCHED_TEXTS[found.reason]}"


def unsearched_lines(found: Sequence[Unsearched]) -> Iterator[str]:
    """Yield a line for each of the first things that were left out, and how many more there are."""
    yield from map(unsearched_text, found[:_MOST_LINES])
    if len(found) > _MOST_LINES:
        yield f"{plural(len(found) - _MOST_LINES, 'more path')} were left out for such reasons."
