"""Which products of matrices are measured, and what follows from a run of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from irbench.onnx.matrix_chain import MatrixChain
from irbench.result import RunDocument
from irbench.roofline import ComputePeak
from irbench.row import CellResult

__all__ = ["FEWEST_LAUNCHES", "disturbed_share", "fastest_rows", "matrix_chains", "matrix_peaks"]

FEWEST_LAUNCHES = 6
"""Of the rows that peaks are taken from: with as many, the range is an interval without any assumption."""
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


def fastest_rows(document: RunDocument, chains: Iterable[MatrixChain]) -> dict[str, frozenset[str]]:
    """Return which rows are measured again, by the name of their table: the fastest of each precision and threads.

    Args:
        document: A run of all sizes and backends.
        chains: What its models are.
    """
    best: dict[tuple[str, int], tuple[float, str, str]] = {}
    for chain, row in _rows(document, chains):
        found = (_rate(chain, _p50_ms(row)), chain.name, row.id)
        key = _key(row)
        best[key] = max(best.get(key, found), found)
    tables: dict[str, set[str]] = {}
    for _, table, row_id in best.values():
        tables.setdefault(table, set()).add(row_id)
    return {table: frozenset(rows) for table, rows in tables.items()}


def matrix_peaks(document: RunDocument, chains: Iterable[MatrixChain]) -> tuple[ComputePeak, ...]:
    """Return the peaks that a run shows: the fastest row of each precision and number of threads.

    Args:
        document: A run of the fastest rows.
        chains: What its models are.
    """
    best: dict[tuple[str, int], ComputePeak] = {}
    for chain, row in _rows(document, chains):
        peak = _peak(chain, row)
        known = best.get(_key(row))
        if known is None or peak.gflop_per_s > known.gflop_per_s:
            best[_key(row)] = peak
    return tuple(sorted(best.values(), key=lambda peak: (_ORDER.get(peak.precision, len(_ORDER)), peak.threads)))


def disturbed_share(document: RunDocument) -> float | None:
    """Return the share of a run's blocks that other programs disturbed; ``None`` without blocks."""
    blocks = sum(table.blocks_measured for table in document.groups)
    return sum(table.blocks_disturbed or 0 for table in document.groups) / blocks if blocks else None


_ORDER: Mapping[str, int] = {"fp32": 0, "bf16": 1, "fp16": 2, "int8": 3}


def _rows(document: RunDocument, chains: Iterable[MatrixChain]) -> Iterator[tuple[MatrixChain, CellResult]]:
    """Yield the rows whose outputs are right and that have figures, each with what it computed."""
    of_name = {chain.name: chain for chain in chains}
    for table in document.groups:
        for row in table.cells:
            if row.state == "ok" and row.p50_over_launches is not None and row.requested.threads is not None:
                yield of_name[table.model], row


def _peak(chain: MatrixChain, row: CellResult) -> ComputePeak:
    span = row.p50_over_launches
    assert span is not None
    precision, threads = _key(row)
    launches = row.launches_measured or 1
    return ComputePeak(
        precision=precision,
        threads=threads,
        gflop_per_s=_rate(chain, span.value),
        low=_rate(chain, span.high),
        high=_rate(chain, span.low),
        backend=row.backend,
        side=chain.side,
        launches=launches,
        confidence=0.95 if launches >= FEWEST_LAUNCHES else None,
    )


def _key(row: CellResult) -> tuple[str, int]:
    assert row.requested.threads is not None
    return str(row.effective.get("precision", row.requested.precision)), row.requested.threads


def _p50_ms(row: CellResult) -> float:
    assert row.p50_over_launches is not None
    return row.p50_over_launches.value


def _rate(chain: MatrixChain, milliseconds: float) -> float:
    """Return 10^9 operations per second."""
    return chain.operations / milliseconds / 1e6


def _products(side: int) -> int:
    return max(_FEWEST_PRODUCTS, min(_MOST_PRODUCTS, _OPERATIONS // (2 * side**3)))
