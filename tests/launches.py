"""Launch records written by hand: a cell's rounds are the latencies one names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irbench.core.record import BlockEvidence, CellLaunch, Evidence, Failure, LaunchRecord, Round
from irbench.spec import Bundle, Cell, Group, InputSpec, Load, TensorSpec, Workload

MS = 1_000_000
BLOCK_NS = 100 * MS


def group(*names: str, streams: Mapping[str, int] | None = None, baseline: str | None = None, batch: int = 1) -> Group:
    """Return a group whose cells are called and identified by these names."""
    asked = streams or {}
    cells = tuple(
        Cell(name, None, name, "cpu", Load(batch=batch, threads=2, streams=asked.get(name, 1))) for name in names
    )
    inputs = (InputSpec(TensorSpec("image", "float32", ("batch", 3, 8, 8))),)
    workload = Workload(Bundle("tiny", inputs, ()), {"batch": batch})
    return Group((workload,), cells, baseline or names[0])


def synchronous(block: int, latencies_ns: Sequence[float], *, waited_ns: int = 0) -> Round:
    """Return a round of back-to-back calls."""
    completion = np.cumsum(np.rint(latencies_ns).astype(np.int64))
    issue = np.concatenate(([0], completion[:-1]))
    return Round(block, issue, completion, evidence(int(completion[-1]), waited_ns))


def streamed(block: int, issue_ns: Sequence[int], completion_ns: Sequence[int]) -> Round:
    """Return a round of requests in flight."""
    completion = np.asarray(completion_ns, np.int64)
    return Round(block, np.asarray(issue_ns, np.int64), completion, evidence(int(completion[-1])))


def evidence(wall_ns: int, waited_ns: int = 0) -> Evidence:
    """Return what the kernel saw of a round in which nothing else happened."""
    return Evidence(wall_ns, wall_ns, waited_ns, 0, 0, 0, 0)


def measured(cell: str, rounds: Sequence[Round], **changes: Any) -> CellLaunch:
    """Return one cell's launch."""
    facts: dict[str, Any] = {
        "streams": 1,
        "calls_per_sample": 1,
        "phases_ns": {"import": 5 * MS, "load": 1 * MS, "compile": 2 * MS, "first_inference": 3 * MS, "ready": 11 * MS},
        "peak_memory_bytes": {"process": 1000},
        "effective": {"precision": "fp32", "threads": 2},
    }
    return CellLaunch(cell=cell, rounds=tuple(rounds), **{**facts, **changes})


def block(number: int, **changes: Any) -> BlockEvidence:
    """Return a quiet block."""
    facts: dict[str, Any] = {
        "order": (),
        "wall_ns": BLOCK_NS,
        "foreign_cpu_ns": 0,
        "throttled_ns": 0,
        "steal_ns": 0,
        "core_to_core_ns": None,
    }
    return BlockEvidence(block=number, **{**facts, **changes})


def launch(number: int, cells: Sequence[CellLaunch], **changes: Any) -> LaunchRecord:
    """Return a launch; its blocks are quiet unless given."""
    count = max((len(cell.rounds) for cell in cells), default=0)
    facts: dict[str, Any] = {"failures": dict[str, Failure](), "blocks": tuple(block(index) for index in range(count))}
    return LaunchRecord(group=0, launch=number, cells=tuple(cells), **{**facts, **changes})


def even(levels_ms: Mapping[str, Sequence[float]], blocks: int = 5, **changes: Any) -> list[LaunchRecord]:
    """Return launches in which each cell takes one latency all the time.

    Args:
        levels_ms: By cell, its latency in each launch, in milliseconds.
        blocks: In each launch.
        changes: For each cell's launch.
    """
    launches = len(next(iter(levels_ms.values())))
    return [
        launch(
            number,
            [
                measured(cell, [synchronous(index, [levels[number] * MS] * 3) for index in range(blocks)], **changes)
                for cell, levels in levels_ms.items()
            ],
        )
        for number in range(launches)
    ]


def in_parts(levels_ms: Sequence[Mapping[str, float]], blocks: int = 5) -> list[LaunchRecord]:
    """Return launches of some of the cells each, by each launch's latencies in milliseconds."""
    return [
        launch(
            number,
            [
                measured(cell, [synchronous(index, [level * MS] * 3) for index in range(blocks)])
                for cell, level in levels.items()
            ],
        )
        for number, levels in enumerate(levels_ms)
    ]
