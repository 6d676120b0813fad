"""The options of ``irbench ab``."""

from __future__ import annotations

from dataclasses import dataclass
from os import fspath

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import (
    ALSO_MEASURED,
    COMMON,
    COMPARED,
    HOW_IT_RUNS,
    HOW_LONG,
    MODELS_AND_INPUTS,
    ONE_TABLE_EACH,
    OUTPUT,
    RunOptions,
)
from irbench.options.values import text

_RUNTIME_OF_BOTH = "the one whose runtime both have"


_VERSION = kinds.Kind('"onnxruntime==1.23.2"', "str | PathLike[str]", lambda value: text(fspath(value)), "VERSION")


@dataclass(frozen=True, kw_only=True)
class AbOptions:
    """Which versions of a runtime are compared."""

    b: str = option(_VERSION, "Version that is compared with it, in the same forms.", required=True)
    a: str = option(
        _VERSION,
        "Version that speedups are relative to: a release (onnxruntime==1.22.0), a wheel, or the Python of an"
        " environment.",
        default="installed",
    )
    backend: str | None = option(
        kinds.BACKEND, "Backend to measure, with an optional device: ort:cuda.", default_text=_RUNTIME_OF_BOTH
    )


AB = CommandOptions(
    "ab",
    AbOptions,
    RunOptions,
    sections={
        COMMON: (
            "a", "b", "backend", "batch", "streams", "threads", "precision", "optimize", "quick", "budget",
        ),
        MODELS_AND_INPUTS: ("imports", "shape", "data", "value", "feedback", "seed"),
        COMPARED: ("instances", "objective", "within", "allow_mixed"),
        HOW_IT_RUNS: ("cpus", "set", "io"),
        ALSO_MEASURED: ("tail", "pace", "sustain", "cold"),
        HOW_LONG: ("thorough", "deadline", "warmup", "no_lock"),
        OUTPUT: ("name", "note", "results"),
    },
    changes={
        "batch": {"help": f"Batch sizes{ONE_TABLE_EACH}, as for streams, instances, precisions and threads."},
        "optimize": {"help": "Optimisation levels; two rows for each."},
    },
)  # fmt: skip
