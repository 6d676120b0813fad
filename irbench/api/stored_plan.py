"""What a stored run asked for, as the options that ask for it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from irbench import bundles
from irbench.api.requests import QUICK, THOROUGH
from irbench.errors import IrbenchError
from irbench.options.metrics import Metric
from irbench.options.run import RunOptions
from irbench.options.values import Sweep
from irbench.options.varied_options import AS_IT_IS, Varied
from irbench.spec import Program, Timing, WarmUpLength
from irbench.stats.rederive import planned_timing
from irbench.system.document_damage import damage_text

__all__ = ["stored_options"]

_PRESETS: Mapping[str, Timing] = {"default": Timing(), "quick": QUICK, "thorough": THOROUGH}


def stored_options(plan: Mapping[str, Any], results: str = "") -> RunOptions:
    """Return the options that ask for a stored run again, every default that was resolved written out.

    Modules that were imported for an export are not stored, and the soak of such a run is not part of the options.

    Args:
        plan: That of a run document.
        results: What names the folder of runs in a command.

    Raises:
        IrbenchError: The plan names no model, or the run's inputs were arrays in memory, or it compares versions, or
            a process kept a processor busy meanwhile; or values have other types than those that irbench writes.
    """
    if not plan.get("models"):
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
    goal = plan.get("goal") or {}
    return replace(
        _with_accuracy(_with_timing(plan), plan.get("accuracy")),
        models=tuple(map(_model, plan["models"], plan.get("sources") or plan["models"])),
        backends=tuple(address.removesuffix(":cpu") for address in plan.get("backends") or ())
        or _without_backends(plan),
        cells={name: Program(**program) for name, program in (plan.get("cells") or {}).items()},
        batch=_tuple(plan.get("batches")),
        streams=_tuple(plan.get("streams")) or (1,),
        instances=_tuple(plan.get("instances")) or (1,),
        precision=_tuple(plan.get("precisions")),
        optimize=_tuple(plan.get("variants")) or ("none",),
        threads=_threads(plan),
        cpus=_tuple(plan.get("cpus")),
        io=plan.get("io", "copy"),
        set={backend: dict(properties) for backend, properties in (plan.get("options") or {}).items()},
        vary=_varied(plan.get("alternatives")),
        require_full=bool(plan.get("require_full")),
        rows=_tuple(plan.get("rows")),
        shape=_tuples(plan.get("shapes")),
        shapes=_sweep(plan.get("sweep")),
        data=Path(plan["data"]) if plan.get("data") else None,
        value=_tuples(plan.get("values")),
        feedback=dict(plan.get("feedback") or {}),
        apart=bool(plan.get("apart", _had_several_tables(plan))),
        objective=goal.get("objective"),
        max_latency=None if goal.get("max_latency_ms") is None else goal["max_latency_ms"] / 1e3,
    )


def _with_timing(plan: Mapping[str, Any]) -> RunOptions:
    """Return options that ask for the protocol, the comparison and the name of a stored run, and for nothing else."""
    preset = str(plan.get("preset", "default"))
    usual = _PRESETS.get(preset, _PRESETS["default"])
    timing = planned_timing(plan) if "timing" in plan else usual
    counted = plan.get("counters") or {}
    return RunOptions(
        quick=preset == "quick",
        thorough=preset == "thorough",
        within=None if timing.within == usual.within else timing.within,
        deadline=timing.deadline if timing.deadline_by == "user" or timing.deadline != usual.deadline else None,
        warmup=_warm_up(timing),
        sustain=timing.sustain or None,
        energy=timing.energy,
        pace=timing.pace or None,
        tail=timing.tail,
        budget=plan.get("budget_s"),
        cold=bool(plan.get("cold")),
        counters=_tuple(counted.get("asked")),
        timeline=None if counted.get("timeline_ms") is None else counted["timeline_ms"] / 1e3,
        baseline=plan.get("baseline"),
        allow_mixed=bool(plan.get("allow_mixed")),
        seed=plan.get("seed", 0),
        name=str(plan.get("name") or ""),
        note=str(plan.get("note") or ""),
    )


def _warm_up(timing: Timing) -> WarmUpLength | None:
    """Return the length of the warm-up where it was given."""
    if timing.look_calls:
        return None
    return WarmUpLength(calls=timing.warm_up_calls) if timing.warm_up_calls else WarmUpLength(timing.warm_up)


def _with_accuracy(options: RunOptions, stored: Mapping[str, Any] | None) -> RunOptions:
    """Return options that ask for the stored limit, too."""
    if not stored:
        return options
    if not stored["function"]:
        return replace(options, min_accuracy=stored["limit"])
    return replace(options, metric=Metric(stored["function"], stored["bound"], stored["limit"]))


def _model(name: str, source: str) -> str:
    """Return what names a model again: its file, the bundle that still has its name, or what it was exported from."""
    is_file = source.endswith(".onnx")
    return source if source and (is_file or bundles.find(name) is None) else name


def _without_backends(plan: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return what asks for the user's own code alone, where nothing else was measured."""
    return ("none",) if plan.get("cells") else None


def _threads(plan: Mapping[str, Any]) -> tuple[int | Literal["native"], ...] | None:
    """Return the threads, ``None`` where instances share the default; older plans have one number, or none."""
    if "threads" not in plan or plan.get("divides_threads"):
        return None
    stored = plan["threads"] if isinstance(plan["threads"], Sequence) else [plan["threads"]]
    return tuple("native" if count is None else int(count) for count in stored)


def _had_several_tables(plan: Mapping[str, Any]) -> bool:
    """Whether a plan from before rows of several batches and models shared a table had a table for each."""
    return len(plan.get("batches") or ()) > 1 or len(plan["models"]) > 1


def _sweep(stored: Mapping[str, Sequence[Sequence[int]]] | None) -> Sweep | None:
    if not stored:
        return None
    ((name, shapes),) = stored.items()
    return name, tuple(map(tuple, shapes))


def _varied(stored: Mapping[str, Sequence[Mapping[str, str]]] | None) -> Varied:
    """Return the values that options had in all sets of them, in the order of the largest set.

    An option that a set lacks was not set there.
    """
    return {
        backend: {
            key: tuple(dict.fromkeys(each.get(key, AS_IT_IS) for each in sets))
            for key in dict.fromkeys(key for each in sorted(sets, key=len, reverse=True) for key in each)
        }
        for backend, sets in (stored or {}).items()
    }


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _tuples(stored: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(values) for name, values in (stored or {}).items()}
