"""A run as text: its document as JSON, and its tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.core.result import GroupResult, RunDocument
from irbench.errors import IrbenchError
from irbench.render.footer import footer, incomplete, mismatches, not_applicable, whole_warnings
from irbench.render.formats.exported_run import Export
from irbench.render.formats.row_table import row_table
from irbench.render.formats.text_files import as_csv, as_json_lines, as_markdown
from irbench.render.speed_table import context_of, group_table, headline, without_roofline
from irbench.render.table_title import origin_lines, title
from irbench.render.tables_below import tables_below
from irbench.render.text_formats import bullets, heading, markdown_text, without_control_characters
from irbench.runs.run_modes import mode_views
from irbench.store.run_document import encode_document


def render_document(document: RunDocument, form: str) -> str:
    """Return a run as text.

    Args:
        document: The run.
        form: ``json`` (the whole document), ``jsonl`` (a line for each row), ``csv`` (a line for each row, raw
            numbers, empty where nothing was measured) or ``md`` (the tables as people read them, and where they come
            from).

    Raises:
        IrbenchError: It is not one of these.
    """
    if form == "json":
        return without_control_characters(encode_document(document).decode())
    if form == "jsonl":
        return "".join(as_json_lines(row_table([document])))
    if form == "csv":
        return "".join(as_csv(row_table([document])))
    if form == "md":
        parts = (*_tables(document), incomplete(document), bullets(origin_lines(document)))
        return "\n\n".join(part for part in parts if part) + "\n"
    raise IrbenchError(f"{form!r} is not a form of a run.", hint="Forms: table, json, jsonl, csv, md.")


def _tables(document: RunDocument) -> Iterator[str]:
    yield from (_markdown(group, document) for group in document.groups)
    yield from (view.as_markdown().rstrip() for view in mode_views(document))


def _markdown(group: GroupResult, document: RunDocument) -> str:
    group = without_roofline(group)
    context = context_of(group, document.environment, document.plan)
    below = (
        *footer(group, context),
        *mismatches(group, context),
        *not_applicable(group, context),
        *whole_warnings(group.warnings, context),
    )
    named = heading(title(group, document.environment, document.plan), 3)
    tables = [table.as_markdown() for table in (group_table(group), *tables_below(group))]
    parts = (named, markdown_text(headline(group, context)), *tables, bullets(below))
    return "\n\n".join(part for part in parts if part)


def as_documents(export: Export) -> Iterator[str]:
    """Yield the tables of each run as people read them, and where they come from; with chosen columns one table."""
    if export.columns:
        yield from as_markdown(export.table)
        return
    yield "\n".join(render_document(run.document, "md") for run in export.runs)
