"""A fixture that checks displayed tables: each fits terminals of 60 columns and more, and cuts no word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from whole_words import require_whole_words

from irbench.render.table import TextTable

_WIDTHS = (60, 80, 100)
_OF_ANY_WORDS = ("render/test_table.py", "render/test_hostile_text.py")
"""Modules whose tables are made of words that nobody would write, or of more of them than a line has room for."""

_MADE_FOR_A_WIDTH = (
    "cost/test_view.py",
    "cost/test_view_widths.py",
    "profile/test_view.py",
    "profile/test_counters_view.py",
)
"""Modules whose tables were divided for the terminal that they are displayed on."""


@pytest.fixture(autouse=True)
def displayed_tables_are_whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check the tables that a test displayed at three widths."""
    displayed: list[tuple[TextTable, int]] = []
    as_lines, as_rich = TextTable.as_lines, TextTable.__rich_console__

    def noted_lines(table: TextTable, width: int) -> Any:
        displayed.append((table, width))
        return as_lines(table, width)

    def noted_rich(table: TextTable, console: Any, options: Any) -> Any:
        displayed.append((table, options.max_width))
        return as_rich(table, console, options)

    monkeypatch.setattr(TextTable, "as_lines", noted_lines)
    monkeypatch.setattr(TextTable, "__rich_console__", noted_rich)
    yield
    monkeypatch.undo()
    module = "/".join(request.path.parts[-2:])
    if module in _OF_ANY_WORDS or not {"render", "view"} & {request.path.parent.name, *request.path.stem.split("_")}:
        return
    for table, displayed_at in displayed:
        for width in (displayed_at,) if module in _MADE_FOR_A_WIDTH else _WIDTHS:
            require_whole_words(table, width)
