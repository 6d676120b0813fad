"""The operators of a launch's inferences, added to what earlier launches showed.

Of a launch the middle half of its inferences counts, by latency. The time of an operator is its mean over these, and so
is the latency: parts add up to the whole, which medians of parts do not, and a few slow inferences change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.features.profile.gpu import gpu_times
from irbench.features.profile.record import (
    Disturbance,
    LaunchLatencies,
    OperatorProfile,
    ProfiledCell,
    ProfileDocument,
    TimelineSpan,
)
from irbench.notices import Warn
from irbench.notices.warnings import BusyMachine
from irbench.spec import Timing
from irbench.spi.profiling import InferenceProfile, OperatorTime

_Key: TypeAlias = tuple[str, str, tuple[str, ...], str, bool]


@dataclass(frozen=True)
class Launch:
    """What was seen in a launch of a cell.

    Attributes:
        number: Counted from 0.
        profiled_ns: Latency of each profiled call.
        plain_ns: Latency of each call of a session without profiling.
        profiles: Of the profiled calls, oldest first; at least one, and their ``averages`` add up to the calls.
        disturbance: What else happened on the machine.
        copies_ns: Of each profiled call on a GPU, how long its inputs and its outputs were copied; empty on the CPU.
    """

    number: int
    profiled_ns: tuple[int, ...]
    plain_ns: tuple[int, ...]
    profiles: tuple[InferenceProfile, ...]
    disturbance: Disturbance | None = None
    copies_ns: tuple[tuple[int, int], ...] = ()

    @property
    def counted(self) -> NDArray[np.intp]:
        """Places of the calls that count: all of them where the mean of several cannot be taken apart."""
        if len(self.profiles) < len(self.profiled_ns):
            return np.arange(len(self.profiled_ns))
        return middle_half(self.profiled_ns)

    def profile_of(self, calls: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the place of each call's profile."""
        ends = np.cumsum([profile.averages for profile in self.profiles])
        return np.searchsorted(ends, calls, side="right")


def middle_half(latencies_ns: Sequence[int]) -> NDArray[np.intp]:
    """Return the places of the middle half of values by their size, ascending; at least one."""
    quarter = len(latencies_ns) // 4
    order = np.argsort(latencies_ns, kind="stable")
    return np.sort(order[quarter : len(order) - quarter])


def with_launch(cell: ProfiledCell, launch: Launch) -> ProfiledCell:
    """Return a cell with one more launch.

    Args:
        cell: With the launches before.
        launch: What was seen in it.
    """
    before = {_key(operator): operator for operator in cell.operators}
    executed = _operators(launch)
    operators = {key: _extended(operator, executed.get(key)) for key, operator in before.items()}
    nothing = (0,) * len(cell.launches)
    for key, new in executed.items():
        if key not in operators:
            operators[key] = new.as_profile(nothing)
    return replace(
        cell,
        operators=tuple(operators.values()),
        launches=(*cell.launches, _latencies(launch)),
        timeline=cell.timeline or _timeline(launch, {key: place for place, key in enumerate(operators)}),
    )


def _latencies(launch: Launch) -> LaunchLatencies:
    return LaunchLatencies(
        launch=launch.number,
        profiled_ns=launch.profiled_ns,
        plain_ns=launch.plain_ns,
        counted=tuple(map(int, launch.counted)),
        uncertainty_ns=max(profile.uncertainty_ns for profile in launch.profiles),
        disturbance=launch.disturbance,
        gpu=gpu_times(launch.profiles, launch.copies_ns, launch.counted, launch.profile_of(launch.counted)),
    )


@dataclass(frozen=True)
class _Operator:
    """An operator over the inferences of a launch that count."""

    first: OperatorTime
    executions: int
    duration_ns: int

    def as_profile(self, before: tuple[int, ...]) -> OperatorProfile:
        """Return it as an operator that earlier launches did not execute."""
        return OperatorProfile(
            name=self.first.name,
            kind=self.first.kind,
            nodes=self.first.nodes,
            device=self.first.device,
            implementation=self.first.implementation,
            shapes=self.first.outputs,
            is_overhead=self.first.is_overhead,
            executions=self.executions,
            duration_ns=(*before, self.duration_ns),
        )


def _extended(operator: OperatorProfile, found: _Operator | None) -> OperatorProfile:
    return replace(operator, duration_ns=(*operator.duration_ns, 0 if found is None else found.duration_ns))


def _operators(launch: Launch) -> Mapping[_Key, _Operator]:
    """Return what each operator took in an inference, in the order in which they were first executed."""
    first: dict[_Key, OperatorTime] = {}
    totals: dict[_Key, float] = {}
    counts: dict[_Key, float] = {}
    places, calls = np.unique(launch.profile_of(launch.counted), return_counts=True)
    for place, share in zip(places, calls / calls.sum(), strict=True):
        for operator in launch.profiles[place].operators:
            key = _key(operator)
            first.setdefault(key, operator)
            totals[key] = totals.get(key, 0.0) + float(share) * operator.duration_ns
            counts[key] = counts.get(key, 0.0) + float(share)
    return {key: _Operator(operator, round(counts[key]), round(totals[key])) for key, operator in first.items()}


def _timeline(launch: Launch, places: Mapping[_Key, int]) -> tuple[TimelineSpan, ...]:
    """Return the executions of the inference whose latency is the median of those that count."""
    by_latency = sorted(launch.counted, key=lambda place: launch.profiled_ns[place])
    (middle,) = launch.profile_of(np.array([by_latency[len(by_latency) // 2]]))
    return tuple(
        TimelineSpan(places[_key(operator)], operator.start_ns, operator.duration_ns, operator.thread)
        for operator in launch.profiles[middle].operators
    )


def _key(operator: OperatorTime | OperatorProfile) -> _Key:
    return operator.name, operator.kind, operator.nodes, operator.device, operator.is_overhead


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
