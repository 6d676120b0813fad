"""Options of the commands that count with perf."""

from __future__ import annotations

from functools import partial

import click

from irbench.api.counter_options import timeline_s
from irbench.cli.options.completion import offer_list
from irbench.cli.options.types import Parsed, with_unit
from irbench.counters import GROUPS, parse_counters

__all__ = ["COUNTERS", "TIMELINE"]


def _known(_begun: str) -> tuple[str, ...]:
    return (*GROUPS, "topdown-l2")


COUNTERS = click.option(
    "--counters",
    type=Parsed("a,b", parse_counters, partial(offer_list, _known)),
    help="Also count with perf, in launches of their own: software, ipc, cache, branch, topdown, topdown-l2, or events"
    " that perf list names.",
)
TIMELINE = click.option(
    "--timeline",
    type=Parsed("100ms", partial(with_unit, timeline_s)),
    help="With --counters: also show counts over time, in steps of this length.",
)
