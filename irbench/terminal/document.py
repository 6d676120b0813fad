"""Write a run in the format of ``--format`` to the file of ``-o``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irbench.core.result import RunDocument


def write_document(
    document: RunDocument,
    folder: Path,
    form: str,
    output: Path | None,
    *,
    intervals: bool = False,
    warnings: bool = False,
    memory: bool = False,
) -> None:
    """Write a run to ``output`` or stdout in one of the formats, a table on demand with intervals or whole warnings.

    With ``memory`` the table is about that in place of speed.

    Raises:
        IrbenchError: The file cannot be written.
    """
    from irbench.runs.document import DocumentView
    from irbench.runs.export import render_document
    from irbench.store.folders import run_argument
    from irbench.terminal.console import print_data, to_text

    if form == "table":
        call = f"irbench show {run_argument(folder)} --warnings"
        view = DocumentView(document, call=call, intervals=intervals, warnings=warnings, memory=memory)
        print_data(to_text(view, to_file=output is not None, crop=False), output)
    else:
        print_data(render_document(document, form), output)
