"""A fixture that checks tables of views: each fits terminals of 60 columns and more, and cuts no word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from whole_words import require_whole_words

from irbench.render.table import TextTable

_WIDTHS = (60, 80, 100)
_UNIT = Path(__file__).parent / "unit"
_WITHOUT_VIEW_IN_NAME = (
    "across_runs/test_texts.py",
    "features/profile/test_interchange.py",
    "notices/test_bundle_notices.py",
)
"""Modules that are checked like all of ``render``, and those of features that have ``view`` in their names."""

_OF_ANY_WORDS = ("render/test_table.py", "render/test_hostile_text.py")
"""Modules whose tables are made of words that nobody would write, or of more of them than a line has room for."""

_MADE_FOR_A_WIDTH = (
    "features/cost/test_view.py",
    "features/profile/test_view.py",
    "features/profile/views/test_counter_table.py",
)
"""Modules whose tables were divided for the terminal that they are displayed on."""

for _module in (*_WITHOUT_VIEW_IN_NAME, *_OF_ANY_WORDS, *_MADE_FOR_A_WIDTH):
    assert (_UNIT / _module).is_file(), f"{_module} has another name or is gone"


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
    path = request.path.relative_to(_UNIT)
    module = path.as_posix()
    if module in _OF_ANY_WORDS or not _is_checked(path):
        return
    for table, displayed_at in displayed:
        for width in (displayed_at,) if module in _MADE_FOR_A_WIDTH else _WIDTHS:
            require_whole_words(table, width)


def _is_checked(path: Path) -> bool:
    folder, *folders = path.parent.parts
    has_view = not {"view", "views"}.isdisjoint((*folders, *path.stem.split("_")))
    return folder == "render" or (folder == "features" and has_view) or path.as_posix() in _WITHOUT_VIEW_IN_NAME
