"""What speaks against the latencies of loads of requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from irbench.core.serving_row import ServingRow
from irbench.notices.doubts import LateCalls
from irbench.notices.warnings import Warn

_LATE = 0.1
"""Of the highest percentile of latency that is known: how large the lag may be until it is worth a warning."""


def serving_warnings(rows: Sequence[ServingRow], batch_wait_ms: float | None) -> Iterator[Warn]:
    """Yield a warning of the load whose calls began latest although a slot was free, where any began too late.

    Args:
        rows: Of one table.
        batch_wait_ms: How long calls may wait for their batch to be full, in milliseconds; ``None`` where that is not
            known, so that lags tell nothing.
    """
    if batch_wait_ms is None:
        return
    found = (_late_calls(row, batch_wait_ms if row.batch > 1 else 0.0) for row in rows)
    late = [each for each in found if each is not None]
    if late:
        latest = max(late, key=lambda each: each.lag_ms - each.batch_wait_ms)
        facts = msgspec.structs.asdict(latest.facts)
        facts["loads"] = len(late)
        yield LateCalls(**facts)


def _late_calls(row: ServingRow, wait_ms: float) -> LateCalls | None:
    """Return how late calls of a load began, where more of its latencies is lag than what waits for a full batch."""
    load = row.load
    if load is None or load.start_lag_p99_ms is None:
        return None
    percentile, latency_ms = (90, load.p90_ms) if load.p99_ms is None else (99, load.p99_ms)
    if latency_ms is None or load.start_lag_p99_ms - wait_ms <= _LATE * latency_ms:
        return None
    return LateCalls(
        cell=row.id,
        rate_per_s=load.rate_per_s,
        loads=1,
        lag_ms=load.start_lag_p99_ms,
        batch_wait_ms=wait_ms,
        percentile=percentile,
        latency_ms=latency_ms,
    )
