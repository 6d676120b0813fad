"""The options of ``irbench corun``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from irbench.options import kinds, values
from irbench.options.kinds import Kind
from irbench.options.option import CommandOptions, option
from irbench.options.run import (
    ALSO_MEASURED,
    COMMON,
    HOW_IT_RUNS,
    HOW_LONG,
    MODELS_AND_INPUTS,
    ONE_TABLE_EACH,
    OUTPUT,
    RunOptions,
)
from irbench.spec import PRESSURES
from irbench.spec.neighbours import FULL
from irbench.system.controls import CONTROLS, Control

DEFAULT_INTENSITIES = (0, 25, 50, 75, 100)
LOWEST_RATE = 2.0
"""In calls per second: rounds last two periods, and there are dozens of them."""
DEFAULT_WARM_UP_S = 1.0
"""Of a command: a shell's is ready much earlier, and a program of Python's that imports much is not."""


def neighbour_names(given: Any) -> tuple[str, ...]:
    """Read what runs beside a model: pressures, models and command lines, as a list or one text.

    A text without spaces may name several, separated by commas.

    Raises:
        ValueError: One is empty.
    """
    texts = [given] if isinstance(given, str) else [values.text(each) for each in given]
    named = [name.strip() for text in texts for name in ([text] if " " in text.strip() else text.split(","))]
    if not all(named) or not named:
        raise ValueError("the name of a neighbour is empty")
    return tuple(dict.fromkeys(named))


def intensities(given: Any) -> tuple[int, ...]:
    """Read intensities in percent, ascending.

    Raises:
        ValueError: One is not a whole number from 0 to 100.
    """
    texts: Iterable[Any] = given.split(",") if isinstance(given, str) else (given,) if isinstance(given, int) else given
    read = [_intensity(each) for each in texts]
    if not read:
        raise ValueError("no intensity is given")
    return tuple(sorted(set(read)))


def controls(given: Any) -> tuple[Control, ...]:
    """Read what holds a neighbour back.

    Raises:
        ValueError: There is no such control.
    """
    read = values.one_of(*CONTROLS)
    return tuple(cast("Control", read(name)) for name in values.names(given))


def _intensity(given: Any) -> int:
    text = str(given).strip().removesuffix("%")
    if not text.isdecimal() or int(text) > FULL:
        raise ValueError(f"{str(given).strip()} is not a whole number from 0 to {FULL}")
    return int(text)


_NEIGHBOURS = Kind(
    '["bandwidth", "resnet50"]', "str | Iterable[str]", neighbour_names, "NEIGHBOUR",
    entry=neighbour_names,
    collect=lambda _flag, entries: tuple(dict.fromkeys(name for names in entries for name in names)),
    written=list,
)  # fmt: skip
_CONTROLS = Kind('["affinity", "nice"]', "str | Iterable[str]", controls, "a,b", "CONTROL,...", written=list)
_INTENSITIES = Kind("[0, 50, 100]", "str | int | Iterable[int]", intensities, "0,50,100", "N,...", written=list)


@dataclass(frozen=True, kw_only=True)
class CorunOptions:
    """What runs beside the models."""

    beside: tuple[str, ...] = option(
        _NEIGHBOURS,
        f"What runs beside the models: {', '.join(PRESSURES)} (pressure from a program of irbench's own), another"
        " model, or a command, in which {intensity} stands for the intensity.",
        flag="--with",
        default=(),
        default_text="of several models, each beside each",
    )
    intensity: tuple[int, ...] | None = option(
        _INTENSITIES,
        "Shares of the time in which pressure is put on, and what {intensity} of a command becomes, in percent.",
        default_text=",".join(map(str, DEFAULT_INTENSITIES)),
    )
    rate: float | None = option(
        kinds.POSITIVE,
        f"How often a model that runs beside others is called in a second, {LOWEST_RATE:g} or more.",
        metavar="CALLS",
        default_text="as soon as it has answered",
    )
    neighbour_warmup: float | None = option(
        kinds.DURATION,
        "How long a command that runs beside models runs in each launch before the first block.",
        default_text=f"{DEFAULT_WARM_UP_S:g}s",
    )
    neighbour_cpus: tuple[int, ...] | None = option(
        kinds.CPUS,
        "Processors for what runs beside the models.",
        default_text="those that the models do not use, if there are any; of cpu, those that they use",
    )
    isolate: tuple[Control, ...] = option(
        _CONTROLS,
        f"Measure beside each neighbour at its highest intensity once more with each control: {', '.join(CONTROLS)}.",
        default=(),
        default_text="none",
    )


CORUN = CommandOptions(
    "corun",
    CorunOptions,
    RunOptions,
    sections={
        COMMON: (
            "beside", "intensity", "rate", "backends", "batch", "streams", "threads", "precision", "optimize", "quick",
            "budget",
        ),
        MODELS_AND_INPUTS: ("imports", "shape", "data", "value", "seed"),
        HOW_IT_RUNS: ("cpus", "neighbour_cpus", "isolate", "set", "io"),
        ALSO_MEASURED: ("tail", "counters", "timeline"),
        HOW_LONG: ("thorough", "within", "deadline", "warmup", "neighbour_warmup", "no_lock"),
        OUTPUT: ("name", "note", "results"),
    },
    changes={
        "backends": {"help": f"Backends to measure, with an optional device: ort:cuda{ONE_TABLE_EACH}."},
        "batch": {"help": f"Batch sizes{ONE_TABLE_EACH}, as for streams, precisions, threads and levels."},
        "optimize": {"help": "Optimisation levels: none, basic, extended, all; with a conversion: basic-int8, int8."},
        "cpus": {"help": "Processors for the models to use."},
    },
)  # fmt: skip
