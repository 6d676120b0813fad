"""The options of ``irbench tune``."""

from __future__ import annotations

from dataclasses import dataclass, field

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import OUTPUT, RunOptions
from irbench.spec import AskedObjective, Goal, Objective, asked_objective
from irbench.spec.serving import ServiceLevel

TUNE_BUDGET_S = 300.0


_HIGHEST_RATE = "the best is what keeps the level at the highest rate"
_UP_TO_ALL = "up to all processors"
_TESTED_PERCENTILE = 90
"""Calls are judged by theirs: it says nothing of a level that fewer requests must keep."""


@dataclass(frozen=True)
class TuneOptions:
    """What is searched.

    Attributes:
        model: As the user named it.
        run: What else is asked of every row; its ``batch``, ``threads`` and ``precision`` are lists to try, too.
    """

    model: str
    run: RunOptions = field(default_factory=RunOptions)
    objective: AskedObjective = option(
        kinds.OBJECTIVE,
        "What is to be the best: the median latency, FPS, or cost, the processor time per sample; tokens/s with"
        " --generate.",
        default="fps",
    )
    max_latency: float | None = option(kinds.LATENCY, "Only settings whose p90 latency is at most this.")
    slo: ServiceLevel | None = option(
        kinds.SERVICE_LEVEL,
        "Service level of requests that arrive on their own: the best setting keeps it at the highest rate of them.",
        excludes={
            "max_latency": "the level limits what requests take, and calls with them",
            **dict.fromkeys(("objective=latency", "objective=cost", "objective=tokens/s"), _HIGHEST_RATE),
            "generate": "requests are single inferences",
            "flip_map": "it compares calls back to back",
            "io=bound": "each request brings its inputs",
        },
    )
    batch_wait: float | None = option(
        kinds.LATENCY,
        "With --slo: how long a call waits for its batch to be full, from the arrival of its first request.",
        default_text="not at all",
    )
    budget: float = option(
        kinds.DURATION, "Time limit for preparing, searching and confirming.", default=TUNE_BUDGET_S, default_text="5m"
    )
    flip_map: bool = option(
        kinds.FLAG,
        "Also measure under which nearby conditions another setting would win; takes up to half of --budget on top.",
        default=False,
    )
    streams: tuple[int, ...] | None = option(
        kinds.COUNTS,
        "Concurrent inferences of each process to try.",
        default_text=f"{_UP_TO_ALL}; 1 for latency",
    )
    instances: tuple[int, ...] | None = option(
        kinds.COUNTS,
        "Numbers of processes side by side, with processors of their own, to try.",
        default_text=f"{_UP_TO_ALL}; 1 for latency",
    )
    optimize: tuple[str, ...] | None = option(kinds.LEVELS, "Optimisation levels to try.", default_text="none,extended")

    @property
    def compared_by(self) -> Objective:
        """What settings are compared by."""
        return asked_objective(self.objective)

    @property
    def goal(self) -> Goal:
        """What calls are compared by, and their limit: those that alone miss a service level cannot keep it."""
        if self.slo is not None and self.slo.percentile >= _TESTED_PERCENTILE:
            return Goal(self.compared_by, self.slo.limit_ms, self.slo)
        return Goal(self.compared_by, None if self.max_latency is None else 1e3 * self.max_latency)


TUNE = CommandOptions(
    "tune",
    TuneOptions,
    RunOptions,
    sections={
        "What is the best": (
            "objective", "max_latency", "slo", "batch_wait", "min_accuracy", "classes", "metric", "budget",
            "flip_map",
        ),
        "What is searched": (
            "backends", "batch", "threads", "streams", "instances", "precision", "optimize", "vary",
        ),
        "What is the same for every setting": (
            "cpus", "set", "imports", "shape", "data", "value", "generate", "prompt", "io", "seed", "within",
            "deadline", "warmup", "no_lock", "name", "note",
        ),
        OUTPUT: ("results",),
    },
    changes={
        "backends": {"help": "Backends to try, with an optional device: ort:cuda."},
        "batch": {"help": "Batch sizes to try.", "default_text": "1,2,4,8,16; 1 for latency and with --data"},
        "threads": {"help": "Threads per process to try.", "default_text": _UP_TO_ALL},
    },
)  # fmt: skip
