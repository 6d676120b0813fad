"""A cell whose runtime records how long each operator takes, while the harness times the same inferences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from irbench.errors import IrbenchError
from irbench.measure.drive import time_calls, time_stages
from irbench.onnx.reading.counterparts import FrameworkOperator, onnx_counterparts
from irbench.onnx.reading.inventory import Inventory, take_inventory
from irbench.spec import Artifact, Io, Scalar
from irbench.spi import InferenceProfile, OperatorTime, ProfiledSession, ProfilingBackend, Session
from irbench.worker.cell import CellTask, Warmed, plain_scalar
from irbench.worker.cell_hosts import RunHost
from irbench.worker.warming import WarmUpRequest
from irbench.worker.watchdog import own_temporary_files

MOST_CALLS = 300
"""Calls of a warm-up, and those that are profiled unless more are asked for.

Some runtimes record from their first call on, into a file of limited length or a mean over all of them, so that a
warm-up must not be much longer than what is profiled.
"""


@dataclass(frozen=True)
class ProfiledRun:
    """Inferences that were profiled.

    Attributes:
        latency_ns: Of each inference, in nanoseconds, from issue to completion: on the harness's clock, with the
            runtime's recording switched on.
        profiles: What the runtime recorded of them, oldest first; their ``averages`` add up to the inferences. Nodes
            are those of the ONNX form of the model where it has one, whatever form the backend read.
        copies_ns: Of each inference on a GPU, how long copying its inputs to the GPU took and copying its outputs back,
            in nanoseconds, as parts of the latency; empty on the CPU.
    """

    effective: Mapping[str, Scalar]
    latency_ns: tuple[int, ...]
    profiles: tuple[InferenceProfile, ...]
    copies_ns: tuple[tuple[int, int], ...] = ()


class PlainHost(RunHost):
    """Holds the session without recording beside a profiled one, and calls it in the same way.

    A call includes the copies of inputs and outputs. On a GPU slots are bound, so that these copies are apart from what
    the runtime does.
    """

    @property
    def _io_of_slots(self) -> Io:
        return "bound" if self._is_on_gpu else super()._io_of_slots

    @property
    def _is_on_gpu(self) -> bool:
        return self._task.cell.device in self._backend.describe().nvidia_devices


class ProfileHost(PlainHost):
    """Holds one cell's profiled session between the coordinator's requests.

    It makes one inference at a time.
    """

    def __init__(self, task: CellTask) -> None:
        super().__init__(task)
        self._profiled: ProfiledSession | None = None
        self._call_ns = math.inf
        if task.cell.load.concurrency > 1:
            raise IrbenchError(
                "Operators are profiled one inference at a time.", hint="Leave --streams and --instances out."
            )
        own_temporary_files()

    def warm_up(self, request: WarmUpRequest | None = None) -> Warmed:
        """Call for the protocol's time, but not as often as would harm the profile."""
        warmed = super().warm_up(replace(request or WarmUpRequest(), look_s=0.0, calls=0, most_calls=MOST_CALLS))
        self._call_ns = warmed.call_ns
        return warmed

    def profile(self, inferences: int) -> ProfiledRun:
        """Profile at least so many inferences, after :meth:`warm_up`; only once.

        Short ones are repeated for about as long as the warm-up lasted, up to :data:`MOST_CALLS`.
        """
        assert self._profiled is not None
        in_time = math.ceil(self._task.timing.warm_up * 1e9 / self._call_ns)
        count = max(inferences, min(MOST_CALLS, in_time))
        for turns in self._turns:
            turns.begin(0)
        (call,) = self._calls()
        self._profiled.start_profile()
        stages_ns = self._time_stages(count) if self._is_on_gpu else None
        latency_ns = time_calls(call, count) if stages_ns is None else stages_ns.sum(axis=1)
        profiles = tuple(self._profiled.finish_profile(count))
        self._require_all(profiles, count)
        return ProfiledRun(
            effective={str(name): plain_scalar(value) for name, value in self._profiled.effective.items()},
            latency_ns=tuple(map(int, latency_ns)),
            profiles=self._with_onnx_names(profiles),
            copies_ns=() if stages_ns is None else tuple((int(copy_in), int(out)) for copy_in, _, out in stages_ns),
        )

    def _time_stages(self, count: int) -> NDArray[np.int64]:
        if self._turning:
            return time_stages(self._turning[0], (), count)
        return time_stages(self._slots[0], self._feeds[0], count)

    def _compile(self, artifact: Artifact) -> Session:
        backend, cell = self._backend, self._task.cell
        if not isinstance(backend, ProfilingBackend):
            raise IrbenchError(
                f"{cell.backend} does not report how long operators take.", hint="Leave it out of --backends."
            )
        self._profiled = backend.compile_profiled(artifact, cell.load, cell.device, self._phases)
        return self._profiled

    def _with_onnx_names(self, profiles: tuple[InferenceProfile, ...]) -> tuple[InferenceProfile, ...]:
        artifact, exported = self._task.cell.artifact, self._workload.bundle.artifact(("onnx",))
        if artifact is None or artifact.kind == "onnx" or exported is None:
            return profiles
        return with_onnx_names(profiles, take_inventory(exported.path), self._backend.describe().operator_kinds)

    def _require_all(self, profiles: Sequence[InferenceProfile], count: int) -> None:
        recorded = sum(profile.averages for profile in profiles)
        if recorded != count:
            raise IrbenchError(
                f"{self._task.cell.backend} recorded {recorded} of {count} inferences.",
                hint="Its profile cannot be used: leave it out of --backends.",
            )


def with_onnx_names(
    profiles: Sequence[InferenceProfile], exported: Inventory, kinds: Mapping[str, str]
) -> tuple[InferenceProfile, ...]:
    """Return profiles whose operators name ONNX nodes instead of those of the framework's graph."""
    executed = dict.fromkeys(_identity(operator) for profile in profiles for operator in profile.operators)
    operators = (FrameworkOperator(kind, nodes, kinds.get(kind, "")) for _, kind, nodes in executed)
    counterparts = onnx_counterparts(operators, exported)
    labels = dict(zip(executed, counterparts, strict=True))
    return tuple(
        replace(
            profile,
            operators=tuple(replace(operator, nodes=labels[_identity(operator)]) for operator in profile.operators),
        )
        for profile in profiles
    )


def _identity(operator: OperatorTime) -> tuple[str, str, tuple[str, ...]]:
    return operator.name, operator.kind, operator.nodes
