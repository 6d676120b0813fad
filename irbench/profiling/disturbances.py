"""What speaks against a profile because of what else ran on the machine: a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irbench.notices import Warn
from irbench.notices.warnings import BusyMachine
from irbench.profiling.record import ProfiledCell, ProfileDocument
from irbench.spec import Timing

_MOST_SHARE = Timing().dirty_foreign_share


def warnings_of(document: ProfileDocument) -> tuple[Warn, ...]:
    """Return the warnings of a profile, also of one that was stored without those of disturbances."""
    missing = (found for found in disturbance_warnings(document.cells) if found not in document.warnings)
    return (*missing, *document.warnings)


def disturbance_warnings(cells: Iterable[ProfiledCell]) -> Iterator[Warn]:
    """Yield a warning where other programs used more of the processors during the launches than a run allows.

    Launches of profiles that stored no evidence count as undisturbed.
    """
    launches = (launch.disturbance for cell in cells for launch in cell.launches)
    found = [disturbance for disturbance in launches if disturbance is not None and disturbance.wall_ns > 0]
    if not found:
        return
    share = sum(each.foreign_cpu_ns for each in found) / sum(each.wall_ns for each in found)
    processors = max(each.processors for each in found)
    if share > _MOST_SHARE * processors:
        yield BusyMachine(foreign_share=share, processors=processors)
