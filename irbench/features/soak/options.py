"""The options of ``irbench soak``."""

from __future__ import annotations

from dataclasses import dataclass

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import ONE_TABLE_EACH, RunOptions


@dataclass(frozen=True, kw_only=True)
class SoakOptions:
    """How long rows are called, and what growth matters."""

    duration: float | None = option(kinds.DURATION, "Time to call each row.", flag="--for", default_text="60s")
    calls: int | None = option(kinds.COUNT, "Calls of each row instead of a time.", default_text="off")
    growth_limit: float | None = option(
        kinds.POSITIVE,
        "Growth per call that matters. Memory counts as steady below it, and as growing above it.",
        metavar="BYTES",
        default_text="1000",
    )


SOAK = CommandOptions(
    "soak",
    SoakOptions,
    RunOptions,
    sections={
        "Duration and growth": ("duration", "calls", "growth_limit", "deadline"),
        "Models and inputs": ("all", "imports", "shape", "data", "value", "seed"),
        "Configurations": ("backends", "batch", "streams", "precision", "optimize", "threads", "cpus", "set", "io"),
        "Output": ("no_lock", "name", "note", "results"),
    },
    changes={
        "all": {"help": "Soak every exported model."},
        "backends": {"help": "Backends to call, with an optional device: ort:cuda."},
        "batch": {"help": f"Batch sizes{ONE_TABLE_EACH}."},
        "optimize": {"help": "Optimisation levels; one row for each."},
        "seed": {"help": "Seed for inputs."},
        "deadline": {"default_text": "300s"},
    },
)  # fmt: skip
