"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    """Return a table whose columns but the first are numbers, unless told otherwise."""
    rule = ["---", *(["---:" if numbers else "---"] * (len(heads) - 1))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
