"""Pure statistics: from raw rounds to every figure, interval, verdict and warning of a table.

What is named here is imported when it is first used: a worker needs a single function, and each is a new process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irbench.stats.blocks import processors_in_use
    from irbench.stats.objective import round_cost_ns
    from irbench.stats.observed import clean_blocks
    from irbench.stats.planning import (
        GUESSED_START_S,
        LaunchCost,
        Room,
        Scatter,
        behind,
        block_order,
        calls_per_sample,
        expected_seconds,
        fewest_blocks,
        fewest_warm_up_calls,
        fits,
        launch_limits,
        launch_size,
        least_seconds,
        mean_round_s,
        needs_more_blocks,
        parts_of,
        samples_per_round,
        settle_calls,
    )
    from irbench.stats.standing import Admission
    from irbench.stats.stopping import Next, Pace, launches_planned, next_launch, outlook, scatters
    from irbench.stats.summary import summarise
    from irbench.stats.turns import equal_calls, fewest_calls, same_mix, whole_turns
    from irbench.stats.workload_facts import given_inputs

__all__ = [
    "GUESSED_START_S",
    "Admission",
    "LaunchCost",
    "Next",
    "Pace",
    "Room",
    "Scatter",
    "behind",
    "block_order",
    "calls_per_sample",
    "clean_blocks",
    "equal_calls",
    "expected_seconds",
    "fewest_blocks",
    "fewest_calls",
    "fewest_warm_up_calls",
    "fits",
    "given_inputs",
    "launch_limits",
    "launch_size",
    "launches_planned",
    "least_seconds",
    "mean_round_s",
    "needs_more_blocks",
    "next_launch",
    "outlook",
    "parts_of",
    "processors_in_use",
    "round_cost_ns",
    "same_mix",
    "samples_per_round",
    "scatters",
    "settle_calls",
    "summarise",
    "whole_turns",
]

_MODULES = {
    "Admission": "standing",
    "LaunchCost": "planning",
    "Next": "stopping",
    "Pace": "stopping",
    "Room": "planning",
    "Scatter": "planning",
    "behind": "planning",
    "block_order": "planning",
    "calls_per_sample": "planning",
    "clean_blocks": "observed",
    "equal_calls": "turns",
    "GUESSED_START_S": "planning",
    "expected_seconds": "planning",
    "fewest_blocks": "planning",
    "fewest_calls": "turns",
    "fewest_warm_up_calls": "planning",
    "fits": "planning",
    "given_inputs": "workload_facts",
    "launch_limits": "planning",
    "launch_size": "planning",
    "launches_planned": "stopping",
    "least_seconds": "planning",
    "mean_round_s": "planning",
    "needs_more_blocks": "planning",
    "next_launch": "stopping",
    "outlook": "stopping",
    "parts_of": "planning",
    "processors_in_use": "blocks",
    "round_cost_ns": "objective",
    "same_mix": "turns",
    "samples_per_round": "planning",
    "scatters": "stopping",
    "settle_calls": "planning",
    "summarise": "summary",
    "whole_turns": "turns",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, once."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
