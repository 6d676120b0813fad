"""Columns that only loads of requests have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from irbench.core.quantities import NOT_MEASURED, significant
from irbench.core.serving_row import LevelTest, LoadFigures, OverLaunches, ServerFigures, ServingRow, ServingTable
from irbench.render.columns.declaration import (
    COUNT,
    COUNT_ALWAYS,
    NUMBER,
    TEXT,
    TEXT_ALWAYS,
    Column,
    RowPart,
    ShownColumn,
)
from irbench.render.figure_texts import ends_text
from irbench.spec.serving import ServiceLevel

_load = RowPart[ServingRow, LoadFigures](lambda row: row.load)
_level = RowPart[ServingRow, LevelTest](lambda row: None if row.load is None else row.load.level)

_server = RowPart[ServingRow, ServerFigures](lambda row: None if row.load is None else row.load.server)


def rate_text(rate_per_s: float) -> str:
    """Return a number of requests per second."""
    return f"{rate_per_s:,.4g}"


def level_text(level: ServiceLevel) -> str:
    """Return a service level in words."""
    return f"p{level.percentile:g} <= {significant(level.limit_ms)} ms"


def _headed(name: str) -> Callable[[Any, float], str]:
    return lambda _table, confidence: f"{name} [{100 * confidence:g} %]"


def _any(says: Callable[[LoadFigures], object]) -> Callable[[ServingTable], bool]:
    """Return whether some row has something to say; a column that none has is left out."""
    return lambda table: any(says(row.load) for row in table.rows if row.load is not None)


def _with_interval(
    find: Callable[[LoadFigures], OverLaunches | None],
    name: str,
    unit: str,
    meaning: str,
    shown: ShownColumn[ServingRow, ServingTable],
) -> Iterator[Column[float | None]]:
    """Yield the columns of a figure and its interval, of which a table shows the first with both ends."""
    of = RowPart[ServingRow, OverLaunches](lambda row: None if row.load is None else find(row.load))

    def text(row: ServingRow, _table: ServingTable) -> str:
        span = of.find(row)
        if span is None:
            return NOT_MEASURED
        return f"{significant(span.value)}{ends_text(span.ends, marks_ranges=True)}"

    yield Column(f"{name}{unit}", NUMBER, meaning, load=of(lambda span: span.value), in_loads=replace(shown, text=text))
    yield Column(
        f"{name}_low{unit}", NUMBER, "Lower end of its interval; null without one.", load=of(lambda span: span.low)
    )
    yield Column(f"{name}_high{unit}", NUMBER, "Upper end of its interval.", load=of(lambda span: span.high))
    yield Column(
        f"{name}_range_low{unit}",
        NUMBER,
        "Smallest launch, where there are too few for an interval.",
        load=of(lambda span: span.range_low),
    )
    yield Column(f"{name}_range_high{unit}", NUMBER, "Largest launch, likewise.", load=of(lambda span: span.range_high))


_has_level = _any(lambda load: load.level)

LOAD: tuple[Column[Any], ...] = (
    Column("load_rounds", COUNT_ALWAYS, "Rounds of launches that were finished.",
        load_table=lambda table: table.rounds),
    Column("scenario", TEXT_ALWAYS, "How requests arrived: server, offline, single or multistream.",
        load_table=lambda table: table.scenario),
    Column("requests_per_s", NUMBER, "Requests that arrive per second on average; null where they follow answers.",
        load=_load(lambda load: load.rate_per_s),
        in_loads=ShownColumn(10, "requests/s", rate_text, is_shown=_any(lambda load: load.rate_per_s))),
    Column("requests", COUNT, "Requests that arrived, in all launches.", load=_load(lambda load: load.requests)),
    *_with_interval(lambda load: load.answered_per_s, "answered", "_per_s",
        "Answers per second, first arrival to last answer; median over launches.",
        ShownColumn(20, _headed("answered/s"), drops=8)),
    *_with_interval(lambda load: load.p50_ms, "arrival_p50", "_ms",
        "Median latency from when a request was due to its answer, of all launches together.",
        ShownColumn(30, _headed("p50 ms"))),
    Column("arrival_p90_ms", NUMBER, "90th percentile of that latency, of all launches together.",
        load=_load(lambda load: load.p90_ms), in_loads=ShownColumn(40, "p90 ms", drops=4)),
    Column("arrival_p99_ms", NUMBER, "99th percentile of that latency, likewise; null with too few to bound it.",
        load=_load(lambda load: load.p99_ms), in_loads=ShownColumn(50, "p99 ms", drops=1)),
    Column("arrival_mean_ms", NUMBER, "Mean latency of the requests that were answered.",
        load=_load(lambda load: load.mean_ms)),
    Column("service_p50_ms", NUMBER, "Median duration of the calls that answered requests.",
        load=_load(lambda load: load.service_p50_ms), in_loads=ShownColumn(60, "service p50 ms", drops=4)),
    Column("server_queue_ms", NUMBER, "Mean time that calls waited in the model server, as it says.",
        load=_server(lambda server: server.queue_ms),
        in_loads=ShownColumn(62, "server queue ms", drops=4, is_shown=_any(lambda load: load.server))),
    Column("server_compute_ms", NUMBER, "Mean time that the model server computed, as it says.",
        load=_server(lambda server: server.compute_ms),
        in_loads=ShownColumn(64, "server compute ms", drops=4, is_shown=_any(lambda load: load.server))),
    Column("network_ms", NUMBER, "What is left of the mean duration of calls: the way to the server and back.",
        load=_server(lambda server: server.network_ms),
        in_loads=ShownColumn(66, "network ms", drops=4, is_shown=_any(lambda load: load.server))),
    Column("start_lag_p99_ms", NUMBER, "99th percentile of the time until a call began for which all was there.",
        load=_load(lambda load: load.start_lag_p99_ms), in_loads=ShownColumn(70, "lag p99 ms", drops=5)),
    Column("busy_share", NUMBER, "Share of the time that slots spent in calls.",
        load=_load(lambda load: load.busy_share),
        in_loads=ShownColumn(80, "busy", lambda share: f"{100 * share:.0f} %", drops=3)),
    Column("batch_mean", NUMBER, "Requests that a call answered on average.", load=_load(lambda load: load.batch_mean),
        in_loads=ShownColumn(90, "per call", drops=4, is_shown=_any(lambda load: load.batch_mean > 1))),
    Column("refused", COUNT, "Requests that found too many waiting.", load=_load(lambda load: load.refused),
        in_loads=ShownColumn(100, "refused", "{:,}".format, drops=2, is_shown=_any(lambda load: load.refused))),
    Column("given_up", COUNT,
        "Requests that took longer than the time-out, or still waited after twice the load's time.",
        load=_load(lambda load: load.given_up),
        in_loads=ShownColumn(110, "given up", "{:,}".format, drops=2, is_shown=_any(lambda load: load.given_up))),
    Column("drain_ms", NUMBER, "From the last arrival to the last answer; median over launches.",
        load=_load(lambda load: load.drain_ms), in_loads=ShownColumn(120, "drain ms", drops=6)),
    Column("level_requests", COUNT, "Requests that were tested against the service level; null without one.",
        load=_level(lambda level: level.requests)),
    Column("level_missed", COUNT, "Requests that missed the service level; null without one.",
        load=_level(lambda level: level.missed),
        in_loads=ShownColumn(130, "missed", "{:,}".format, drops=7, is_shown=_has_level)),
    Column("level_verdict", TEXT, "pass, fail or undecided: whether the service level is kept.",
        load=_level(lambda level: level.verdict),
        in_loads=ShownColumn(140, "level", str, words=True, is_shown=_has_level)),
)  # fmt: skip
