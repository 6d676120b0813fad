"""``irbench history``: how the figures of a model changed over the stored runs of a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.history.options import HISTORY, HistoryOptions
from irbench.options.values import PageForm, ReportForm
from irbench.terminal.completion import MODEL_NAME
from irbench.terminal.declared import declared, strict_option
from irbench.terminal.formats import CHARTED_REPORT_FORMAT, OUTPUT, RESULTS

_MANY = 200
"""So many runs take a second to read, or longer."""

_EXAMPLES = """\b
Examples:
  irbench history resnet50
  irbench history resnet50 --backend ort --since 90d --fail-on 'p50>5%'
  irbench history resnet50 --since-run v1.0 --fail-on 'p50>5%'
"""


@click.command("history", epilog=_EXAMPLES)
@click.argument("model", required=False, type=MODEL_NAME, metavar="[MODEL|FILE.onnx]")
@declared(HISTORY)
@strict_option("a condition is undecided")
@CHARTED_REPORT_FORMAT
@OUTPUT
@RESULTS
def command(form: ReportForm | PageForm, output: Path | None, strict: bool, **options: Any) -> int:
    """Show how the results of a model changed.

    MODEL is a model's name as `irbench results` shows it; the default is that of the newest run. All runs on the same
    machine count, oldest first. A change of level is found by a permutation test among the newest 250 runs, and is
    confirmed when three runs lie on the new level; until then, and for a single run that stands out, measure again.

    With --fail-on, two changes are judged: the last confirmed one, and the total, from the oldest four runs to the
    newest four, so that many small steps fail too. The exit code is 1 if a condition is met, and 6 if one could not be
    judged, as with fewer than eight runs.
    """
    from irbench.features.history.run import history_with
    from irbench.terminal.report_output import require_writable_form, write_report
    from irbench.terminal.stderr import say_unjudged

    require_writable_form(form, output)
    history = history_with(HistoryOptions(**options), _say_what_takes_time)
    write_report(history, form, output)
    say_unjudged(history.history.unjudged, regressed=history.regressed, is_shown=form == "table" and output is None)
    return int(history.exit_code(strict=strict))


def _say_what_takes_time(unknown: int) -> None:
    from irbench.terminal.stderr import say

    if unknown >= _MANY:
        say(f"reading {unknown:,} runs that were added or changed since the last history: this is done once")
