"""What ONNX Runtime's profile says of inferences on CUDA: kernels and copies of the GPU, and what the host did.

A node's own event lasts until its work is handed over, not until it is done, so it is no time of the GPU. A build with
``--enable_cuda_profiling`` has CUPTI record what the GPU did: an event of the category ``Kernel`` for each kernel and
each copy, which stands behind the event of the node that asked for it and names that as its parent. The builds on PyPI
have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from irbench.spi import GpuActivity, InferenceProfile, OperatorTime
from irbench_ort.profile_events import (
    NS_PER_US,
    Contained,
    Event,
    Interval,
    intervals_of,
    operator_of,
    reported_of,
    run_event,
    runs_of,
)

_GPU = "Kernel"
_EXECUTOR = "SequentialExecutor::Execute"
_COPY_IN, _COPY_OUT = "MemcpyHostToDevice", "MemcpyDeviceToHost"


def gpu_inferences_of(events: Sequence[Event], count: int, contained: Contained) -> tuple[InferenceProfile, ...] | None:
    """Return the profiles of the last so many runs on CUDA; ``None`` where fewer were recorded.

    An operator has the time of its kernels and copies on the GPU, or that of the host where it ran on the CPU. The
    runtime's own work on the host is no operator: the GPU computes meanwhile. Without events of the GPU, there are no
    operators.

    Args:
        events: Of the whole session.
        count: How many runs, at least 1.
        contained: See :data:`irbench_ort.profile_events.Contained`.
    """
    runs = runs_of(events, count)
    return None if runs is None else tuple(_Run(run, contained).profile() for run in runs)


@dataclass(frozen=True)
class _Work:
    """Kernels and copies that one event of the host asked for; of ``None`` it is unknown who did."""

    node: Interval | None
    events: Sequence[Event]


class _Run:
    """One inference.

    Args:
        events: In the file's order.
        contained: See :data:`irbench_ort.profile_events.Contained`.
    """

    def __init__(self, events: Sequence[Event], contained: Contained) -> None:
        self._contained = contained
        self._run = run_event(events)
        self._start_us = int(self._run["ts"])
        self._hosts = intervals_of(events)
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
        asked: dict[int, list[Event]] = {}
        unknown: list[Event] = []
        last: Event | None = None
        for event in self._events:
            if event.get("cat") != _GPU:
                last = event
            elif (
                last is not None and last.get("cat") == "Node" and reported_of(event).get("parent_name") == last["name"]
            ):
                asked.setdefault(id(last), []).append(event)
            else:
                unknown.append(event)
        nodes = (interval for interval in self._hosts if interval.is_node)
        works = [_Work(node, asked.get(id(node.event), ())) for node in nodes]
        return [*works, *(_Work(None, (event,)) for event in unknown)]

    def _operator(self, work: _Work) -> OperatorTime:
        if work.node is not None and _is_on_cpu(work.node):
            thread = self._thread(f"host {work.node.event.get('tid', 0)}")
            return operator_of(work.node, self._start_us, thread, self._contained)
        if work.node is None:
            (event,) = work.events
            name = str(event["name"])
            operator = OperatorTime(name, str(reported_of(event).get("op_name") or name), 0, device="cuda")
        else:
            operator = operator_of(work.node, self._start_us, 0, self._contained)
        longest = max(work.events, key=lambda event: int(event["dur"]), default=None)
        return replace(
            operator,
            duration_ns=_total_ns(work.events),
            start_ns=self._start_ns(work.events),
            thread=None if longest is None else self._thread(f"stream {reported_of(longest).get('stream')}"),
            implementation="" if longest is None else str(longest["name"]),
        )

    def _start_ns(self, events: Sequence[Event]) -> int | None:
        """Return when work began; ``None`` where it did not run, or the GPU's clock is not the host's."""
        starts = [int(event["ts"]) for event in events]
        return NS_PER_US * (min(starts) - self._start_us) if starts and self._has_one_clock else None

    @cached_property
    def _has_one_clock(self) -> bool:
        """Whether all that the GPU did lies within the run, which waits for it."""
        end_us = self._start_us + int(self._run["dur"])
        return all(
            self._start_us <= int(event["ts"]) and int(event["ts"]) + int(event["dur"]) <= end_us
            for event in self._on_gpu
        )

    def _thread(self, name: str) -> int:
        return self._threads.setdefault(name, len(self._threads))


def _is_on_cpu(interval: Interval) -> bool:
    return interval.is_node and reported_of(interval.event).get("provider") == "CPUExecutionProvider"


def _total_ns(events: Sequence[Event]) -> int:
    return NS_PER_US * sum(int(event["dur"]) for event in events)


def _busy_ns(events: Sequence[Event]) -> int:
    """Return the time in which a GPU did something: in one stream, one thing after the other."""
    if len({reported_of(event).get("stream") for event in events}) == 1:
        return _total_ns(events)
    busy_us, reached = 0, 0
    for event in sorted(events, key=lambda event: int(event["ts"])):
        end = int(event["ts"]) + int(event["dur"])
        busy_us += max(0, end - max(reached, int(event["ts"])))
        reached = max(reached, end)
    return NS_PER_US * busy_us
