"""From results to what is shown: renderables and text, printed by nobody here."""

from irbench.render.export import FORMATS, render_document
from irbench.render.group import GroupView
from irbench.render.sentences import incomplete
from irbench.render.table import Column, Row, TextTable

__all__ = ["FORMATS", "Column", "GroupView", "Row", "TextTable", "incomplete", "render_document"]
