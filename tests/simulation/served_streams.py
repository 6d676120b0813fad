"""Streams that a runtime serves in known ways: how often some are said to starve."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from launches import evidence, measured
from numpy.random import Generator

from irbench.core.record import Round
from irbench.measure.ledger import WindowLedger
from irbench.spec import Cell, Load
from irbench.stats.notice_rules.machine_warnings import in_flight
from simulation.markdown import markdown_table

_STREAMS = 4
_ROUNDS = 32
_SAMPLES = 16
_CELL = Cell("row", None, "row", "cpu", Load(streams=_STREAMS))


@dataclass(frozen=True)
class _Service:
    """How long requests last, in ns, and how many are served at once; the newest that waits comes next."""

    lasts: Callable[[Generator], float]
    at_once: int = _STREAMS


FAIR: Mapping[str, _Service] = {
    "all alike": _Service(lambda draw: 1e6 * np.exp(draw.normal(0, 0.01))),
    "exponential": _Service(lambda draw: draw.exponential(1e6) + 1),
    "one in twenty takes ten times as long": _Service(lambda draw: 1e7 if draw.random() < 0.05 else 1e6),
    "heavy tails": _Service(lambda draw: 1e6 * (1 + 0.1 * draw.pareto(1.5))),
}
UNFAIR: Mapping[str, _Service] = {
    "two of four are served": _Service(FAIR["all alike"].lasts, 2),
    "three of four are served": _Service(FAIR["all alike"].lasts, 3),
    "two of four are served, exponential": _Service(FAIR["exponential"].lasts, 2),
}


def warned(service: _Service, runs: int) -> float:
    """Return the share of runs that warn of starved streams."""
    draw = np.random.default_rng(0)
    found = 0
    for _ in range(runs):
        rounds = [_round(service, draw, number) for number in range(_ROUNDS)]
        of_launch = measured("row", rounds)
        seen = in_flight([(of_launch, each) for each in rounds], _CELL)
        found += seen is not None and seen.some_starve
    return found / runs


def _round(service: _Service, draw: Generator, number: int) -> Round:
    """Return a round of a closed loop: a request follows as soon as one has completed."""
    ledger = WindowLedger(_SAMPLES, _STREAMS, _STREAMS)
    waiting, served, now = [0] * _STREAMS, list[tuple[int, int]](), 0
    while waiting or served:
        while waiting and len(served) < service.at_once:
            heapq.heappush(served, (now + int(service.lasts(draw)), waiting.pop()))
        now, issued_at = heapq.heappop(served)
        if ledger.complete(issued_at, now):
            waiting.append(now)
    window = ledger.window()
    return Round(number, window.issue_ns, window.completion_ns, evidence(1), window.open_ns)


def as_table(runs: int) -> str:
    """Return the table of all kinds of service in Markdown."""
    rows = ([name, f"{warned(service, runs):.3f}"] for name, service in {**FAIR, **UNFAIR}.items())
    return markdown_table(["service of 4 streams", "warned"], rows)
