"""Comma-separated values that a spreadsheet shows: no text in them becomes a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from irbench.core.plain_text import plain

_FORMULA = re.compile(r"\s*[=+\-@]")
_QUANTITY = re.compile(r"\s*[+-]?(\d[\w.,]*(e[+-]\d+)?( ?%)?)?\s*", re.ASCII)


def csv_cell(value: Any) -> Any:
    """Return a value as a cell: numbers as they are, text on one line.

    A text that a spreadsheet would take for a formula (see OWASP, CSV Injection) gets an apostrophe in front. Digits
    with a sign and a unit are no formula, and neither is a lone sign.
    """
    return _text_cell(value) if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def _text_cell(value: str) -> str:
    """Return a text as a cell; raw samples have the same few texts in every row."""
    text = plain(value)
    is_formula = _FORMULA.match(text) is not None and _QUANTITY.fullmatch(text) is None
    return f"'{text}" if is_formula else text


def csv_cells(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values as cells."""
    return tuple(map(csv_cell, values))
