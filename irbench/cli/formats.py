"""``--format``, ``-o`` and ``--results``, and writing a run as they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irbench.cli.groups import OneOf

if TYPE_CHECKING:
    from irbench.result import RunDocument

__all__ = ["FORMAT", "OUTPUT", "RESULTS", "OutputFile", "write_document"]


class OutputFile(click.Path):
    """A path that is refused where it cannot be written, before anything else happens; ``-`` is stdout."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or ``None`` for stdout."""
        from irbench.cli.console import check_writable

        path = Path(str(super().convert(value, param, ctx)))
        if str(path) == "-":
            return None
        check_writable(path)
        return path


FORMAT = click.option(
    "--format",
    "form",
    type=OneOf(["table", "json", "jsonl", "csv", "md"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
OUTPUT = click.option("-o", "--output", type=OutputFile(path_type=Path), metavar="FILE", help="Write to FILE instead.")
RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where runs are kept: ./results where that folder exists, or IRBENCH_RESULTS, or your data folder.",
)


def write_document(
    document: RunDocument, form: str, output: Path | None, *, intervals: bool = False, warnings: bool = False
) -> None:
    """Write a run to ``output`` or stdout in one of the formats, a table on demand with intervals or whole warnings.

    Raises:
        IrbenchError: The file cannot be written.
    """
    from irbench.cli.console import print_data, to_text
    from irbench.render import DocumentView, render_document

    if form == "table":
        view = DocumentView(document, intervals=intervals, warnings=warnings)
        print_data(to_text(view, to_file=output is not None), output)
    else:
        print_data(render_document(document, form), output)
