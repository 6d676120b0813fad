"""What a stored run asked for, as the options that ask for it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irbench.errors import IrbenchError
from irbench.options.run import RunOptions
from irbench.options.stored import options_of
from irbench.stats.rederive import planned_timing
from irbench.store import bundles
from irbench.system.document_damage import damage_text


def stored_options(plan: Mapping[str, Any], results: str = "") -> RunOptions:
    """Return the options that ask for a stored run again, every default that was resolved written out.

    The soak of a run is not part of the options.

    Args:
        plan: That of a run document.
        results: What names the folder of runs in a command.

    Raises:
        IrbenchError: The plan names no model, or the run's inputs were arrays in memory, or it compares versions, or
            a process kept a processor busy meanwhile; or values have other types than those that irbench writes.
    """
    if not plan.get("models") or plan.get("asked", ...) is None:
        raise IrbenchError(
            "The run does not record what was asked for.", hint=f"Choose another: irbench results{results}"
        )
    if plan.get("data_in_memory") is not None:
        raise IrbenchError(
            "The inputs of the run were arrays in memory, which are not stored.",
            hint="Save them as .npz files and measure with --data.",
        )
    if plan.get("environments"):
        raise IrbenchError(
            "The run compares versions of a runtime, each in an environment of its own.",
            hint="Compare them again by their versions; irbench show names them.",
        )
    if planned_timing(plan).busy_processors:
        raise IrbenchError(
            "A process kept a processor busy during the run, which no option asks for.",
            hint=f"Search again with irbench tune --flip-map, or choose another run: irbench results{results}",
        )
    try:
        return _options(plan)
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # a plan has no types of its own
        raise IrbenchError(
            f"The run does not record what was asked for in a form that irbench writes: {damage_text(error)}.",
            hint=f"Choose another: irbench results{results}",
        ) from error


def _options(plan: Mapping[str, Any]) -> RunOptions:
    """Return the options of a plan that can be asked for; raises what a value of another type leads to."""
    options = options_of(plan)
    return replace(options, models=tuple(map(_model, plan["models"], plan.get("sources") or plan["models"])))


def _model(name: str, source: str) -> str:
    """Return what names a model again: its file, the bundle that still has its name, or what it was exported from."""
    is_file = source.endswith(".onnx")
    return source if source and (is_file or bundles.find(name) is None) else name
