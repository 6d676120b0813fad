"""``irbench history``: how the figures of a model changed over the stored runs of a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from irbench.cli.options.completion import BACKEND, MODEL_NAME, RUN
from irbench.cli.options.declared import strict_option
from irbench.cli.options.formats import OUTPUT, RESULTS
from irbench.cli.options.groups import OneOf
from irbench.cli.options.types import CONDITION, COUNT, DURATION

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
@click.option("--backend", type=BACKEND, metavar="NAME", help="Only rows of this backend.")
@click.option(
    "--machine", metavar="ID", help="Fingerprint, or its beginning. [default: machine of the newest run of the model]"
)
@click.option("--since", type=DURATION, help="Only runs no older than this, for example 90d.")
@click.option("--limit", type=COUNT, metavar="N", help="Only the newest N runs.")
@click.option(
    "--fail-on",
    type=CONDITION,
    multiple=True,
    help="Exit with 1 if the last confirmed change is more, or the total change since the oldest run: p50>5%, fps<-3%;"
    " with 6 if that cannot be judged. May be repeated.",
)
@click.option("--since-run", type=RUN, help="Take the total change since this run. [default: the oldest shown]")
@strict_option("a condition is undecided")
@click.option("--format", "form", type=OneOf(["table", "json", "md"]), default="table", show_default=True)
@OUTPUT
@RESULTS
def command(form: Literal["table", "json", "md"], output: Path | None, strict: bool, **options: Any) -> int:
    """Show how latency, FPS, size, compile time and memory of a model changed.

    MODEL is a model's name as `irbench results` shows it; the default is that of the newest run. All runs on the same
    machine count, oldest first. A change of level is found by a permutation test among the newest 250 runs, and is
    confirmed when three runs lie on the new level; until then, and for a single run that stands out, measure again.

    With --fail-on, two changes are judged: the last confirmed one, and the total, from the oldest four runs to the
    newest four, so that many small steps fail too. The exit code is 1 if a condition is met, and 6 if one could not be
    judged, as with fewer than eight runs.
    """
    from irbench.api.history import HistoryOptions, history_with
    from irbench.cli.output.console import print_data, to_text
    from irbench.cli.output.gates import say_unjudged

    found = history_with(HistoryOptions(**options), _say_what_takes_time)
    text = to_text(found.__rich__(), to_file=output is not None) if form == "table" else found.to_text(form)
    print_data(text, output)
    say_unjudged(found.history.unjudged, regressed=found.regressed, is_shown=form == "table" and output is None)
    return int(found.exit_code(strict=strict))


def _say_what_takes_time(unknown: int) -> None:
    """Say that many runs are read for the first time; later calls read those that changed."""
    from irbench.cli.output.stderr import say

    if unknown >= _MANY:
        say(f"reading {unknown:,} runs that were added or changed since the last history: this is done once")
