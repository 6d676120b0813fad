"""Sessions whose compiled model counts the time in each operator."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from irbench.spec import Artifact, Io, Scalar
from irbench.spi import InferenceProfile, OperatorTime, Refusal, Slot
from irbench_openvino.runtime_graph import RuntimeOperator, read_graph
from irbench_openvino.session import OpenVinoSession

PERF_COUNT = "PERF_COUNT"
"""The property that has a compiled model count time."""
_HALF_NS = 500
"""Half of the microsecond that times are rounded to."""
_EXECUTED = "EXECUTED"
_FUSED = "undef"
"""The kernel of a node that has none, because it is fused into another."""
_UNKNOWN = RuntimeOperator((), (), ())


class CountedRequest:
    """An infer request that knows how many inferences it has made."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self.inferences = 0

    def infer(self) -> None:
        """Make one."""
        self.inferences += 1
        self._request.infer()

    def start_async(self) -> None:
        """Queue one."""
        self.inferences += 1
        self._request.start_async()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


class OpenVinoProfiledSession(OpenVinoSession):
    """One compiled model with one infer request.

    A compiled model tells the mean time in each operator over all inferences since it was made. That of the last ones
    follows from the means before and after them, the more exactly the fewer there were before.

    Args:
        compiled: It was compiled with :data:`PERF_COUNT`, for one stream.
        artifact: What it runs.
        effective: What was read back.
    """

    def __init__(self, compiled: Any, artifact: Artifact, effective: Mapping[str, Scalar]) -> None:
        super().__init__(compiled, artifact, effective)
        self._artifact = artifact
        self._request: CountedRequest | None = None
        self._before: Sequence[Any] = ()
        self._made_before = 0

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        """Return a slot."""
        if count != 1:
            raise Refusal("OpenVINO is profiled one inference at a time.", hint="Leave --streams out.")
        return super().open_slots(count, io)

    def start_profile(self) -> None:
        """Keep the means so far."""
        assert self._request is not None
        self._before, self._made_before = self._request.profiling_info, self._request.inferences

    def finish_profile(self, inferences: int) -> Sequence[InferenceProfile]:
        """Return the mean of all inferences since; see :class:`irbench.spi.ProfiledSession`."""
        assert self._request is not None
        made = self._request.inferences
        if made - self._made_before != inferences:
            raise Refusal(
                f"OpenVINO made {made - self._made_before} inferences, not {inferences}.", hint="Profile them again."
            )
        operators = tuple(self._operators(self._request.profiling_info, made))
        return (InferenceProfile(operators, inferences, uncertainty_ns(self._made_before, made)),)

    def _operators(self, after: Sequence[Any], made: int) -> Iterator[OperatorTime]:
        for start, end in zip(self._before, after, strict=True):
            known = self._graph.get(end.node_name, _UNKNOWN)
            # one that takes less than a microsecond is said not to have been executed
            if end.status.name == _EXECUTED or (known.nodes and end.exec_type != _FUSED):
                yield OperatorTime(
                    name=end.node_name,
                    kind=end.node_type,
                    duration_ns=mean_ns(start.real_time, end.real_time, self._made_before, made),
                    nodes=known.nodes,
                    implementation=end.exec_type,
                    inputs=known.inputs,
                    outputs=known.outputs,
                )

    @cached_property
    def _graph(self) -> Mapping[str, RuntimeOperator]:
        return read_graph(self._compiled.get_runtime_model(), self._artifact.path)

    def _create_request(self) -> Any:
        self._request = CountedRequest(super()._create_request())
        return self._request


def mean_ns(before: timedelta, after: timedelta, made_before: int, made: int) -> int:
    """Return the mean time of the inferences after the first ones, in nanoseconds.

    The means are of whole microseconds, rounded down: each is taken as half a microsecond more, zero too. An operator
    that has zero both times does nothing, or less than can be told. See :func:`uncertainty_ns`.
    """
    if not before and not after:
        return 0
    total_ns = made * _middle_ns(after) - made_before * _middle_ns(before)
    return max(0, round(total_ns / (made - made_before)))


def uncertainty_ns(made_before: int, made: int) -> int:
    """Return by how much such a mean may be off, because both means are rounded by half a microsecond."""
    return math.ceil(_HALF_NS * (made + made_before) / (made - made_before))


def _middle_ns(mean: timedelta) -> int:
    return round(mean.total_seconds() * 1e9) + _HALF_NS
