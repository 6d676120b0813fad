"""``--format``, ``-o`` and ``--results``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.cli.options.groups import OneOf

__all__ = ["FORMAT", "OUTPUT", "RESULTS", "TABLE_OR_JSON", "OutputFile"]


class OutputFile(click.Path):
    """A path that is refused where it cannot be written, before anything else happens; ``-`` is stdout."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or ``None`` for stdout."""
        from irbench.cli.output.console import check_writable

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
    help="Output format.",
)
TABLE_OR_JSON = click.option(
    "--format",
    "form",
    type=OneOf(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
OUTPUT = click.option(
    "-o", "--output", type=OutputFile(path_type=Path), metavar="FILE", help="Write to FILE instead of standard output."
)
RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of stored runs. [default: IRBENCH_RESULTS, ./results if it is empty or has runs, or your data folder]",
)
