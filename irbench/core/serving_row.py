"""A row that was given requests as they arrive: what became of them, and which load it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from irbench.core.row import (
    UNFINISHED_TEXT,
    Estimated,
    LaunchesStop,
    MeasuredTable,
    RowHead,
    WithEnds,
    distinguish,
    name_of,
)
from irbench.spec.serving import Scenario, ServiceLevel

_DISTURBED = 0.025
LevelVerdict = Literal["pass", "fail", "undecided"]
"""Whether a row keeps a service level at a load, as far as its requests can tell."""


@dataclass(frozen=True)
class LevelTest:
    """How many requests missed a service level, and what that says.

    Attributes:
        requests: How many arrived, over all launches.
        missed: How many were answered too late, or not at all.
        verdict: What the binomial test of both says.
    """

    requests: int
    missed: int
    verdict: LevelVerdict


@dataclass(frozen=True)
class OverLaunches(WithEnds, Estimated):
    """A figure of a load over its launches, with its interval or range where there is one."""


@dataclass(frozen=True)
class ServerFigures:
    """Where the time of a call goes that a model server answers: means, in milliseconds.

    Attributes:
        queue_ms: It waited in the server's queue.
        compute_ms: The server computed.
        network_ms: What is left of the call: the way there and back, and reading and writing messages.
    """

    queue_ms: float
    compute_ms: float
    network_ms: float


@dataclass(frozen=True)
class LoadFigures:
    """What became of the requests of one load, over all launches; times in milliseconds.

    Latency is the time from when a request was due to its answer. Its percentiles are of all requests: one that was not
    answered took longer than any other, so a percentile that lies among those is null.

    Attributes:
        rate_per_s: How many requests arrive per second on average; null where that follows from the answers.
        requests: How many arrived.
        answered_per_s: How many were answered per second, from the first arrival to the last answer; the median over
            launches with its interval.
        p50_ms: Median latency of the requests of all launches together; null with too few of them to bound it. Its
            interval follows from how much launches differ, where there are six and each has enough requests; otherwise
            it has the range of the launches.
        p90_ms: 90th percentile likewise, without an interval.
        p99_ms: 99th percentile likewise, without an interval.
        mean_ms: Mean latency of those that were answered.
        service_p50_ms: Median duration of the calls that answered them.
        start_lag_p99_ms: 99th percentile of the time from when a request was due and a slot was free to the begin of
            its call: what measuring itself adds, and a batch that waits to be full.
        busy_share: Which share of the time slots were busy, from 0 to 1.
        drain_ms: From the last arrival to the last answer, the median over launches.
        refused: Requests that found too many waiting, or that a model server refused.
        given_up: Requests that waited, or were answered, after more than the time-out, and those that still waited when
            the load had lasted twice as long as its requests arrive.
        batch_mean: Requests that a call answered on average.
        level: Whether the service level is kept; null where none was asked for.
        server: Where the time of calls goes; null where no model server answered, or it does not tell.
    """

    rate_per_s: float | None
    requests: int
    answered_per_s: OverLaunches
    p50_ms: OverLaunches | None
    p90_ms: float | None
    p99_ms: float | None
    mean_ms: float | None
    service_p50_ms: float | None
    start_lag_p99_ms: float | None
    busy_share: float
    drain_ms: float
    refused: int
    given_up: int
    batch_mean: float
    level: LevelTest | None = None
    server: ServerFigures | None = None


@dataclass(frozen=True)
class LoadLimit:
    """Between which rates a row ceases to keep the service level.

    Attributes:
        cell: The id of the row.
        passes_per_s: The highest rate that passes, below the lowest that fails; null where none does.
        fails_per_s: The lowest rate that fails; null where none does.
        capacity_per_s: How many requests it answered per second when all were there; null where rates were given.
    """

    cell: str
    passes_per_s: float | None
    fails_per_s: float | None
    capacity_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class ServingRow(RowHead):
    """One cell at one load.

    Attributes:
        load: What became of its requests; null where it answered none.
    """

    load: LoadFigures | None = None


@dataclass(frozen=True, kw_only=True)
class ServingTable(MeasuredTable):
    """The rows of one model at one size, each cell once for each load.

    Attributes:
        scenario: How requests arrived.
        level: What answers must keep; null where nothing was asked for.
        confidence: Of each interval and each test.
        seconds: How long its measurement took.
        rounds: Of launches, that were finished.
        group: Its number in the files of launches.
        limits: Of each cell, where rates were given or searched and a service level was asked for.
        best: The id of the row that passes at a rate at which every other one fails; null where that is not known, or
            there is no other.
        foreign_share: Which share of the processors other programs used while requests were answered, from 0 to 1; null
            before any was.
        batch_wait_ms: How long calls may wait for their batch to be full, which is part of their lag; null where it was
            not stored.
    """

    scenario: Scenario
    level: ServiceLevel | None
    confidence: float
    seconds: float
    rounds: int
    group: int
    stopped_by: LaunchesStop
    rows: tuple[ServingRow, ...] = ()
    limits: tuple[LoadLimit, ...] = ()
    best: str | None = None
    foreign_share: float | None = None
    batch_wait_ms: float | None = None

    @property
    def is_disturbed(self) -> bool:
        """Whether other programs used so much of the processors that it is worth a warning."""
        return self.foreign_share is not None and self.foreign_share > _DISTURBED


def serving_names(table: ServingTable) -> dict[str, str]:
    """Return what each cell is called, by its id."""
    return distinguish({row.id: name_of(row) for row in table.rows})


SERVING_STOP_TEXTS: Mapping[LaunchesStop, str] = {
    "launches": "enough launches",
    "budget": "the budget has no time for another round",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": UNFINISHED_TEXT,
}
"""Why a table's measurement ended."""
