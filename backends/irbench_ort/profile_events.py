"""What ONNX Runtime's profile says of each inference: its events, and the time in each of them alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.spi import InferenceProfile, OperatorTime, TensorShape

__all__ = ["inferences_of", "read_events"]

_RUN = "model_run"
_KERNEL = "_kernel_time"
_NS = 1000
"""The file counts microseconds."""
_PROVIDERS = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
_DTYPES = {"float": "float32", "double": "float64"}
"""Element types that ONNX Runtime calls as C does; the others have NumPy's names."""

Contained = Callable[[str, Mapping[str, Any]], tuple[str, ...]]
"""Returns the labels of the ONNX nodes in a node, by its name and what its event tells of it."""


def read_events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file that a session wrote when its profile ended."""
    events: list[dict[str, Any]] = json.loads(path.read_text(errors="replace"))
    return events


def inferences_of(
    events: Sequence[Mapping[str, Any]], count: int, contained: Contained
) -> tuple[InferenceProfile, ...] | None:
    """Return the profiles of the last so many runs; ``None`` where fewer were recorded.

    Kernels and what lies around them have entries of their own: in a node with a body, and in ONNX Runtime between
    kernels, time is counted without that of the kernels inside.

    Args:
        events: Of the whole session, in the order in which they ended.
        count: How many runs, at least 1.
        contained: See :data:`Contained`.
    """
    timed = [event for event in events if event.get("ph") == "X" and "ts" in event and "dur" in event]
    ends = [place for place, event in enumerate(timed) if event["name"] == _RUN]
    if len(ends) < count:
        return None
    begins = [0, *(end + 1 for end in ends)]
    runs = [timed[begin : end + 1] for begin, end in zip(begins, ends, strict=False)]
    return tuple(InferenceProfile(_operators(run, contained)) for run in runs[-count:])


@dataclass
class _Interval:
    """An event with the time of those that lie within it."""

    event: Mapping[str, Any]
    inside_us: int = 0

    @property
    def end_us(self) -> int:
        return int(self.event["ts"]) + int(self.event["dur"])


def _operators(run: Sequence[Mapping[str, Any]], contained: Contained) -> tuple[OperatorTime, ...]:
    start_us = int(run[-1]["ts"])
    within = [event for event in run if int(event["ts"]) >= start_us]  # not what ran before it, such as the compiling
    intervals = _nested([event for event in within if _is_own(event) or _is_kernel(event)])
    threads: dict[int, int] = {}
    return tuple(_operator(interval, start_us, threads, contained) for interval in intervals)


def _is_kernel(event: Mapping[str, Any]) -> bool:
    return event.get("cat") == "Node" and event["name"].endswith(_KERNEL)


def _is_own(event: Mapping[str, Any]) -> bool:
    return event.get("cat") == "Session"


def _nested(events: Sequence[Mapping[str, Any]]) -> list[_Interval]:
    """Return events in the order of their starts, each with the time of those directly within it on its thread."""
    found: list[_Interval] = []
    open_on: dict[int, list[_Interval]] = {}
    for event in sorted(events, key=lambda event: (int(event["ts"]), -int(event["dur"]), _is_kernel(event))):
        interval = _Interval(event)
        around = open_on.setdefault(int(event.get("tid", 0)), [])
        while around and around[-1].end_us <= int(event["ts"]):
            around.pop()
        if around:
            around[-1].inside_us += int(event["dur"])
        around.append(interval)
        found.append(interval)
    return found


def _operator(interval: _Interval, start_us: int, threads: dict[int, int], contained: Contained) -> OperatorTime:
    event = interval.event
    told: Mapping[str, Any] = event.get("args") or {}
    name = str(event["name"]).removesuffix(_KERNEL)
    provider = str(told.get("provider", ""))
    own = _is_own(event)
    return OperatorTime(
        name=name,
        kind=name if own else str(told.get("op_name", "")),
        duration_ns=_NS * max(0, int(event["dur"]) - interval.inside_us),
        nodes=() if own else contained(name, told),
        start_ns=_NS * (int(event["ts"]) - start_us),
        thread=threads.setdefault(int(event.get("tid", 0)), len(threads)),
        device=_PROVIDERS.get(provider, provider or "cpu"),
        inputs=_shapes(told.get("input_type_shape")),
        outputs=_shapes(told.get("output_type_shape")),
        is_overhead=own,
    )


def _shapes(told: Any) -> tuple[TensorShape, ...]:
    """Return what a list of ``{"float": [1, 3]}`` describes; nothing of what is no such list."""
    described = told if isinstance(told, list) else []
    return tuple(
        TensorShape(_DTYPES.get(dtype) or str(dtype), tuple(shape))
        for tensor in described
        if isinstance(tensor, dict)
        for dtype, shape in tensor.items()
    )
