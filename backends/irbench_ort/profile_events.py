"""The events of ONNX Runtime's profile: which belong to which inference, and the time in each of them alone."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from irbench.spi import InferenceProfile, OperatorTime, TensorShape

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
class Interval:
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
        run = host_run if "parent_name" in reported_of(event) else own_run
        if event.get("cat") in ("Session", "Node"):
            host_run = own_run
        if run >= 0:
            runs[run].append(event)
    return runs[-count:]


def run_event(run: Iterable[Event]) -> Event:
    """Return the event of a run as a whole."""
    return next(event for event in run if event["name"] == _RUN)


def intervals_of(run: Iterable[Event]) -> list[Interval]:
    """Return what the host did in a run, in the order of the starts, each with the time of those directly within it."""
    hosts = [event for event in run if event.get("cat") == "Session" or _is_node(event)]
    found: list[Interval] = []
    open_on: dict[int, list[Interval]] = {}
    for event in sorted(hosts, key=lambda event: (int(event["ts"]), -int(event["dur"]), _is_node(event))):
        interval = Interval(event)
        around = open_on.setdefault(int(event.get("tid", 0)), [])
        while around and around[-1].end_us <= int(event["ts"]):
            around.pop()
        if around:
            around[-1].inside_us += int(event["dur"])
        around.append(interval)
        found.append(interval)
    return found


def operator_of(interval: Interval, start_us: int, thread: int, contained: Contained) -> OperatorTime:
    """Return an operator with the time that the host spent in it alone."""
    event = interval.event
    reported = reported_of(event)
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
    start_us = int(run_event(run)["ts"])
    threads: dict[int, int] = {}
    return tuple(
        operator_of(interval, start_us, threads.setdefault(int(interval.event.get("tid", 0)), len(threads)), contained)
        for interval in intervals_of(run)
    )


def reported_of(event: Event) -> Mapping[str, Any]:
    """Return what an event tells besides its name and its times."""
    reported: Mapping[str, Any] = event.get("args") or {}
    return reported


def _is_node(event: Event) -> bool:
    return event.get("cat") == "Node" and str(event["name"]).endswith(_NODE_SUFFIX)


def _shapes(reported: Any) -> tuple[TensorShape, ...]:
    """Return what a list of ``{"float": [1, 3]}`` describes; nothing of what is no such list."""
    described = reported if isinstance(reported, list) else []
    return tuple(
        TensorShape(_DTYPES.get(dtype) or str(dtype), tuple(shape))
        for tensor in described
        if isinstance(tensor, dict)
        for dtype, shape in tensor.items()
    )
