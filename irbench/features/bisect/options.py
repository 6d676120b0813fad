"""The options of ``irbench bisect``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import INPUTS, RunOptions

Criterion: TypeAlias = Literal["speed", "answer"]
"""What is compared: how fast the model runs, or its outputs."""


@dataclass(frozen=True, kw_only=True)
class BisectOptions:
    """Which versions are searched, and for what.

    Attributes:
        model: As the user named it.
        run: What is measured and how.
    """

    model: str
    run: RunOptions = field(default_factory=RunOptions)
    runtime: str = option(
        kinds.text('"onnxruntime"', "NAME"),
        "Distribution whose versions are searched: onnxruntime.",
        required=True,
    )
    first: str = option(kinds.text('"1.22"', "VERSION"), "Oldest version.", flag="--from", required=True)
    last: str = option(kinds.text('"1.23.2"', "VERSION"), "Newest version.", flag="--to", required=True)
    by: Criterion = option(
        kinds.one_of(Criterion),
        "What changed: speed measures each version against the oldest, answer compares its outputs with those of the"
        " oldest.",
        default="speed",
    )
    threshold: float | None = option(
        kinds.SHARE,
        "Smallest change that counts; with --by answer, the largest relative error that does not count.",
        default_text="3%, or the tolerance of the precision",
    )
    backend: str | None = option(
        kinds.BACKEND,
        "Backend to measure, with an optional device: ort:cuda.",
        default_text="the one of the runtime",
    )


BISECT = CommandOptions(
    "bisect",
    BisectOptions,
    RunOptions,
    sections={
        "Versions": ("runtime", "first", "last", "by", "threshold", "backend"),
        "Models and inputs": (*INPUTS, "feedback", "seed"),
        "Configuration": ("streams", "precision", "threads", "cpus", "set", "io"),
        "Duration": ("budget", "deadline", "warmup"),
        "Output": ("no_lock", "results"),
    },
    single=("batch", "streams", "precision", "threads"),
    changes={
        "batch": {"help": "Batch size."},
        "budget": {
            "help": "Time limit for each comparison; one that stays undecided is repeated twice, each time with twice"
            " as much.",
            "default_text": "90s",
        },
    },
)  # fmt: skip
