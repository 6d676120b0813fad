"""The warnings below a table: a short sentence each, or in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irbench.notices import Context, Warn
from irbench.plain_text import plain
from irbench.render.line_wrapping import cell_count
from irbench.render.texts import WarningWords, by_cost, warning_words


def whole_warnings(warnings: Iterable[Warn], context: Context) -> Iterator[str]:
    """Yield all that is to be said of each warning, with its remedy and the code under which it is explained."""
    for words in _words(warnings, context):
        yield plain(f"warning: {words.whole} [{words.code}]")


def short_warnings(warnings: Iterable[Warn], context: Context, width: int) -> Iterator[str]:
    """Yield what is wrong for each warning, and what else there is to say where all fits into ``width`` cells."""
    for words in _words(warnings, context):
        whole = plain(f"warning: {words.whole} [{words.code}]")
        yield whole if cell_count(whole) <= width else plain(f"warning: {words.brief} [{words.code}]")


def is_shortened(warnings: Iterable[Warn], context: Context, width: int) -> bool:
    """Whether some warning has more to say than is shown."""
    return list(whole_warnings(warnings, context)) != list(short_warnings(warnings, context, width))


def _words(warnings: Iterable[Warn], context: Context) -> list[WarningWords]:
    return [warning_words(warning, context) for warning in by_cost(warnings)]
