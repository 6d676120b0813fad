"""The events of ONNX Runtime's profile: which belong to which inference, the time in each, and what they say of CUDA.

On CUDA a node's own event lasts until its work is handed over, not until it is done, so it is not time of the GPU. A
build with ``--enable_cuda_profiling`` has CUPTI record what the GPU did: an event of the category ``Kernel`` for each
kernel and each copy, which stands behind the event of the node that asked for it and names that as its parent. The
builds on PyPI have none.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from irbench.spi import GpuActivity, InferenceProfile, OperatorTime, TensorShape

NS_PER_US = 1000
"""The file counts microseconds."""

_RUN = "model_run"
_NODE_SUFFIX = "_kernel_time"
_PROVIDERS = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
_DTYPES = {"float": "float32", "double": "float64"}
"""Element types that ONNX Runtime calls as C does; the others have NumPy's names."""

Event: TypeAlias = Mapping[str, Any]

Contained: TypeAlias = Callable[[str, Mapping[str, Any]], tuple[str, ...]]
"""Returns the labels of the ONNX nodes in a node, by its name and what its event tells of it."""


@dataclass
class HostEvent:
    """An event of the host with the time of those that lie within it.

    Attributes:
        inside_us: Time of the events directly within it, in microseconds.
    """

    event: Event
    inside_us: int = 0

    @property
    def end_us(self) -> int:
        """When it ended, since the session began."""
        return int(self.event["ts"]) + int(self.event["dur"])

    @property
    def alone_ns(self) -> int:
        """Time in it and in nothing within it."""
        return NS_PER_US * max(0, int(self.event["dur"]) - self.inside_us)

    @property
    def is_node(self) -> bool:
        """Whether it is the execution of a node; otherwise it is the runtime's own work."""
        return self.event.get("cat") == "Node"


def read_events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file that a session wrote when its profile ended."""
    events: list[dict[str, Any]] = json.loads(path.read_text(errors="replace"))
    return events


def inferences_of(events: Sequence[Event], count: int, contained: Contained) -> tuple[InferenceProfile, ...] | None:
    """Return the profiles of the last so many runs on the CPU; ``None`` where fewer were recorded.

    Kernels and what lies around them have entries of their own: in a node with a body, and in ONNX Runtime between
    kernels, time is counted without that of the kernels inside.
    """
    runs = runs_of(events, count)
    return None if runs is None else tuple(InferenceProfile(_operators(run, contained)) for run in runs)


def runs_of(events: Sequence[Event], count: int) -> list[list[Event]] | None:
    """Return the events of each of the last so many runs, in the file's order; ``None`` where there are fewer.

    Newer versions write events in the order of their starts, older ones in that of their ends.
    """
    timed = [event for event in events if event.get("ph") == "X" and "ts" in event and "dur" in event]
    starts = sorted(int(event["ts"]) for event in timed if event["name"] == _RUN)
    if len(starts) < count:
        return None
    runs: list[list[Event]] = [[] for _ in starts]
    host_run = -1
    for event in timed:
        own_run = bisect_right(starts, int(event["ts"])) - 1
        # what a GPU did stands behind the event of the host that asked for it; its clock may differ from the host's
        run = host_run if "parent_name" in _reported_of(event) else own_run
        if event.get("cat") in ("Session", "Node"):
            host_run = own_run
        if run >= 0:
            runs[run].append(event)
    return runs[-count:]


def _run_event(run: Iterable[Event]) -> Event:
    return next(event for event in run if event["name"] == _RUN)


def _intervals_of(run: Iterable[Event]) -> list[HostEvent]:
    """Return what the host did in a run, in the order of the starts, each with the time of those directly within it."""
    hosts = [event for event in run if event.get("cat") == "Session" or _is_node(event)]
    intervals: list[HostEvent] = []
    open_on: dict[int, list[HostEvent]] = {}
    for event in sorted(hosts, key=lambda event: (int(event["ts"]), -int(event["dur"]), _is_node(event))):
        interval = HostEvent(event)
        around = open_on.setdefault(int(event.get("tid", 0)), [])
        while around and around[-1].end_us <= int(event["ts"]):
            around.pop()
        if around:
            around[-1].inside_us += int(event["dur"])
        around.append(interval)
        intervals.append(interval)
    return intervals


def operator_of(interval: HostEvent, start_us: int, thread: int, contained: Contained) -> OperatorTime:
    """Return an operator with the time that the host spent in it alone."""
    event = interval.event
    reported = _reported_of(event)
    name = str(event["name"]).removesuffix(_NODE_SUFFIX)
    provider = str(reported.get("provider", ""))
    return OperatorTime(
        name=name,
        kind=str(reported.get("op_name", "")) if interval.is_node else name,
        duration_ns=interval.alone_ns,
        nodes=contained(name, reported) if interval.is_node else (),
        start_ns=NS_PER_US * (int(event["ts"]) - start_us),
        thread=thread,
        device=_PROVIDERS.get(provider, provider or "cpu"),
        inputs=_shapes(reported.get("input_type_shape")),
        outputs=_shapes(reported.get("output_type_shape")),
        is_overhead=not interval.is_node,
    )


def _operators(run: Sequence[Event], contained: Contained) -> tuple[OperatorTime, ...]:
    start_us = int(_run_event(run)["ts"])
    threads: dict[int, int] = {}
    return tuple(
        operator_of(interval, start_us, threads.setdefault(int(interval.event.get("tid", 0)), len(threads)), contained)
        for interval in _intervals_of(run)
    )


def _reported_of(event: Event) -> Mapping[str, Any]:
    reported: Mapping[str, Any] = event.get("args") or {}
    return reported


def _is_node(event: Event) -> bool:
    return event.get("cat") == "Node" and str(event["name"]).endswith(_NODE_SUFFIX)


def _shapes(reported: Any) -> tuple[TensorShape, ...]:
    """Return what a list of ``{"float": [1, 3]}`` describes; nothing where it is not such a list."""
    described = reported if isinstance(reported, list) else []
    return tuple(
        TensorShape(_DTYPES.get(dtype) or str(dtype), tuple(shape))
        for tensor in described
        if isinstance(tensor, dict)
        for dtype, shape in tensor.items()
    )


_GPU = "Kernel"
_EXECUTOR = "SequentialExecutor::Execute"
_COPY_IN, _COPY_OUT = "MemcpyHostToDevice", "MemcpyDeviceToHost"


def gpu_inferences_of(events: Sequence[Event], count: int, contained: Contained) -> tuple[InferenceProfile, ...] | None:
    """Return the profiles of the last so many runs on CUDA; ``None`` where fewer were recorded.

    An operator has the time of its kernels and copies on the GPU, or that of the host where it ran on the CPU. The
    runtime's own work on the host is not an operator: the GPU computes meanwhile. Without events of the GPU, there
    are no operators.
    """
    runs = runs_of(events, count)
    return None if runs is None else tuple(_Inference(run, contained).profile() for run in runs)


@dataclass(frozen=True)
class _Work:
    """Kernels and copies that one event of the host asked for; of ``None`` it is unknown who did."""

    node: HostEvent | None
    events: Sequence[Event]


class _Inference:
    """One inference."""

    def __init__(self, events: Sequence[Event], contained: Contained) -> None:
        self._contained = contained
        self._run = _run_event(events)
        self._start_us = int(self._run["ts"])
        self._hosts = _intervals_of(events)
        self._on_gpu = [event for event in events if event.get("cat") == _GPU]
        self._events = events
        self._threads: dict[str, int] = {}

    def profile(self) -> InferenceProfile:
        works = self._works() if self._on_gpu else []
        most = max((len(work.events) for work in works), default=0)
        return InferenceProfile(
            tuple(map(self._operator, works)), uncertainty_ns=most * NS_PER_US, gpu=self._activity()
        )

    def _activity(self) -> GpuActivity:
        executors = [interval for interval in self._hosts if interval.event["name"] == _EXECUTOR]
        issuing = NS_PER_US * int(executors[0].event["dur"]) if executors else None
        on_cpu = sum(interval.alone_ns for interval in self._hosts if _is_on_cpu(interval))
        known = GpuActivity(issuing_ns=issuing, on_cpu_ns=on_cpu)
        if not self._on_gpu:
            return known
        copy_in, copy_out = (_total_ns(self._copies(name)) for name in (_COPY_IN, _COPY_OUT))
        return replace(
            known,
            kernels_ns=max(0, _busy_ns(self._on_gpu) - copy_in - copy_out),
            copy_in_ns=copy_in,
            copy_out_ns=copy_out,
            rounding_ns=NS_PER_US * len(self._on_gpu),
        )

    def _copies(self, name: str) -> list[Event]:
        return [event for event in self._on_gpu if event["name"] == name]

    def _works(self) -> list[_Work]:
        """Return what each node had done, in the order of their starts, and then what nobody is known to have asked."""
        requests: dict[int, list[Event]] = {}
        unknown: list[Event] = []
        last: Event | None = None
        for event in self._events:
            if event.get("cat") != _GPU:
                last = event
            elif (
                last is not None
                and last.get("cat") == "Node"
                and _reported_of(event).get("parent_name") == last["name"]
            ):
                requests.setdefault(id(last), []).append(event)
            else:
                unknown.append(event)
        nodes = (interval for interval in self._hosts if interval.is_node)
        works = [_Work(node, requests.get(id(node.event), ())) for node in nodes]
        return [*works, *(_Work(None, (event,)) for event in unknown)]

    def _operator(self, work: _Work) -> OperatorTime:
        if work.node is not None and _is_on_cpu(work.node):
            thread = self._thread(f"host {work.node.event.get('tid', 0)}")
            return operator_of(work.node, self._start_us, thread, self._contained)
        if work.node is None:
            (event,) = work.events
            name = str(event["name"])
            operator = OperatorTime(name, str(_reported_of(event).get("op_name") or name), 0, device="cuda")
        else:
            operator = operator_of(work.node, self._start_us, 0, self._contained)
        longest = max(work.events, key=lambda event: int(event["dur"]), default=None)
        return replace(
            operator,
            duration_ns=_total_ns(work.events),
            start_ns=self._start_ns(work.events),
            thread=None if longest is None else self._thread(f"stream {_reported_of(longest).get('stream')}"),
            implementation="" if longest is None else str(longest["name"]),
        )

    def _start_ns(self, events: Sequence[Event]) -> int | None:
        """Return when work began; ``None`` where it did not run, or the GPU's clock is not the host's."""
        starts = [int(event["ts"]) for event in events]
        return NS_PER_US * (min(starts) - self._start_us) if starts and self._has_one_clock else None

    @cached_property
    def _has_one_clock(self) -> bool:
        end_us = self._start_us + int(self._run["dur"])
        return all(
            self._start_us <= int(event["ts"]) and int(event["ts"]) + int(event["dur"]) <= end_us
            for event in self._on_gpu
        )

    def _thread(self, name: str) -> int:
        return self._threads.setdefault(name, len(self._threads))


def _is_on_cpu(interval: HostEvent) -> bool:
    return interval.is_node and _reported_of(interval.event).get("provider") == "CPUExecutionProvider"


def _total_ns(events: Sequence[Event]) -> int:
    return NS_PER_US * sum(int(event["dur"]) for event in events)


def _busy_ns(events: Sequence[Event]) -> int:
    """Return the time in which a GPU did something: in one stream, one thing after the other."""
    if len({_reported_of(event).get("stream") for event in events}) == 1:
        return _total_ns(events)
    busy_us, reached = 0, 0
    for event in sorted(events, key=lambda event: int(event["ts"])):
        end = int(event["ts"]) + int(event["dur"])
        busy_us += max(0, end - max(reached, int(event["ts"])))
        reached = max(reached, end)
    return NS_PER_US * busy_us
