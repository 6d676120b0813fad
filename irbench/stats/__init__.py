"""Pure statistics: from raw rounds to every figure, interval, verdict and warning of a table."""

from irbench.stats.blocks import processors_in_use
from irbench.stats.observed import clean_blocks
from irbench.stats.planning import (
    LaunchCost,
    Room,
    block_order,
    calls_per_sample,
    expected_seconds,
    fewest_blocks,
    fits,
    launch_size,
    least_seconds,
    needs_more_blocks,
    samples_per_round,
    settle_calls,
)
from irbench.stats.rederive import rederive
from irbench.stats.scatter import Scatter
from irbench.stats.standing import Admission
from irbench.stats.stopping import Next, Pace, launches_planned, next_launch, outlook, parts_of, scatters
from irbench.stats.summary import given_inputs, summarise
from irbench.stats.turns import equal_calls, fewest_calls, same_mix, whole_turns

__all__ = [
    "Admission",
    "LaunchCost",
    "Next",
    "Pace",
    "Room",
    "Scatter",
    "block_order",
    "calls_per_sample",
    "clean_blocks",
    "equal_calls",
    "expected_seconds",
    "fewest_blocks",
    "fewest_calls",
    "fits",
    "given_inputs",
    "launch_size",
    "launches_planned",
    "least_seconds",
    "needs_more_blocks",
    "next_launch",
    "outlook",
    "parts_of",
    "processors_in_use",
    "rederive",
    "same_mix",
    "samples_per_round",
    "scatters",
    "settle_calls",
    "summarise",
    "whole_turns",
]
