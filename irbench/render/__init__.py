"""From results to what is shown: renderables and text, printed by nobody here.

What is named here is imported when it is first used: a plain table needs no arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irbench.render.document import DocumentView
    from irbench.render.export import render_document
    from irbench.render.group import GroupView
    from irbench.render.table import Column, Row, TextTable

__all__ = ["Column", "DocumentView", "GroupView", "Row", "TextTable", "render_document"]

_MODULES = {
    "Column": "table",
    "DocumentView": "document",
    "GroupView": "group",
    "Row": "table",
    "TextTable": "table",
    "render_document": "export",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
