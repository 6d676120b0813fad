"""The options of ``irbench serve``."""

from __future__ import annotations

from dataclasses import dataclass

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import ONE_TABLE_EACH, RunOptions
from irbench.spec.serving import SAMPLES_OF_QUERY, Scenario, ServiceLevel


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How requests arrive, and what answers must keep."""

    scenario: Scenario = option(
        kinds.one_of(Scenario),
        "How requests arrive: server: on their own, at a mean rate; offline: all at once; single: each after the answer"
        f" to the one before; multistream: {SAMPLES_OF_QUERY} at a time.",
        default="server",
    )
    rate: tuple[float, ...] = option(
        kinds.RATES,
        "Requests per second, on average; a load for each. Without it, the highest rate that keeps --slo is searched.",
        default=(),
    )
    slo: ServiceLevel | None = option(
        kinds.SERVICE_LEVEL,
        "Service level that answers must keep: that percentile of latency, from arrival to answer, within a time.",
    )
    duration: float | None = option(
        kinds.DURATION, "How long requests of each load arrive, in every launch.", flag="--for", default_text="5s"
    )
    queue: int | None = option(
        kinds.COUNT,
        "Refuse requests that arrive while this many others wait for the same process.",
        default_text="any number waits",
    )
    timeout: float | None = option(
        kinds.LATENCY, "Give up requests that wait longer than this.", default_text="they wait"
    )
    batch_wait: float | None = option(
        kinds.LATENCY,
        "With --batch above 1: how long a call waits for its batch to be full, from the arrival of its first request.",
        default_text="not at all",
    )


SERVE = CommandOptions(
    "serve",
    ServeOptions,
    RunOptions,
    sections={
        "Load": ("scenario", "rate", "slo", "duration", "queue", "timeout", "batch_wait"),
        "Models and inputs": ("all", "imports", "shape", "data", "value", "seed"),
        "What is compared": ("backends", "cells", "batch", "streams", "instances", "precision", "optimize", "threads",
                             "cpus", "set"),
        "Duration": ("budget", "deadline"),
        "Output": ("no_lock", "name", "note", "results"),
    },
    changes={
        "all": {"help": "Serve every exported model."},
        "backends": {"help": "Backends that answer, with an optional device: ort:cuda."},
        "batch": {"help": f"Requests that a call answers at most; one that is not full costs as much{ONE_TABLE_EACH}."},
        "streams": {"help": "Calls in flight at most, of each process."},
        "instances": {"help": "Processes that answer, each on its own processors and with a queue of its own; requests"
                      " are spread over them at random."},
        "optimize": {"help": "Optimisation levels; one row for each."},
        "budget": {"help": "Time for the whole command; no round of launches begins that would end later.",
                   "default_text": "six launches of each row"},
        "seed": {"help": "Seed for inputs, and for the times at which requests arrive."},
        "deadline": {"default_text": "300s"},
    },
)  # fmt: skip
