"""The request for a run, with every name resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

import msgspec

from irbench.core.address import BackendAddress
from irbench.notices import Note
from irbench.optimizer import UNOPTIMIZED
from irbench.options.input_request import InputRequest
from irbench.options.run import RunOptions
from irbench.options.stored import stored_form
from irbench.options.values import Sweep
from irbench.perf_events.counter_plan import Counting
from irbench.spec import (
    AccuracyLimit,
    Bundle,
    CorunPlan,
    Goal,
    Io,
    Precision,
    Program,
    PythonEnvironment,
    SoakPlan,
    Timing,
    asked_objective,
)
from irbench.spec.serving import ServingPlan
from irbench.stats.eligibility import compares_all

Preset: TypeAlias = Literal["default", "quick", "thorough"]


@dataclass(frozen=True)
class RunRequest:
    """A whole run.

    Attributes:
        bundles: The models.
        backends: In the order given; one that comes twice is measured against itself.
        alternatives: Sets of properties that rows of a backend differ in, by its name: a row for each.
        programs: The user's own code, by what the user calls each row; rows after those of the backends.
        batches: Batch sizes; ``None`` for the model's fixed batch, or 1.
        streams: Numbers of inferences in flight.
        instances: Numbers of processes that run a model side by side.
        precisions: Precisions to pin; ``None`` for fp32, or another that a graph holds itself.
        variants: Levels of optimisation that ONNX graphs are measured at; ``none`` is the graph as it was exported.
        threads: Totals for each process, a row for each; ``None`` leaves it to the runtimes.
        divides_threads: Whether ``threads`` are shared by the instances of a row, which nobody asked for otherwise.
        cpus: Processors that workers may use; ``None`` for all that are allowed.
        io: What the timed region covers.
        options: Properties by backend name, then by key.
        shapes: Shapes given for inputs, and sizes of dynamic dimensions, by name.
        sweep: Shapes of the tables of a model; ``None`` for one shape.
        dynamic: Whether graphs with dynamic shapes are rows as well, in sessions that meet all shapes of the sweep.
        baseline: A row's name, optionally with settings, ``ort@streams=1,model=net``; ``None`` lets the plan choose.
        allow_mixed: Whether cells are compared whose runtimes chose different precisions by themselves.
        seed: Of inputs and random orders.
        timing: The protocol's numbers.
        budget_s: For the whole run; ``None`` gives each group ``timing.budget``.
        generate: How many tokens a call generates; ``None`` where calls are single inferences.
        prompt: Lengths of the prompts of generations.
        notes: What belongs below every table.
        preset: Which of the presets ``timing`` began with.
        command: The command line, in words; empty where there was none.
        cold: Whether cold starts are measured, in place of speeds.
        soak: How long rows are called to see whether they grow, in place of speeds; ``None`` where speeds are measured.
        corun: What rows are measured beside; ``None`` where nothing runs beside them.
        serving: Which loads of requests rows are given, in place of speeds; ``None`` where speeds are measured.
        name: What the user calls the run; empty without a name.
        note: What is to be remembered of it.
        inputs: Data and constants for inputs.
        apart: Whether each model and batch has a table of its own.
        side_by_side: Whether all models share tables, though their outputs may differ: each is verified against its own
            reference.
        goal: What rows are compared by; ``None`` where nothing was asked for.
        environments: Pythons whose runtimes are compared, a row in each; none for the one that irbench runs in.
        rows: Ids of the rows that are measured of all combinations; ``None`` for all.
        search_run: The id of the run that holds the search whose best rows it confirms; empty for none.
        accuracy: How good outputs must be for a row to be measured; ``None`` where only tolerances count.
        require_full: Whether a row fails of which some node runs on another device than was asked for.
        counting: What is counted in launches of its own after the speeds, and how; ``None`` where nothing is.
        asked: The options that it was made from; ``None`` where there were none, and it cannot be asked for again.
        training: The options of what is trained, how, and with which settings; ``None`` for anything else.
        traced_steps: How many steps of each row are traced after the speeds; 0 for none.
        is_part_of: What the run is a part of, ``tune`` for example, and cannot be continued without; empty for none.
    """

    bundles: tuple[Bundle, ...]
    backends: tuple[BackendAddress, ...]
    batches: tuple[int, ...] | None = None
    streams: tuple[int, ...] = (1,)
    instances: tuple[int, ...] = (1,)
    precisions: tuple[Precision, ...] | None = ("fp32",)
    variants: tuple[str, ...] = (UNOPTIMIZED,)
    threads: tuple[int | None, ...] = (1,)
    divides_threads: bool = False
    apart: bool = False
    side_by_side: bool = False
    goal: Goal | None = None
    cpus: tuple[int, ...] | None = None
    io: Io = "copy"
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    alternatives: Mapping[str, tuple[Mapping[str, str], ...]] = field(
        default_factory=dict[str, tuple[Mapping[str, str], ...]]
    )
    rows: tuple[str, ...] | None = None
    training: Mapping[str, Any] | None = None
    traced_steps: int = 0
    is_part_of: str = ""
    search_run: str = ""
    accuracy: AccuracyLimit | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    sweep: Sweep | None = None
    dynamic: bool = False
    generate: int | None = None
    prompt: tuple[int, ...] = ()
    baseline: str | None = None
    allow_mixed: bool = False
    seed: int = 0
    timing: Timing = field(default_factory=Timing)
    budget_s: float | None = None
    preset: Preset = "default"
    command: tuple[str, ...] = ()
    cold: bool = False
    soak: SoakPlan | None = None
    corun: CorunPlan | None = None
    serving: ServingPlan | None = None
    require_full: bool = False
    name: str = ""
    note: str = ""
    asked: RunOptions | None = None
    environments: tuple[PythonEnvironment, ...] = ()
    counting: Counting | None = None
    inputs: InputRequest = field(default_factory=InputRequest)
    programs: Mapping[str, Program] = field(default_factory=dict[str, Program])
    notes: tuple[Note, ...] = ()

    @property
    def addresses(self) -> tuple[BackendAddress, ...]:
        """All that rows are made of: the backends, then the user's own code."""
        return (*self.backends, *map(BackendAddress, self.programs))

    @property
    def measures_rows_alone(self) -> bool:
        """Whether cells are measured one after the other and not side by side, so that a table may have any number."""
        return self.cold or self.soak is not None or self.serving is not None

    @property
    def compares_all_precisions(self) -> bool:
        """Whether rows are compared whatever precisions their runtimes chose by themselves."""
        return compares_all(self.precisions, allow_mixed=self.allow_mixed)

    def with_budget_for(
        self, weight: int, weights: int, elapsed_s: float = 0.0, prepared_s: float | None = None
    ) -> RunRequest:
        """Return the request with the time of one table: its share of the whole run's budget, if it has one.

        Args:
            weight: How many times the work of the usual table it is.
            weights: The same of all tables that are still to be measured, this one included.
            elapsed_s: Since the command began: what it prepared counts, too.
            prepared_s: How long it prepared; ``None`` for what is known already.
        """
        timing = self.timing
        if self.budget_s is not None:
            left_s = max(0.0, self.budget_s - elapsed_s)
            before_s = timing.before_s if prepared_s is None else prepared_s
            return replace(self, timing=timing.within_budget(left_s * weight / weights, before_s))
        sized_for = None if timing.sized_for is None else timing.sized_for * weight
        return replace(self, timing=replace(timing, budget=timing.budget * weight, sized_for=sized_for))

    def after(self, spent_s: float) -> RunRequest:
        """Return the request with what is left of its budget, if it has one, once so much of it is spent."""
        if self.budget_s is None:
            return self
        left_s = max(0.0, self.budget_s - spent_s)
        return replace(self, budget_s=left_s, timing=self.timing.within_budget(left_s, spent_s))

    def as_plan(self) -> dict[str, Any]:
        """Return what was asked for as the run document records it: each field, in a form that JSON has."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in _PLANNED_OTHERWISE}
        values |= {
            "divides_threads": self.divides_threads and self.instances != (1,),
            "sweep": None if self.sweep is None else dict([self.sweep]),
            "asked": None if self.asked is None else stored_form(self.asked),
        }
        return {
            "models": [bundle.name for bundle in self.bundles],
            "sources": [bundle.source for bundle in self.bundles],
            "backends": [f"{name}:{device}" for name, device in self.backends],
            "cells": {name: asdict(program) for name, program in self.programs.items()},
            **_with_lists(msgspec.to_builtins(values)),
            "counters": None if self.counting is None else asdict(self.counting.plan),
            **self.inputs.as_plan(),
        }


def _with_lists(value: Any) -> Any:
    """Return a value with lists in place of tuples, as JSON has it."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return list(map(_with_lists, value)) if isinstance(value, list | tuple) else value


_PLANNED_OTHERWISE = ("bundles", "backends", "programs", "counting", "inputs", "notes")
_RESOLVED = ("backends", "threads")
"""What names of options become only when it is known what is there."""
_NAMES = {
    "batches": "batch", "options": "set", "shapes": "shape", "sweep": "shapes", "budget_s": "budget",
    "programs": "cells",
}  # fmt: skip
"""Of options, by the fields that hold their values under other names."""


def as_asked(options: RunOptions) -> RunRequest:
    """Return what options ask for, before their names are looked up: each field that is one of them is copied."""
    names = {item.name: _NAMES.get(item.name, item.name) for item in fields(RunRequest) if item.name not in _RESOLVED}
    copied = {name: getattr(options, option) for name, option in names.items() if hasattr(options, option)}
    return RunRequest(
        bundles=(),
        backends=(),
        divides_threads=options.threads is None,
        preset="quick" if options.quick else "thorough" if options.thorough else "default",
        goal=_goal(options),
        asked=options,
        **copied,
    )


def _goal(options: RunOptions) -> Goal | None:
    if options.objective is None and options.max_latency is None:
        return None
    limit_ms = None if options.max_latency is None else 1e3 * options.max_latency
    return Goal(asked_objective(options.objective or "fps"), limit_ms)
