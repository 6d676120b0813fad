"""Columns that only cold starts and soaks have."""

from __future__ import annotations

from irbench.core.cold_row import ColdPhasesMs, ColdRow
from irbench.core.quantities import NOT_MEASURED
from irbench.core.row import Spans
from irbench.core.soak_row import LatencyDrift, MemoryTrend, SoakRow, SoakTable
from irbench.render.columns.declaration import (
    COUNT,
    COUNT_ALWAYS,
    NUMBER,
    NUMBER_ALWAYS,
    TEXT,
    TEXT_ALWAYS,
    Column,
    RowPart,
    ShownColumn,
)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f}"


def _drift(row: SoakRow, _table: SoakTable) -> str:
    if row.drift is None:
        return NOT_MEASURED
    value, low, high = (f"{round(100 * end, 1) + 0.0:+.1f}" for end in (row.drift.value, row.drift.low, row.drift.high))
    return f"{value} % [{low}, {high}]"


def _growth(row: SoakRow, _table: SoakTable) -> str:
    memory = row.memory
    if memory is None or memory.bytes_per_call is None or memory.low is None or memory.high is None:
        return NOT_MEASURED
    return f"{_bytes(memory.bytes_per_call)} [{_bytes(memory.low)}, {_bytes(memory.high)}]"


def _bytes(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 or value == 0 else f"{value:.2g}"


ready_time = RowPart[ColdRow, Spans](lambda row: row.ready_ms)
_cold_phase = RowPart[ColdRow, ColdPhasesMs](lambda row: row.phases_ms)
_memory = RowPart[SoakRow, MemoryTrend](lambda row: row.memory)
_latency_drift = RowPart[SoakRow, LatencyDrift](lambda row: row.drift)

COLD = (
    Column("rounds", COUNT_ALWAYS, "Rounds of cold starts that were finished.", cold_table=lambda table: table.rounds),
    Column("cache", TEXT_ALWAYS, "cold or warm: the state of the caches.", cold=lambda row: row.cache),
)  # fmt: skip
COLD_PHASES = (
    Column("ready_low_ms", NUMBER, "Lower end of its interval; null without one (cold starts).",
        cold=ready_time(lambda spans: spans.low)),
    Column("ready_high_ms", NUMBER, "Upper end of its interval (cold starts).",
        cold=ready_time(lambda spans: spans.high)),
    Column("ready_all_blocks_ms", NUMBER, "Null: cold starts have no blocks.",
        cold=ready_time(lambda spans: spans.all_blocks_value)),
    Column("ready_range_low_ms", NUMBER, "Smallest launch, where there are too few for an interval (cold starts).",
        cold=ready_time(lambda spans: spans.range_low)),
    Column("ready_range_high_ms", NUMBER, "Largest launch, likewise (cold starts).",
        cold=ready_time(lambda spans: spans.range_high)),
    Column("ready_confidence", NUMBER, "Confidence of that interval; null without one.",
        cold=lambda row: row.ready_confidence),
    Column("start_ms", NUMBER, "Before the process is started until its first line (cold starts).",
        cold=_cold_phase(lambda phases: phases.start), in_cold_starts=ShownColumn(20, "start ms", drops=3)),
)  # fmt: skip
COLD_FILES = (
    Column("resident_share", NUMBER, "Share of the row's files that was in the page cache when it began.",
        cold=lambda row: row.resident_share,
        in_cold_starts=ShownColumn(100, "in memory", lambda fraction: f"{100 * fraction:.0f} %", drops=7)),
    Column("read_bytes", COUNT, "What the process fetched from disks.", cold=lambda row: row.read_bytes,
        in_cold_starts=ShownColumn(110, "read MB", lambda size: f"{size / 1000000.0:.0f}", drops=8)),
    Column("file_bytes", COUNT, "Size of the files that the row reads.", cold=lambda row: row.file_bytes),
)  # fmt: skip
SOAK = (
    Column("growth_limit_bytes_per_call", NUMBER_ALWAYS, "Growth from which on it matters.",
        soak_table=lambda table: table.growth_limit),
    Column("calls", COUNT_ALWAYS, "Calls that were made.", soak=lambda row: row.calls,
        in_soaks=ShownColumn(20, "calls", lambda calls: f"{calls:,}")),
    Column("called_s", NUMBER_ALWAYS, "How long the row was called.", soak=lambda row: row.seconds),
    Column("memory_growth_bytes_per_call", NUMBER, "Slope of resident memory.",
        soak=_memory(lambda memory: memory.bytes_per_call),
        in_soaks=ShownColumn(70, lambda _, confidence: f"bytes per call [{100 * confidence:g} %]", text=_growth,
            words=True)),
    Column("memory_growth_low_bytes_per_call", NUMBER, "Lower end of its interval; null without one.",
        soak=_memory(lambda memory: memory.low)),
    Column("memory_growth_high_bytes_per_call", NUMBER, "Upper end of its interval.",
        soak=_memory(lambda memory: memory.high)),
    Column("memory_verdict", TEXT, "grows, steady or undecided.", soak=_memory(lambda memory: memory.verdict),
        in_soaks=ShownColumn(80, "memory", str, words=True)),
    Column("memory_blocks", COUNT, "Blocks that the slope is of.", soak=_memory(lambda memory: memory.blocks)),
    Column("memory_start_bytes", COUNT, "Resident memory after the first block that counts.",
        soak=_memory(lambda memory: memory.start_bytes), in_soaks=ShownColumn(50, "MB at start", _megabytes, drops=5)),
    Column("memory_end_bytes", COUNT, "Resident memory after the last block.",
        soak=_memory(lambda memory: memory.end_bytes), in_soaks=ShownColumn(60, "MB at end", _megabytes, drops=4)),
    Column("latency_drift", NUMBER, "How much slower calls became, as a fraction.",
        soak=_latency_drift(lambda drift: drift.value),
        in_soaks=ShownColumn(40, lambda _, confidence: f"slower by [{100 * confidence:g} %]", text=_drift, words=True,
            drops=1)),
    Column("latency_drift_low", NUMBER, "Lower end of its interval; null without one.",
        soak=_latency_drift(lambda drift: drift.low)),
    Column("latency_drift_high", NUMBER, "Upper end of its interval.", soak=_latency_drift(lambda drift: drift.high)),
)  # fmt: skip
