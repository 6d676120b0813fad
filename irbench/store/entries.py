"""One line of a listing."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from irbench.core.quantities import ThroughputUnit
from irbench.spec import Objective

OutcomeKind: TypeAlias = Literal[
    "winner",
    "busy-winner",
    "preview",
    "same",
    "busy-same",
    "undecided",
    "busy",
    "uneven-load",
    "all-blocks-disagree",
    "throughput-disagrees",
    "sustained-disagrees",
    "p50-disagrees",
    "only",
    "cold-start",
    "grows",
    "steady",
    "growth-undecided",
    "holds-load",
    "load-undecided",
    "holds-no-load",
    "served",
    "mismatch",
    "failed",
    "interrupted",
    "not-measured",
]
"""Somebody won, or why nobody did, as in :data:`irbench.core.result.NoWinner`; ``only`` is a single row with figures.
``busy-winner`` and ``busy-same`` are of a machine as loaded as it was, and may not hold for a quiet one.
``cold-start`` names the row that answers first with a cold cache; a soak finds that memory ``grows``, is ``steady``, or
is ``growth-undecided``. ``holds-load`` names the row that keeps its service level at the highest rate, in ``fps``;
``served`` is of loads without a service level."""


class Outcome(msgspec.Struct, frozen=True):
    """What came of a table.

    Attributes:
        leader: The row that is, or looks, fastest, by its name; the row with figures where there is only one. Of a
            soak, the first row that is what the kind says.
        ratio: How many times as fast as its rival the leader is.
        p50_ms: Of the leader; of a cold start, its median time to the first output.
        fps: Its throughput, in ``throughput_unit``.
    """

    kind: OutcomeKind
    leader: str | None = None
    rival: str | None = None
    ratio: float | None = None
    p50_ms: float | None = None
    unverified: bool = False
    fps: float | None = None
    objective: Objective = "latency"
    throughput_unit: ThroughputUnit = "FPS"


class RunEntry(msgspec.Struct, frozen=True):
    """One stored run, as listings show it; a struct, because thousands of them are read for every listing.

    Attributes:
        rows: Names of the rows, such as ``ort x4``, or ``ort fp32`` where one ran in several precisions.
        measured: Whether at least one cell has figures.
        complete: Whether it ended by itself.
        name: What the user called it; empty without a name.
        threads: Threads of each process; ``None`` where the runtimes chose.
        precisions: Effective precisions of the rows, or those asked for where they did not run.
        machine: The processor's model name, and how many processors there were; empty where nobody knows.
        resumable: Whether ``irbench run --resume`` continues it where nothing has changed.
    """

    run_id: str
    created: str
    folder: str
    models: tuple[str, ...]
    rows: tuple[str, ...]
    backends: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    measured: bool
    launches: int
    complete: bool
    name: str = ""
    note: str = ""
    batches: tuple[int, ...] = ()
    streams: tuple[int, ...] = ()
    threads: int | None = None
    precisions: tuple[str, ...] = ()
    machine: str = ""
    resumable: bool = False
