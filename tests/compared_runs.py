"""Stored runs whose launches are made up, so that what they say together is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import launches as made
from stored_plans import stored_plan

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.spec import GraphFiles, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise
from irbench.store.runs import RunWriter, Store

MACHINE: Mapping[str, Any] = {
    "cpu": {"Model name": "A CPU", "Architecture": "x86_64", "Flags": "avx2 fma"},
    "cpus_allowed": 2,
    "physical_cores_allowed": 2,
    "memory_bytes": 8 << 30,
    "system": "Linux",
    "kernel": "6.12.8-generic",
    "python": "3.11.7",
    "distributions": {"onnxruntime": "1.22.0"},
}
"""An environment, as documents hold it."""

EVEN = (10.0, 10.1, 9.9, 10.05, 9.95, 10.02)
"""Milliseconds of six launches."""


def times(factor: float) -> tuple[float, ...]:
    """Return the launches of :data:`EVEN`, all of them slower by a factor."""
    return tuple(factor * value for value in EVEN)


def store(
    root: Path,
    levels_ms: Mapping[str, Sequence[float]],
    *,
    environment: Mapping[str, Any] = MACHINE,
    plan: Mapping[str, Any] | None = None,
    table: Mapping[str, Any] | None = None,
    graph: str = "",
    batch: int = 1,
    row: Mapping[str, Any] | None = None,
    busy: bool = False,
    records: Sequence[LaunchRecord] = (),
) -> RunWriter:
    """Store a run in which each row took these milliseconds in its launches.

    Args:
        root: The folder of results.
        levels_ms: By row.
        environment: Of its document.
        plan: Of its document.
        table: Fields of its table to change, and those of its rows that have the same names.
        graph: Digest of the graph that every row ran; empty for none.
        batch: Samples per inference of every row.
        row: Fields of every row to change.
        busy: Whether another program kept a processor busy in every block.
        records: Its launches, where the rows did not take the same time in all of their blocks.
    """
    group = made.group(*levels_ms, batch=batch)
    foreign_ns = made.BLOCK_NS if busy else 0
    records = [
        replace(record, blocks=tuple(replace(block, foreign_cpu_ns=foreign_ns) for block in record.blocks))
        for record in records or made.even(levels_ms)
    ]
    found = summarise(group, records, Timing(burn_in_blocks=0), Admission(), stopped_by="launches", seconds=1.0)
    writer = Store(root).begin(
        environment, stored_plan(**{"models": ["tiny"], "timing": {"burn_in_blocks": 0}, "asked": {}, **(plan or {})})
    )
    for record in records:
        writer.add_launch(record)
    changes = table or {}
    of_rows = {name: changes[name] for name in ("model", "shapes") if name in changes}
    rows = tuple(replace(cell, **of_rows, **(row or {})) for cell in found.cells)
    found = replace(found, cells=rows, **changes)
    writer.commit(replace(writer.document, groups=(_with_graph(found, graph),), complete=True))
    return writer


def _with_graph(table: GroupResult, digest: str) -> GroupResult:
    files = GraphFiles(digest, 1000 * len(digest)) if digest else None
    return replace(table, cells=tuple(replace(cell, graph_files=files) for cell in table.cells))
