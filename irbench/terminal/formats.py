"""``--format``, ``--columns``, ``--roofline``, ``-o`` and ``--results``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from irbench.options import values
from irbench.options.run import RUN
from irbench.render.formats.export_formats import ARCHIVE, FORMATS
from irbench.terminal.completion import offer_list
from irbench.terminal.declared import Decorator, Parsed, declared, format_option

_TEXTS = ("table", "json", "jsonl", "csv", "md")


def _columns(_begun: str) -> tuple[str, ...]:
    from irbench.render.columns import COLUMNS

    return tuple(COLUMNS)


class OutputFile(click.Path):
    """A path that is refused where it cannot be written, before anything else happens; ``-`` is stdout."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or ``None`` for stdout."""
        from irbench.terminal.console import check_writable

        path = Path(str(super().convert(value, param, ctx)))
        if str(path) == "-":
            return None
        check_writable(path)
        return path


def with_pages(*texts: str) -> Decorator:
    """Return ``--format`` of a result that is also written as a page or as charts."""
    return format_option(
        *texts,
        *values.PAGE_FORMS,
        metavar="FORMAT",
        help=f"Output format: {', '.join(texts)}; html, a page with charts; or a file for each chart, in the folder -o:"
        f" {', '.join(values.PAGE_FORMS[1:])}.",
    )


FORMAT = format_option(*_TEXTS)
RUN_FORMAT = format_option(
    *dict.fromkeys((*_TEXTS, *FORMATS)),
    metavar="FORMAT",
    help=f"Output format: {', '.join(_TEXTS)}; or one that other programs read: "
    f"{', '.join(name for name in FORMATS if name not in _TEXTS)}.",
)
EXPORT_FORMAT = format_option(
    ARCHIVE,
    *FORMATS,
    default=None,
    metavar="FORMAT",
    help=f"{ARCHIVE}, {', '.join(FORMATS)}. [default: by the extension of FILE: {ARCHIVE} for .tar.gz]",
)
TABLE_OR_JSON = format_option(*get_args(values.ListingForm))
REPORT_FORMAT = format_option(*get_args(values.ReportForm))
CHARTED_REPORT_FORMAT = with_pages(*get_args(values.ReportForm))
COLUMNS = click.option(
    "--columns",
    type=Parsed("a,b", values.names, partial(offer_list, _columns)),
    default=(),
    help="Columns of csv, md, jsonl, parquet and arrow, in this order; docs/exports.md lists them. [default: all]"
    " The table of `irbench show` takes them too.",
)
OUTPUT = click.option(
    "-o", "--output", type=OutputFile(path_type=Path), metavar="FILE", help="Write to FILE instead of standard output."
)
ROOFLINE = click.option(
    "--roofline",
    is_flag=True,
    help="Also show GFLOP/s, and their share of this machine's peaks, once irbench doctor --peak has measured them.",
)
RESULTS = declared(RUN, "results")
