"""The settings of a planned run, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.render.quantities import plural
from irbench.render.table_title import IO_TEXTS
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.system import host

__all__ = ["settings", "too_many_threads"]


def settings(request: RunRequest, groups: Sequence[PlannedGroup]) -> str:
    """Return the threads, the precisions of the rows, and the copies of a run in one line."""
    cells = [cell for group in groups for cell in group.measured]
    precisions = dict.fromkeys(cell.load.precision for cell in cells)
    processors = host.allowance(request.cpus).cpus
    threads = "threads as the runtimes choose" if request.threads is None else plural(request.threads, "thread")
    listing = ",".join(str(cpu) for cpu in processors)
    where = f"{'processor' if len(processors) == 1 else 'processors'} {listing}"
    return f"{threads} on {where} · {', '.join(precisions)} · {IO_TEXTS[request.io]} · seed {request.seed}"


def too_many_threads(request: RunRequest) -> Iterator[str]:
    """Yield a warning where more threads are asked for than can run at a time."""
    processors = len(host.allowance(request.cpus).cpus)
    if request.threads is not None and request.threads > processors:
        yield (
            f"--threads {request.threads} on {plural(processors, 'processor')}: threads will wait for each other;"
            " a warning below the table says how long, unless other programs ran too."
        )
