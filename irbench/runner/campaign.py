"""A whole run: all groups and launches, stored after each, until the results are precise enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from irbench.measure.clock import Stopwatch
from irbench.measure.core_to_core import CoreLink
from irbench.measure.lock import Holder
from irbench.result import RunDocument
from irbench.runner.comparison import Comparison, GroupContext
from irbench.runner.continuation import GroupSoFar, without_unfinished
from irbench.runner.counted import count_tables
from irbench.runner.neighbours import busy_neighbours
from irbench.runner.plan import PlannedGroup
from irbench.runner.progress import Listener
from irbench.runner.request import RunRequest
from irbench.runner.schedule import UNTIL_PRECISE, Schedule
from irbench.store import RunWriter
from irbench.system import host


def run(
    request: RunRequest,
    groups: Sequence[PlannedGroup],
    scratch: Path,
    writer: RunWriter,
    listen: Listener,
    others: Callable[[], Sequence[Holder]],
    so_far: GroupSoFar | None = None,
    schedule: Schedule = UNTIL_PRECISE,
) -> RunDocument:
    """Measure the planned groups and return the document, which is also in the store.

    An interrupt ends the run; every finished launch is in the document, whose last group says so.

    Args:
        request: What was asked for.
        groups: What is measured, from :func:`irbench.runner.plan.plan`.
        scratch: A folder that is gone after the run.
        writer: An open run of the store; groups that it has are finished.
        listen: Receives progress, between rounds only.
        others: Returns who else has been measuring on this machine; asked between launches only.
        so_far: Launches of the first group that is not finished, where the run goes on.
        schedule: Decides which cells of a group are launched next, and when it ends.

    Raises:
        IrbenchError: The store cannot be written, or a process that was to keep a processor busy ended.
    """
    finished = without_unfinished(writer.document).groups
    watch = Stopwatch(sum(table.seconds for table in finished))
    weights = [group.weight for group in groups]
    counted = 0 if request.counting is None else sum(weights)  # counted launches get as much time as timed ones
    writer.commit(replace(writer.document, tables_planned=len(groups)))
    busy = busy_neighbours(request.timing.busy_processors, writer.logs)
    with CoreLink(host.allowance(request.cpus).cpus) as link, busy:
        for number, planned in enumerate(groups[len(finished) :], start=len(finished)):
            share = request.with_budget_for(planned.weight, sum(weights[number:]) + counted, watch.elapsed_s)
            context = GroupContext(
                share, writer, listen, others, link, scratch / f"group-{number}", number, so_far, schedule
            )
            result, so_far = Comparison(planned, context).run(), None
            if result.stopped_by == "interrupt":
                return writer.document
    if request.counting is not None and not count_tables(request, groups, scratch, writer, listen):
        return writer.document
    return writer.commit(replace(writer.document, complete=True))
