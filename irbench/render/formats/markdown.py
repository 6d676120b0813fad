"""Markdown: the tables as people read them, or one table of the columns that were chosen."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.render.export import render_document
from irbench.render.formats.exported_run import Export
from irbench.render.formats.text_tables import as_markdown


def as_documents(export: Export) -> Iterator[str]:
    """Yield the tables of each run, and where they come from; with chosen columns one table of all rows."""
    if export.columns:
        yield from as_markdown(export.table)
        return
    yield "\n".join(render_document(run.document, "md") for run in export.runs)
