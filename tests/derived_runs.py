"""Stored runs whose tables are derived from launches that were written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from documents import ENVIRONMENT
from launches import even, group

from irbench.record import LaunchRecord
from irbench.spec import Timing
from irbench.stats import Admission, summarise
from irbench.store import RunWriter, Store

TIMING = Timing(burn_in_blocks=0)


def stored(root: Path, records: Sequence[LaunchRecord], *names: str, timing: Timing = TIMING) -> RunWriter:
    """Store launches with the table that follows from them; the first row is the baseline."""
    writer = Store(root).begin(ENVIRONMENT, {"models": ["tiny"], "timing": asdict(timing)})
    for record in records:
        writer.add_launch(record)
    table = summarise(group(*names), records, timing, Admission(), stopped_by="budget", seconds=9.0)
    writer.commit(replace(writer.document, groups=(table,), complete=True))
    return writer


def stored_levels(root: Path, levels_ms: Mapping[str, Sequence[float]]) -> RunWriter:
    """Store launches in which each row takes one latency all the time; by row, its latency in each launch."""
    return stored(root, even(levels_ms), *levels_ms)
