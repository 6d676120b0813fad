"""Requests that arrive on their own: which load a row is given, and what it must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scenario = Literal["server", "offline", "single", "multistream"]
"""How requests arrive, in the terms of MLPerf Inference.

``server``: independently of each other, at a mean rate (a Poisson process), whether or not earlier ones are answered.
``offline``: all at once. ``single``: each when the one before is answered. ``multistream``: :data:`SAMPLES_OF_QUERY` at
a time, when all those before are answered.
"""
SAMPLES_OF_QUERY = 8
"""Requests that arrive together in the scenario ``multistream``; MLPerf has as many."""


@dataclass(frozen=True)
class ServiceLevel:
    """What answers must keep: so many percent of all requests are answered within a time.

    Attributes:
        percentile: Above 0 and below 100.
        limit_ms: From when a request arrives to its answer.
    """

    percentile: float
    limit_ms: float


@dataclass(frozen=True)
class Queueing:
    """What becomes of requests that wait.

    Attributes:
        most_waiting: A request that finds so many waiting is refused; ``None`` for any number.
        timeout_ms: A request that has waited so long is given up; ``None`` for any time.
        batch_wait_ms: How long a call waits for more requests, from the arrival of its first, while its batch is not
            full.
    """

    most_waiting: int | None = None
    timeout_ms: float | None = None
    batch_wait_ms: float = 0.0


@dataclass(frozen=True)
class OfferedLoad:
    """Requests that one row is given in one launch.

    Attributes:
        scenario: How they arrive.
        requests: How many arrive.
        rate_per_s: How many arrive per second on average; 0 where that follows from the answers.
        seed: Of the times at which they arrive; equal seeds give equal times.
    """

    scenario: Scenario
    requests: int
    rate_per_s: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class ServingPlan:
    """Which loads the rows of a run are given.

    Attributes:
        scenario: How requests arrive.
        rates_per_s: How many arrive per second on average, a load for each; empty where no rate is given, or the
            highest that keeps the service level is searched.
        level: What answers must keep; ``None`` where nothing was asked for.
        seconds: How long requests arrive.
        queueing: What becomes of requests that wait.
    """

    scenario: Scenario = "server"
    rates_per_s: tuple[float, ...] = ()
    level: ServiceLevel | None = None
    seconds: float = 5.0
    queueing: Queueing = Queueing()

    @property
    def searches(self) -> bool:
        """Whether the highest rate is searched that keeps the service level."""
        return self.scenario == "server" and not self.rates_per_s
