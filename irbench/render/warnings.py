"""The warnings below a table: a short sentence each, or in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irbench.core.plain_text import plain
from irbench.notices import Context, Warn
from irbench.notices.warnings import by_cost
from irbench.render.line_wrapping import cell_count


def whole_warnings(warnings: Iterable[Warn], context: Context) -> Iterator[str]:
    """Yield all that is to be said of each warning, with its remedy and the code under which it is explained."""
    for warning in by_cost(warnings):
        yield plain(f"warning: {warning.whole(context)} [{warning.code}]")


def short_warnings(warnings: Iterable[Warn], context: Context, width: int) -> Iterator[str]:
    """Yield what is wrong for each warning, and what else there is to say where all fits into ``width`` cells."""
    ordered = by_cost(warnings)
    for warning, whole in zip(ordered, whole_warnings(ordered, context), strict=True):
        brief = plain(f"warning: {warning.brief(context)} [{warning.code}]")
        yield whole if cell_count(whole) <= width else brief


def is_shortened(warnings: Iterable[Warn], context: Context, width: int) -> bool:
    """Whether some warning has more to say than is shown."""
    return list(whole_warnings(warnings, context)) != list(short_warnings(warnings, context, width))
