"""How far a sweep is, table by table, as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.store.entries import RunEntry
from irbench.store.leaders import BestOfTables
from irbench.sweeps.cells import SweepTable
from irbench.sweeps.curve import CurveEnd, CurvePoint

TableStatus: TypeAlias = Literal["done", "failed", "interrupted", "left-out", "waiting"]
"""``left-out`` lies beyond the end of its curve, and ``waiting`` was not begun."""


@dataclass(frozen=True)
class TableOverview:
    """One table of a sweep.

    Attributes:
        run: The id of the run that holds it; empty where none does.
        entry: That run's line in a listing; ``None`` where it is gone.
        exit_code: What ``irbench run`` would have ended with.
        message: Why it could not be measured; empty where it could.
        undecided: Whether a verdict or its winner is undecided; False where that was not recorded.
    """

    table: SweepTable
    status: TableStatus
    run: str = ""
    entry: RunEntry | None = None
    exit_code: int = 0
    message: str = ""
    hint: str = ""
    undecided: bool = False


@dataclass(frozen=True)
class CurveOverview:
    """A curve over batch sizes.

    Attributes:
        points: With growing batch; at least one.
        end: Why it ended; ``None`` where it goes on, or has reached the largest batch of the plan.
    """

    label: str
    points: tuple[CurvePoint, ...]
    stop_gain: float
    end: CurveEnd | None


@dataclass(frozen=True)
class SweepOverview:
    """A sweep.

    Attributes:
        best: The best row over the tables of each model and set of inputs, where several have a leader.
    """

    name: str
    tables: tuple[TableOverview, ...]
    curves: tuple[CurveOverview, ...]
    best: tuple[BestOfTables, ...] = ()
