"""Pure statistics: from raw rounds to every figure, interval, verdict and warning of a table."""

from irbench.stats.blocks import dirty_blocks, processors_in_use
from irbench.stats.planning import (
    LaunchCost,
    block_order,
    calls_per_sample,
    expected_seconds,
    fit_to_budget,
    samples_per_round,
    settle_calls,
)
from irbench.stats.rederive import rederive
from irbench.stats.standing import Admission
from irbench.stats.stopping import Pace, outlook, should_stop
from irbench.stats.summary import summarise

__all__ = [
    "Admission",
    "LaunchCost",
    "Pace",
    "block_order",
    "calls_per_sample",
    "dirty_blocks",
    "expected_seconds",
    "fit_to_budget",
    "outlook",
    "processors_in_use",
    "rederive",
    "samples_per_round",
    "settle_calls",
    "should_stop",
    "summarise",
]
