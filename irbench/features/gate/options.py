"""The options of ``irbench gate``."""

from __future__ import annotations

from dataclasses import dataclass, field

from irbench.options import kinds
from irbench.options.conditions import Condition, slower_than
from irbench.options.option import CommandOptions, option
from irbench.options.run import (
    ALSO_MEASURED,
    COMMON,
    COMPARED,
    HOW_IT_RUNS,
    HOW_LONG,
    MODELS_AND_INPUTS,
    OUTPUT,
    RunOptions,
)

GATE_BUDGET_S = 120.0


@dataclass(frozen=True)
class GateOptions:
    """What must not get worse.

    Attributes:
        base: What NEW is compared with, as the user named it: a model, with settings behind an ``@``, or a stored run.
        new: The model that may have regressed, with settings behind an ``@``.
        run: What else is asked of every row.
        given: Names of the options of ``run`` that the user gave, also with the values of their defaults: these replace
            those of a stored run.
    """

    base: str
    new: str
    run: RunOptions = field(default_factory=RunOptions)
    given: frozenset[str] = frozenset()
    limit: float = option(
        kinds.SHARE,
        "Smallest slowdown that matters: the run ends when it is excluded, or when a regression is found.",
        default=0.05,
        default_text="5%",
    )
    fail_on: tuple[Condition, ...] = option(
        kinds.CONDITIONS,
        "Also fail if another figure gets worse by more: peak_memory:20%, ready:50%, size:0%, max_err:0.001.",
        default=(),
    )
    budget: float = option(
        kinds.DURATION, "Time limit for the whole gate, preparation included.", default=GATE_BUDGET_S, default_text="2m"
    )
    allow_own_code: bool = option(
        kinds.FLAG, "Allow a stored run as BASE to run the code and use the files that its plan names.", default=False
    )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What must not happen: a time that is longer by the limit comes first."""
        return tuple(dict.fromkeys((slower_than(self.limit), *self.fail_on)))


GATE = CommandOptions(
    "gate",
    GateOptions,
    RunOptions,
    sections={
        COMMON: (
            "limit", "fail_on", "budget", "backends", "batch", "streams", "threads", "precision", "optimize",
        ),
        MODELS_AND_INPUTS: ("imports", "shape", "data", "value", "generate", "prompt", "seed", "allow_own_code"),
        COMPARED: ("cells", "instances", "min_accuracy", "classes", "metric"),
        HOW_IT_RUNS: ("cpus", "set", "io"),
        ALSO_MEASURED: ("tail", "sustain", "energy"),
        HOW_LONG: ("deadline", "warmup", "no_lock"),
        OUTPUT: ("name", "note", "results"),
    },
    changes={
        "batch": {"help": "Batch sizes; each is compared with the same one."},
        "optimize": {"help": "Optimisation levels; each is compared with the same one."},
    },
)  # fmt: skip
