"""Calls at a constant pace: latency, calls that were late, and whether rows compare differently back to back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import LaunchRecord, PacedRun
from irbench.core.row import PacedLatency, Spans
from irbench.notices import Mark
from irbench.notices.doubts import ReversedPair
from irbench.notices.marks import LateCalls
from irbench.spec import Timing
from irbench.stats.figures import calls_to_bound, positive_span
from irbench.stats.intervals import interval_at, looks_of, percentile
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.speedups import launch_ratios
from irbench.stats.winner import log_ratio_by_launch

_MOSTLY_LATE = 0.5
"""From this share of late calls on, their queue only grows: how long calls are late says how long the run was."""
_LATE_MATTERS = 0.01


def paced_calls(completion_ns: float, concurrency: int, timing: Timing) -> int:
    """Return how many calls of a cell are timed at the pace in a launch: a multiple of its inferences in flight."""
    each_s = max(timing.pace, completion_ns / 1e9)
    return concurrency * math.ceil(max(timing.pace_calls, timing.pace_seconds / each_s) / concurrency)


def paced_runs(records: Sequence[LaunchRecord], cell: str) -> dict[int, PacedRun]:
    """Return a cell's run at the pace in each launch that had one, by the launch's number."""
    return {
        record.launch: measured.paced
        for record in records
        for measured in record.cells
        if measured.cell == cell and measured.paced is not None
    }


def late_calls(run: PacedRun) -> int:
    """Return how many calls were due while the call before was still running on their slot."""
    due_ns = _due_ns(run)
    return int(np.count_nonzero(run.completion_ns[: -run.concurrency] > due_ns[run.concurrency :]))


def paced_latency(runs: Sequence[PacedRun]) -> PacedLatency | None:
    """Return the latency of all calls of these launches; ``None`` where there are none."""
    if not runs:
        return None
    own_ms = np.concatenate([_own_ns(run) for run in runs]) / 1e6
    due_ms = np.concatenate([run.completion_ns - _due_ns(run) for run in runs]) / 1e6
    late = sum(map(late_calls, runs))
    enough, keeps_up = own_ms.size >= calls_to_bound(90), late <= _MOSTLY_LATE * own_ms.size
    return PacedLatency(
        pace=runs[0].pace_ns / 1e6,
        p50=percentile(own_ms, 50),
        p90=percentile(own_ms, 90) if enough else None,
        p50_since_due=percentile(due_ms, 50) if keeps_up else None,
        p90_since_due=percentile(due_ms, 90) if enough and keeps_up else None,
        late=late,
        count=int(own_ms.size),
        lag_p99=percentile(np.concatenate([_lag_ns(run) for run in runs]) / 1e6, 99),
    )


def paced_over_launches(runs: Sequence[PacedRun], percent: float, timing: Timing) -> Spans | None:
    """Return a percentile with its interval over launches; ``None`` where a launch has too few calls to tell it."""
    by_launch_ms = [_own_ns(run) / 1e6 for run in runs]
    fewest = calls_to_bound(percent) if percent > 50 else 1
    if not by_launch_ms or min(latencies.size for latencies in by_launch_ms) < fewest:
        return None
    return positive_span([percentile(latencies, percent) for latencies in by_launch_ms], timing)


def paced_rate_by_launch(records: Sequence[LaunchRecord], cell: str) -> dict[int, float]:
    """Return how many calls as long as the median one at the pace fit into a second, by the launch's number."""
    return {launch: 1e9 / max(1.0, percentile(_own_ns(run), 50)) for launch, run in paced_runs(records, cell).items()}


def late_mark(records: Sequence[LaunchRecord], cell: str) -> Iterator[Mark]:
    """Yield a mark where more than one call in a hundred was late."""
    runs = list(paced_runs(records, cell).values())
    late, calls = sum(map(late_calls, runs)), sum(run.issue_ns.size for run in runs)
    if late > _LATE_MATTERS * calls:
        yield LateCalls(late=late, calls=calls, pace_ms=runs[0].pace_ns / 1e6)


def reversed_pairs(state: TableState) -> tuple[ReversedPair, ...]:
    """Return the pairs of which one is surely faster back to back, and the other at the pace."""
    pairs = (_reversed(state, fast, slow) for fast, slow in permutations(state.eligibility.compared, 2))
    return tuple(pair for pair in pairs if pair is not None)


def _reversed(state: TableState, fast: str, slow: str) -> ReversedPair | None:
    """Return by how much one cell is faster back to back and slower at the pace; ``None`` where that is not sure."""
    back_to_back = [-ratio for ratio in launch_ratios(state.launches, fast, slow)]
    counted = state.counted_records(fast, slow)
    at_pace = log_ratio_by_launch(paced_rate_by_launch(counted, fast), paced_rate_by_launch(counted, slow), state)
    if not back_to_back or at_pace is None or at_pace.confidence is None:
        return None
    usual = interval_at(back_to_back, looks_of(state.timing), state.timing.confidence)
    if usual.confidence is None or usual.low <= 0 or at_pace.high >= 0:
        return None
    return ReversedPair(fast, slow, back_to_back=math.exp(usual.value), at_pace=math.exp(at_pace.value))


def _own_ns(run: PacedRun) -> NDArray[np.int64]:
    return run.completion_ns - run.issue_ns


def _lag_ns(run: PacedRun) -> NDArray[np.int64]:
    """Return how long after each call was due, and its slot had ended the call before, it was issued."""
    free_ns = np.concatenate([np.zeros(run.concurrency, np.int64), run.completion_ns[: -run.concurrency]])
    lag_ns: NDArray[np.int64] = run.issue_ns - np.maximum(_due_ns(run), free_ns)
    return lag_ns


def _due_ns(run: PacedRun) -> NDArray[np.int64]:
    return run.pace_ns * np.arange(run.issue_ns.size, dtype=np.int64)
