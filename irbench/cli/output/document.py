"""Writing a run as ``--format`` and ``-o`` say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irbench.result import RunDocument

__all__ = ["write_document"]


def write_document(document: RunDocument, form: str, output: Path | None, *, intervals: bool = False) -> None:
    """Write a run to ``output`` or stdout in one of the formats, a table on demand with intervals of its figures.

    Raises:
        IrbenchError: The file cannot be written.
    """
    from irbench.cli.output.console import print_data, to_text
    from irbench.render import GroupView, incomplete, render_document

    if form == "table":
        views = (
            GroupView(group, document.environment, document.plan, intervals=intervals) for group in document.groups
        )
        tables = "\n".join(to_text(view, to_file=output is not None) for view in views) or "The run holds no table.\n"
        text = f"{tables}\n{incomplete(document)}\n" if incomplete(document) else tables
    else:
        text = render_document(document, form)
    print_data(text, output)
