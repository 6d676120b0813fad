"""The operators of a launch's inferences as medians, added to what earlier launches showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from irbench.profiling.record import LaunchLatencies, OperatorProfile, ProfiledCell, TimelineSpan
from irbench.spi.profiling import InferenceProfile, OperatorTime

__all__ = ["with_launch"]

_Key: TypeAlias = tuple[str, str, tuple[str, ...], str, bool]


def with_launch(cell: ProfiledCell, latencies: LaunchLatencies, profiles: Sequence[InferenceProfile]) -> ProfiledCell:
    """Return a cell with one more launch.

    Args:
        cell: With the launches before.
        latencies: Of this launch.
        profiles: Of its inferences, oldest first; at least one.
    """
    before = {_key_of_profile(operator): operator for operator in cell.operators}
    found = _operators(profiles)
    operators = {key: _extended(operator, found.get(key)) for key, operator in before.items()}
    nothing = (0,) * len(cell.launches)
    for key, new in found.items():
        if key not in operators:
            operators[key] = new.as_profile(nothing)
    return replace(
        cell,
        operators=tuple(operators.values()),
        launches=(*cell.launches, latencies),
        timeline=cell.timeline or _timeline(latencies, profiles, {key: place for place, key in enumerate(operators)}),
    )


@dataclass(frozen=True)
class _Operator:
    """An operator over the inferences of a launch."""

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


def _operators(profiles: Sequence[InferenceProfile]) -> Mapping[_Key, _Operator]:
    """Return what each operator took in an inference, in the order in which they were first executed."""
    first: dict[_Key, OperatorTime] = {}
    totals: dict[_Key, list[int]] = {}
    counts: dict[_Key, list[int]] = {}
    for place, profile in enumerate(profiles):
        for operator in profile.operators:
            key = _key(operator)
            first.setdefault(key, operator)
            totals.setdefault(key, [0] * len(profiles))[place] += operator.duration_ns
            counts.setdefault(key, [0] * len(profiles))[place] += 1
    weights = [profile.averages for profile in profiles]
    return {
        key: _Operator(operator, round(_median(counts[key], weights)), round(_median(totals[key], weights)))
        for key, operator in first.items()
    }


def _median(values: Sequence[int], weights: Sequence[int]) -> float:
    """Return the median over inferences, of which a profile may stand for several."""
    return float(np.median(np.repeat(values, weights)))


def _timeline(
    latencies: LaunchLatencies, profiles: Sequence[InferenceProfile], places: Mapping[_Key, int]
) -> tuple[TimelineSpan, ...]:
    """Return the executions of the inference whose latency is the median."""
    middle = int(np.argsort(latencies.profiled_ns, kind="stable")[len(latencies.profiled_ns) // 2])
    ends = np.cumsum([profile.averages for profile in profiles])
    profile = profiles[min(int(np.searchsorted(ends, middle, side="right")), len(profiles) - 1)]
    return tuple(
        TimelineSpan(places[_key(operator)], operator.start_ns, operator.duration_ns, operator.thread)
        for operator in profile.operators
    )


def _key(operator: OperatorTime) -> _Key:
    return operator.name, operator.kind, operator.nodes, operator.device, operator.is_overhead


def _key_of_profile(operator: OperatorProfile) -> _Key:
    return operator.name, operator.kind, operator.nodes, operator.device, operator.is_overhead
