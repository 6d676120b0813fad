"""Which products of matrices are measured, and what follows from a run of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.core.row import CellResult
from irbench.onnx.matrix_chain import MatrixChain
from irbench.roofline import ComputePeak
from irbench.stats.intervals import FEWEST_LAUNCHES, Interval, Looks, interval_at

_CONFIDENCE = 0.95
_SIDES = (256, 512, 1024, 2048)
"""Three float32 matrices take 0.75, 3, 12 and 48 MiB: what second- and third-level caches hold."""
_SIDES_OF_MANY = (512, 1024, 2048, 4096)
_MANY_THREADS = 8
_OPERATIONS = 1 << 31
"""Of an inference at least; some ten milliseconds of a core."""
_FEWEST_PRODUCTS, _MOST_PRODUCTS = 2, 64


def matrix_chains(threads: int) -> tuple[MatrixChain, ...]:
    """Return the graphs that are measured on a machine with so many threads: several sizes, of floats and of int8.

    Which size is the fastest depends on the caches, the threads and the runtime, so all are tried.
    """
    sides = _SIDES_OF_MANY if threads > _MANY_THREADS else _SIDES
    return tuple(MatrixChain(side, _products(side), quantised) for quantised in (False, True) for side in sides)


@dataclass(frozen=True)
class _Measured:
    """A row whose outputs are right, what it computed, and the fastest call of each launch in nanoseconds."""

    chain: MatrixChain
    row: CellResult
    fastest_ns: tuple[float, ...]

    @property
    def key(self) -> tuple[str, int]:
        """The precision that it computed in, and its threads."""
        threads = self.row.requested.threads
        assert threads is not None
        return str(self.row.effective.get("precision", self.row.requested.precision)), threads

    @property
    def rate(self) -> Interval:
        """10^9 operations per second, over launches."""
        logs = [math.log(self.chain.operations / call_ns) for call_ns in self.fastest_ns]
        return interval_at(logs, Looks(FEWEST_LAUNCHES, FEWEST_LAUNCHES), _CONFIDENCE)


def fastest_rows(
    document: RunDocument, records: Iterable[LaunchRecord], chains: Iterable[MatrixChain]
) -> dict[str, frozenset[str]]:
    """Return which rows are measured again, by the name of their table: the fastest of each precision and threads.

    Args:
        document: A run of all sizes and backends.
        records: Its launches.
        chains: What its models are.
    """
    tables: dict[str, set[str]] = {}
    for best in _best(document, records, chains):
        tables.setdefault(best.chain.name, set()).add(best.row.id)
    return {table: frozenset(rows) for table, rows in tables.items()}


def matrix_peaks(
    document: RunDocument, records: Iterable[LaunchRecord], chains: Iterable[MatrixChain]
) -> tuple[ComputePeak, ...]:
    """Return the peaks that a run shows: the fastest row of each precision and number of threads.

    Args:
        document: A run of the fastest rows.
        records: Its launches.
        chains: What its models are.
    """
    found = map(_peak, _best(document, records, chains))
    return tuple(sorted(found, key=lambda peak: (_ORDER.get(peak.precision, len(_ORDER)), peak.threads)))


def disturbed_share(document: RunDocument) -> float | None:
    """Return the share of a run's blocks that other programs disturbed; ``None`` without blocks."""
    blocks = sum(table.blocks_measured for table in document.groups)
    return sum(table.blocks_disturbed or 0 for table in document.groups) / blocks if blocks else None


def runtime_versions(document: RunDocument) -> dict[str, str]:
    """Return the version of the runtime of each backend that gave right answers in a run, by the backend's name."""
    rows = (row for table in document.groups for row in table.cells if row.state == "ok")
    return {row.backend: str(row.effective["version"]) for row in rows if row.effective.get("version") is not None}


_ORDER: Mapping[str, int] = {"fp32": 0, "bf16": 1, "fp16": 2, "int8": 3}


def _best(document: RunDocument, records: Iterable[LaunchRecord], chains: Iterable[MatrixChain]) -> Iterable[_Measured]:
    """Return the fastest row of each precision and number of threads."""
    best: dict[tuple[str, int], _Measured] = {}
    for measured in _measured(document, _fastest_ns(records), chains):
        known = best.get(measured.key)
        if known is None or measured.rate.value > known.rate.value:
            best[measured.key] = measured
    return best.values()


def _measured(
    document: RunDocument, fastest_ns: Mapping[tuple[int, str], Sequence[float]], chains: Iterable[MatrixChain]
) -> Iterator[_Measured]:
    of_name = {chain.name: chain for chain in chains}
    for number, table in enumerate(document.groups):
        for row in table.cells:
            calls_ns = fastest_ns.get((number, row.id), ())
            if row.state == "ok" and calls_ns and row.requested.threads is not None:
                yield _Measured(of_name[table.model], row, tuple(calls_ns))


def _fastest_ns(records: Iterable[LaunchRecord]) -> dict[tuple[int, str], list[float]]:
    """Return the fastest call of each launch, in nanoseconds, by the number of the table and the id of the row.

    Others can slow down calls and make none faster, so the fastest one is what the machine attains; STREAM reports the
    best of its trials for the same reason.
    """
    found: dict[tuple[int, str], list[float]] = {}
    for record in records:
        for launch in record.cells:
            calls_ns = [int(round_.latency_ns.min()) for round_ in launch.rounds if round_.latency_ns.size]
            if calls_ns:
                found.setdefault((record.group, launch.cell), []).append(min(calls_ns) / launch.calls_per_sample)
    return found


def _peak(measured: _Measured) -> ComputePeak:
    precision, threads = measured.key
    rate = measured.rate
    return ComputePeak(
        precision=precision,
        threads=threads,
        gflop_per_s=math.exp(rate.value),
        low=math.exp(rate.low),
        high=math.exp(rate.high),
        backend=measured.row.backend,
        side=measured.chain.side,
        launches=rate.count,
        confidence=rate.confidence,
    )


def _products(side: int) -> int:
    return max(_FEWEST_PRODUCTS, min(_MOST_PRODUCTS, _OPERATIONS // (2 * side**3)))
