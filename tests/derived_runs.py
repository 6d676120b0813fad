"""Stored runs whose tables are derived from launches that were written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from documents import ENVIRONMENT
from launches import even, group
from stored_plans import stored_plan
from summaries import TIMING, table

from irbench.core.record import LaunchRecord
from irbench.store.runs import RunWriter, Store


def stored(root: Path, records: Sequence[LaunchRecord], *names: str) -> RunWriter:
    """Store launches with the table that follows from them; the first row is the baseline."""
    writer = Store(root).begin(ENVIRONMENT, stored_plan(models=["tiny"], timing=asdict(TIMING)))
    for record in records:
        writer.add_launch(record)
    found = table(group(*names), records, stopped_by="budget", seconds=9.0)
    writer.commit(replace(writer.document, groups=(found,), complete=True))
    return writer


def stored_levels(root: Path, levels_ms: Mapping[str, Sequence[float]]) -> RunWriter:
    """Store launches in which each row takes one latency all the time; by row, its latency in each launch."""
    return stored(root, even(levels_ms), *levels_ms)
