"""``irbench compare``: whether what was measured last is slower than what was measured before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.errors import IrbenchError
from irbench.features.compare.options import COMPARE, CompareOptions
from irbench.options.values import PageForm, ReportForm
from irbench.terminal.completion import RUN
from irbench.terminal.declared import declared, strict_option
from irbench.terminal.formats import CHARTED_REPORT_FORMAT, OUTPUT, RESULTS

_EXAMPLES = """\b
Examples:
  irbench compare before after
  irbench compare before latest --fail-on 'p50>5%' --fail-on 'peak_memory>50MB' --confirm
  irbench compare main.tar.gz branch.tar.gz --format md -o comment.md
"""


@click.command("compare", epilog=_EXAMPLES)
@click.argument("base", required=False, type=RUN)
@click.argument("new", required=False, default="latest", type=RUN)
@declared(COMPARE)
@strict_option("a condition is undecided")
@CHARTED_REPORT_FORMAT
@OUTPUT
@RESULTS
def command(
    base: str | None,
    new: str,
    strict: bool,
    form: ReportForm | PageForm,
    output: Path | None,
    **options: Any,
) -> int:
    """Compare stored runs row by row.

    BASE and NEW are a run's name, its id or the beginning of its id, its folder, or `latest`; a folder or an archive
    with runs in it; or machine:ID, every stored run of a machine. Rows match if everything that was asked of them is
    equal. Every launch of both sides is used; runs that are damaged or were changed are named and left out.

    Sides of different machines are refused. Other versions, models and settings are listed, because they may be what
    is compared.

    The exit code is 1 if a condition of --fail-on is met, 6 if one could not be judged (too few launches, a row or
    figure that NEW lacks, a busy machine), and 0 if all were judged and none is met.
    """
    from irbench.api.progress import displayed
    from irbench.features.compare.run import compare_with
    from irbench.terminal.report_output import require_writable_form, write_report
    from irbench.terminal.stderr import say_unjudged

    require_writable_form(form, output)
    if base is None:
        raise IrbenchError("BASE is missing.", hint="Name the run to compare with: irbench compare BASE [NEW]")
    request = CompareOptions(base, new, **options)
    with displayed() as reporter:
        comparison = compare_with(request, reporter)
    write_report(comparison, form, output)
    say_unjudged(comparison.unjudged, regressed=comparison.regressed, is_shown=form == "table" and output is None)
    return int(comparison.exit_code(strict=strict))
