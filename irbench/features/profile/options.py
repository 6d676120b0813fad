"""The options of ``irbench profile``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import HOW_IT_RUNS, OUTPUT, RunOptions


@dataclass(frozen=True, kw_only=True)
class ProfileSettings:
    """What is profiled, and for how long."""

    compare: tuple[str, str] | None = option(
        kinds.LEVEL_PAIR,
        "Profile each backend at two optimisation levels, and show what changed; graph is the exported graph.",
    )
    batch: int | None = option(kinds.BATCH, "Samples per call.", default_text="1, or the model's own")
    optimize: str = option(kinds.LEVEL, "Optimisation level of the graph.", default="none")
    precision: str | None = option(
        kinds.PRECISION,
        "Precision to compute in; native is the runtime's default.",
        default_text="fp32, or that of the graph",
    )
    launches: int | None = option(
        kinds.COUNT, "Launches of each backend.", metavar="N", default_text="4, and 6 counted ones"
    )
    inferences: int | None = option(
        kinds.COUNT,
        "Profiled inferences of each launch; short ones are repeated more often.",
        metavar="N",
        default_text="20",
    )
    budget: float | None = option(kinds.DURATION, "Time limit for all launches.", default_text="5m")
    threads: int | Literal["native"] | None = option(
        kinds.THREADS,
        "Threads in total, or native: each runtime's default.",
        default_text="the available physical cores",
    )


PROFILE = CommandOptions(
    "profile",
    ProfileSettings,
    RunOptions,
    sections={
        "What is profiled": ("backends", "compare", "batch", "optimize", "shape", "data", "value", "imports"),
        HOW_IT_RUNS: ("threads", "precision", "cpus", "set", "seed", "counters"),
        "How long": ("launches", "inferences", "budget", "deadline", "no_lock"),
        OUTPUT: ("results",),
    },
    changes={"backends": {"help": "Backends to profile, with an optional device: ort:cuda."}},
)
