"""From results to what is shown: renderables and text, printed by nobody here."""

from irbench.render.export import FORMATS, render_document
from irbench.render.group import GroupView

__all__ = ["FORMATS", "GroupView", "render_document"]
