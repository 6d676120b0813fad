"""The options of the commands that measure besides ``irbench run``: their own, and which of a run's they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.options import kinds
from irbench.options.expectation import Expectation, parse_expectation
from irbench.options.option import CommandOptions, option
from irbench.options.run import HOW_IT_RUNS, HOW_LONG, OUTPUT, RunOptions
from irbench.options.values import text
from irbench.spec import Objective

Criterion: TypeAlias = Literal["speed", "answer"]

REDUCE_BUDGET_S = 600.0
MIN_SHARE = 0.01
TUNE_BUDGET_S = 300.0
_INPUTS = ("imports", "batch", "shape", "data", "value")
_OF_ONE_TABLE = "; one table for each"
_UP_TO_ALL = "up to all processors"
_ONE_BATCH = {"help": "Batch size."}
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
        "What is compared": (
            "a", "b", "backend", *_INPUTS, "feedback", "streams", "instances", "precision", "optimize", "objective",
            "allow_mixed",
        ),
        HOW_IT_RUNS: ("threads", "cpus", "set", "io", "seed"),
        HOW_LONG: (
            "within", "budget", "deadline", "quick", "thorough", "tail", "pace", "warmup", "sustain", "cold",
            "no_lock", "name", "note",
        ),
        OUTPUT: ("results",),
    },
    changes={
        "batch": {"help": f"Batch sizes{_OF_ONE_TABLE}, as for streams, instances, precisions and threads."},
        "optimize": {"help": "Optimisation levels; two rows for each."},
    },
)  # fmt: skip


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
        "": (
            "all", "imports", "duration", "calls", "growth_limit", "backends", "batch", "shape", "data", "value",
            "streams", "precision", "optimize", "threads", "cpus", "set", "io", "seed", "deadline", "no_lock", "name",
            "note", "results",
        )
    },
    changes={
        "all": {"help": "Soak every exported model."},
        "backends": {"help": "Backends to call, with an optional device: ort:cuda."},
        "batch": {"help": f"Batch sizes{_OF_ONE_TABLE}."},
        "optimize": {"help": "Optimisation levels; one row for each."},
        "seed": {"help": "Seed for inputs."},
        "deadline": {"default_text": "300s"},
    },
)  # fmt: skip


@dataclass(frozen=True)
class TuneOptions:
    """What is searched.

    Attributes:
        model: As the user named it.
        run: What else is asked of every row; its ``batch``, ``threads`` and ``precision`` are lists to try, too.
    """

    model: str
    run: RunOptions = field(default_factory=RunOptions)
    objective: Objective = option(
        kinds.OBJECTIVE,
        "What is to be the best: the median latency, FPS, or cost, the processor time per sample.",
        default="fps",
    )
    max_latency: float | None = option(kinds.LATENCY, "Only settings whose p90 latency is at most this.")
    budget: float = option(
        kinds.DURATION, "Time limit for searching and confirming.", default=TUNE_BUDGET_S, default_text="5m"
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


TUNE = CommandOptions(
    "tune",
    TuneOptions,
    RunOptions,
    sections={
        "What is the best": ("objective", "max_latency", "min_accuracy", "metric", "budget", "flip_map"),
        "What is searched": (
            "backends", "batch", "threads", "streams", "instances", "precision", "optimize", "vary",
        ),
        "What is the same for every setting": (
            "cpus", "set", "imports", "shape", "data", "value", "io", "seed", "within", "deadline", "warmup",
            "no_lock", "name", "note",
        ),
        OUTPUT: ("results",),
    },
    changes={
        "backends": {"help": "Backends to try, with an optional device: ort:cuda."},
        "batch": {"help": "Batch sizes to try.", "default_text": "1,2,4,8,16; 1 for latency"},
        "threads": {"help": "Threads per process to try.", "default_text": _UP_TO_ALL},
    },
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ProfileSettings:
    """What is profiled, and for how long."""

    compare: tuple[str, str] | None = option(
        kinds.LEVEL_PAIR,
        "Profile each backend at two optimisation levels, and show what changed; graph is the exported graph.",
    )
    batch: int | None = option(kinds.COUNT, "Samples per call.", metavar="N", default_text="1, or the model's own")
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


_EXPECTATION = kinds.Kind(
    '"ort slower than openvino by 1.5x"',
    "str",
    lambda value: parse_expectation(text(value)),
    "'ort slower than openvino by 1.5x'",
)


@dataclass(frozen=True, kw_only=True)
class ReduceSettings:
    """Which difference is kept, and how it is searched."""

    expect: Expectation | None = option(
        _EXPECTATION, "The difference to keep; also 'openvino wrong' and 'ort fails'. Without a number it is 1.2x."
    )
    expect_wrong: str | None = option(kinds.BACKEND, "The backend whose outputs are wrong.")
    expect_failure: str | None = option(kinds.BACKEND, "The backend that refuses the graph, or crashes.")
    output: Path | None = option(
        kinds.PATH,
        "Folder for reduced.onnx, inputs.npz, expected.npz and report.md.",
        default_text="MODEL-reduced",
        short="-o",
        metavar="DIR",
    )
    budget: float = option(
        kinds.DURATION, "Time limit for the whole search.", default=REDUCE_BUDGET_S, default_text="10m"
    )
    min_share: float = option(
        kinds.SHARE,
        "Least share of the slower backend's total loss that a part must show.",
        default=MIN_SHARE,
        default_text="1%",
    )


REDUCE = CommandOptions(
    "reduce",
    ReduceSettings,
    RunOptions,
    sections={
        "": (
            "expect", "expect_wrong", "expect_failure", "output", "budget", "min_share", *_INPUTS, "precision",
            "threads", "cpus", "set", "io", "seed", "deadline", "no_lock", "results",
        )
    },
    changes={
        "batch": _ONE_BATCH,
        "data": {"help": "Sample that the inputs come from: a .npz, .npy or image file, or a data set."},
    },
)  # fmt: skip


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
        "": (
            "runtime", "first", "last", "by", "threshold", "backend", *_INPUTS, "feedback", "streams", "precision",
            "threads", "cpus", "set", "io", "seed", "budget", "deadline", "warmup", "no_lock", "results",
        )
    },
    changes={
        "batch": _ONE_BATCH,
        "budget": {
            "help": "Time limit for each comparison; one that stays undecided is repeated twice, each time with twice"
            " as much.",
            "default_text": "90s",
        },
    },
)  # fmt: skip
