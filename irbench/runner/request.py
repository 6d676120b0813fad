"""What was asked of a run, with every name resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from irbench.core.address import BackendAddress
from irbench.core.stored_plan import StoredPlan
from irbench.notices import Note
from irbench.optimizer import UNOPTIMIZED
from irbench.options.input_request import InputRequest
from irbench.options.run import RunOptions
from irbench.options.stored import stored_form
from irbench.perf_events.counter_plan import Counting
from irbench.spec import (
    AccuracyLimit,
    Bundle,
    CorunPlan,
    Goal,
    Precision,
    SoakPlan,
    Timing,
)
from irbench.spec.serving import ServingPlan
from irbench.stats.eligibility import compares_all
from irbench.system.prepared_types import prepared

DEFAULT_PROMPT = 32
"""Tokens of a prompt where nobody gives a number."""


@dataclass(frozen=True)
class RunRequest:
    """What was asked of a run, and what its names were resolved to.

    Attributes:
        bundles: The models.
        backends: In the order given; one that comes twice is measured against itself.
        asked: The options. What they name is looked up in the other fields, and all else is read here.
        is_repeatable: Whether the options ask for all of it again: ``irbench doctor`` chooses what it measures itself.
        alternatives: Sets of properties that rows of a backend differ in, by its name: a row for each.
        precisions: Precisions to pin; ``None`` for fp32, or another that a graph holds itself.
        variants: Levels of optimisation that ONNX graphs are measured at; ``none`` is the graph as it was exported.
        threads: Totals for each process, a row for each; ``None`` leaves it to the runtimes.
        timing: The protocol's numbers.
        budget_s: For the whole run; ``None`` gives each group ``timing.budget``.
        notes: What belongs below every table.
        soak: How long rows are called to see whether they grow, in place of speeds; ``None`` where speeds are measured.
        corun: What rows are measured beside; ``None`` where nothing runs beside them.
        serving: Which loads of requests rows are given, in place of speeds; ``None`` where speeds are measured.
        side_by_side: Whether all models share tables, though their outputs may differ: each is verified against its own
            reference.
        goal: What rows are compared by; ``None`` where nothing was asked for.
        search_run: The id of the run that holds the search whose best rows it confirms; empty for none.
        accuracy: How good outputs must be for a row to be measured; ``None`` where only tolerances count.
        counting: What is counted in launches of its own after the speeds, and how; ``None`` where nothing is.
        training: The options of what is trained, how, and with which settings; ``None`` for anything else.
        traced_steps: How many steps of each row are traced after the speeds; 0 for none.
        is_part_of: What the run is a part of, ``tune`` for example, and cannot be continued without; empty for none.
    """

    bundles: tuple[Bundle, ...]
    backends: tuple[BackendAddress, ...]
    asked: RunOptions = field(default_factory=RunOptions)
    is_repeatable: bool = True
    precisions: tuple[Precision, ...] | None = ("fp32",)
    variants: tuple[str, ...] = (UNOPTIMIZED,)
    threads: tuple[int | None, ...] = (1,)
    alternatives: Mapping[str, tuple[Mapping[str, str], ...]] = field(
        default_factory=dict[str, tuple[Mapping[str, str], ...]]
    )
    accuracy: AccuracyLimit | None = None
    counting: Counting | None = None
    goal: Goal | None = None
    timing: Timing = field(default_factory=Timing)
    budget_s: float | None = None
    side_by_side: bool = False
    soak: SoakPlan | None = None
    corun: CorunPlan | None = None
    serving: ServingPlan | None = None
    training: Mapping[str, Any] | None = None
    traced_steps: int = 0
    is_part_of: str = ""
    search_run: str = ""
    notes: tuple[Note, ...] = ()

    def asking(self, **changes: Any) -> RunRequest:
        """Return the request with other values of options that need no look-up: how the run is called, for example."""
        return replace(self, asked=replace(self.asked, **changes))

    @property
    def addresses(self) -> tuple[BackendAddress, ...]:
        """All that rows are made of: the backends, then the user's own code."""
        return (*self.backends, *map(BackendAddress, self.asked.cells))

    @property
    def inputs(self) -> InputRequest:
        """Data and constants for inputs; a generation feeds back what it asks for by itself."""
        inputs = self.asked.inputs
        return inputs if self.asked.generate is None else replace(inputs, feedback={})

    @property
    def prompts(self) -> tuple[int, ...]:
        """Lengths of the prompts of generations."""
        return self.asked.prompt or (DEFAULT_PROMPT,)

    @property
    def measures_rows_alone(self) -> bool:
        """Whether cells are measured one after the other and not side by side, so that a table may have any number."""
        return self.asked.cold or self.soak is not None or self.serving is not None

    @property
    def compares_all_precisions(self) -> bool:
        """Whether rows are compared whatever precisions their runtimes chose by themselves."""
        return compares_all(self.precisions, allow_mixed=self.asked.allow_mixed)

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

    def as_plan(self) -> StoredPlan:
        """Return what was asked for and what it was resolved to, as the run document holds it."""
        asked, counting = self.asked, self.counting
        values = {
            "models": [bundle.name for bundle in self.bundles],
            "sources": [bundle.source for bundle in self.bundles],
            "command": asked.command,
            "name": asked.name,
            "note": asked.note,
            "backends": [f"{name}:{device}" for name, device in self.backends],
            "cells": asked.cells,
            "environments": asked.environments,
            "batches": asked.batch,
            "shapes": asked.shape,
            "sweep": None if asked.shapes is None else dict([asked.shapes]),
            "dynamic": asked.dynamic,
            "generate": asked.generate,
            "prompt": () if asked.generate is None else self.prompts,
            "streams": asked.streams,
            "instances": asked.instances,
            "threads": self.threads,
            "divides_threads": asked.threads is None and asked.instances != (1,),
            "cpus": asked.cpus,
            "precisions": self.precisions,
            "variants": self.variants,
            "options": asked.set,
            "alternatives": self.alternatives,
            "io": asked.io,
            "seed": asked.seed,
            **asked.inputs.as_plan(),
            "rows": asked.rows,
            "baseline": asked.baseline,
            "apart": asked.apart,
            "side_by_side": self.side_by_side,
            "goal": self.goal,
            "accuracy": self.accuracy,
            "allow_mixed": asked.allow_mixed,
            "require_full": asked.require_full,
            "preset": "quick" if asked.quick else "thorough" if asked.thorough else "default",
            "timing": self.timing,
            "budget_s": self.budget_s,
            "cold": asked.cold,
            "soak": self.soak,
            "corun": self.corun,
            "serving": self.serving,
            "counters": None if counting is None else counting.plan,
            "training": self.training,
            "traced_steps": self.traced_steps,
            "is_part_of": self.is_part_of,
            "search_run": self.search_run,
            "asked": stored_form(asked) if self.is_repeatable else None,
        }
        return msgspec.convert(_with_lists(msgspec.to_builtins(values)), prepared(StoredPlan))


def _with_lists(value: Any) -> Any:
    """Return a value with lists in place of tuples, as it is when it was stored and read again."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return list(map(_with_lists, value)) if isinstance(value, list | tuple) else value
