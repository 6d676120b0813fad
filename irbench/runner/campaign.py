"""A whole run: all groups and launches, stored after each, until the results are precise enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from irbench.measure.clock import Stopwatch
from irbench.measure.core_to_core import CoreLink
from irbench.measure.lock import Holder
from irbench.result import RunDocument
from irbench.runner.capacity import GroupTooLarge
from irbench.runner.comparison import Comparison, GroupContext
from irbench.runner.continuation import GroupSoFar, without_unfinished
from irbench.runner.other_graph import GraphRefused, with_other_graphs
from irbench.runner.plan import PlannedGroup, split
from irbench.runner.progress import Listener
from irbench.runner.request import RunRequest
from irbench.store import RunWriter
from irbench.system import host

__all__ = ["run"]


def run(
    request: RunRequest,
    groups: Sequence[PlannedGroup],
    scratch: Path,
    writer: RunWriter,
    listen: Listener,
    others: Callable[[], Sequence[Holder]],
    so_far: GroupSoFar | None = None,
) -> RunDocument:
    """Measure the planned groups and return the document, which is also in the store.

    An interrupt ends the run; every finished launch is in the document, whose last group says so.

    Args:
        request: What was asked for.
        groups: What is measured, from :func:`irbench.runner.plan.plan`.
        scratch: A folder that is gone after the run.
        writer: An open run of the store; groups that it has are finished.
        listen: Hears what happens, between rounds only.
        others: Returns who else has been measuring on this machine; asked between launches only.
        so_far: Launches of the first group that is not finished, where the run goes on.

    Raises:
        IrbenchError: The store cannot be written.
    """
    waiting = list(groups[len(without_unfinished(writer.document).groups) :])
    watch = Stopwatch()
    with CoreLink(host.allowance(request.cpus).cpus) as link:
        while waiting:
            share = request.with_budget_for(len(waiting), watch.elapsed_s)
            planned = waiting.pop(0)
            number = len(without_unfinished(writer.document).groups)
            _record_tables(writer, number + 1 + len(waiting))
            context = GroupContext(share, writer, listen, others, link, scratch / f"group-{number}", number, so_far)
            try:
                result, so_far = Comparison(planned, context).run(), None
            except GroupTooLarge as reason:
                waiting = [*split(planned, max(2, len(reason.fitting))), *waiting]
                continue
            except GraphRefused as refused:
                waiting = [with_other_graphs(planned, refused), *waiting]
                continue
            if result.stopped_by == "interrupt":
                return writer.document
    return writer.commit(replace(writer.document, complete=True))


def _record_tables(writer: RunWriter, count: int) -> None:
    """Store how many tables the run is to have, which changes where a group has to be split."""
    if writer.document.tables_planned != count:
        writer.commit(replace(writer.document, tables_planned=count))
