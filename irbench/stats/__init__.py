"""Pure statistics: from raw rounds to every figure, interval, verdict and warning of a table.

What is named here is imported when it is first used: a worker needs a single function, and each is a new process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irbench.stats.blocks import processors_in_use
    from irbench.stats.eligibility import Admission
    from irbench.stats.observed import clean_blocks
    from irbench.stats.stopping.objective import round_cost_ns
    from irbench.stats.stopping.planning import (
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
    from irbench.stats.stopping.rule import Next, Pace, launches_planned, next_launch, outlook, scatters
    from irbench.stats.stopping.turns import equal_calls, fewest_calls, same_mix, whole_turns
    from irbench.stats.summary import summarise
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
    "Admission": "eligibility",
    "LaunchCost": "stopping.planning",
    "Next": "stopping.rule",
    "Pace": "stopping.rule",
    "Room": "stopping.planning",
    "Scatter": "stopping.planning",
    "behind": "stopping.planning",
    "block_order": "stopping.planning",
    "calls_per_sample": "stopping.planning",
    "clean_blocks": "observed",
    "equal_calls": "stopping.turns",
    "GUESSED_START_S": "stopping.planning",
    "expected_seconds": "stopping.planning",
    "fewest_blocks": "stopping.planning",
    "fewest_calls": "stopping.turns",
    "fewest_warm_up_calls": "stopping.planning",
    "fits": "stopping.planning",
    "given_inputs": "workload_facts",
    "launch_limits": "stopping.planning",
    "launch_size": "stopping.planning",
    "launches_planned": "stopping.rule",
    "least_seconds": "stopping.planning",
    "mean_round_s": "stopping.planning",
    "needs_more_blocks": "stopping.planning",
    "next_launch": "stopping.rule",
    "outlook": "stopping.rule",
    "parts_of": "stopping.planning",
    "processors_in_use": "blocks",
    "round_cost_ns": "stopping.objective",
    "same_mix": "stopping.turns",
    "samples_per_round": "stopping.planning",
    "scatters": "stopping.rule",
    "settle_calls": "stopping.planning",
    "summarise": "summary",
    "whole_turns": "stopping.turns",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, once."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
