"""What happens in a sweep, as its state file has it, and what that comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from irbench.sweeps.curve import CurveEnd, CurvePoint, RowFacts

FORMAT = 1
"""Of the state file."""


class Header(msgspec.Struct, tag="sweep", frozen=True, kw_only=True):
    """What was begun.

    Attributes:
        created: ISO 8601, UTC.
        seed: Decides the order of the tables.
        confined: Whether workers are confined; ``None`` in the file of an older irbench, which does not say.
    """

    format: int = FORMAT
    name: str
    created: str
    irbench_version: str
    seed: int
    plan: Mapping[str, Any]
    confined: bool | None = None


class TableBegun(msgspec.Struct, tag="begun", frozen=True):
    """A table whose launches are stored as they end."""

    table: str
    run: str


class TableDone(msgspec.Struct, tag="done", frozen=True):
    """A table that is never measured again.

    Attributes:
        exit_code: What ``irbench run`` would have ended with.
        seconds: How long its launches took.
        busy: Whether other programs disturbed most of the measurement.
    """

    table: str
    run: str
    exit_code: int
    batch: int
    seconds: float
    rows: tuple[RowFacts, ...]
    busy: bool = False
    undecided: bool = False


class TableFailed(msgspec.Struct, tag="failed", frozen=True):
    """A table that could not be measured at all; it is tried again when the sweep goes on.

    Attributes:
        exit_code: What ``irbench run`` would have ended with.
    """

    table: str
    message: str
    hint: str
    exit_code: int


class CurveEnded(msgspec.Struct, tag="curve", frozen=True):
    """A curve that has no further table."""

    end: CurveEnd


Event: TypeAlias = TableBegun | TableDone | TableFailed | CurveEnded


class SweepProgress:
    """What the events of a sweep come to.

    Attributes:
        begun: The last run of each table that was begun, by the table's id.
        done: Tables that were measured, by their ids.
        failed: Tables that could not be measured, by their ids.
        ends: Why curves ended, by their digests.
    """

    def __init__(self) -> None:
        self.begun: dict[str, TableBegun] = {}
        self.done: dict[str, TableDone] = {}
        self.failed: dict[str, TableFailed] = {}
        self.ends: dict[str, CurveEnd] = {}

    def take(self, event: Event) -> None:
        """Take in what happened next."""
        if isinstance(event, TableBegun):
            self.begun[event.table] = event
        elif isinstance(event, TableDone):
            self.done[event.table] = event
            self.failed.pop(event.table, None)
        elif isinstance(event, TableFailed):
            self.failed[event.table] = event
        else:
            self.ends[event.end.curve] = event.end

    def point(self, table: str) -> CurvePoint | None:
        """Return a measured table as a point of a curve."""
        done = self.done.get(table)
        return None if done is None else CurvePoint(done.batch, done.rows, done.busy)
