"""Measure how good the answers of rows are before they are timed, where a limit was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from irbench.api.progress import Say
from irbench.core.record import Failure
from irbench.render.words import accuracy_line, limit_text
from irbench.runner.accuracy_check import checked_group
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import Accuracy, Cell


def with_accuracy(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, say: Say
) -> tuple[PlannedGroup, ...]:
    """Return the groups with the accuracy of each row, without launches for those that miss the limit.

    Args:
        request: What was asked for; without a limit the groups stay as they are.
        groups: What was planned.
        scratch: A folder that is gone after the run.
        say: Receives what comes out.

    Raises:
        IrbenchError: The samples or the outputs do not suit the limit.
    """
    limit = request.accuracy
    if limit is None:
        return tuple(groups)

    def hear(cell: Cell, found: Accuracy | Failure) -> None:
        say(accuracy_line(cell, found))

    deadline = request.timing.deadline_after(0.0)
    say(f"checking outputs: {limit_text(limit)}")
    return tuple(
        checked_group(group, limit, scratch / f"accuracy-{number}", deadline.seconds, hear)
        for number, group in enumerate(groups)
    )
