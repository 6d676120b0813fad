"""The options of a run: ``irbench run``, :func:`irbench.run` and plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from irbench.options import kinds
from irbench.options.input_request import DataSource, InputRequest
from irbench.options.option import CommandOptions, field_of, flag, option, read_keywords
from irbench.options.own_code import Metric, Programs
from irbench.options.values import Constants, Feedback, Settings, Shapes, Sweep, Varied
from irbench.spec import AskedObjective, Io, PythonEnvironment, WarmUpLength

COMMON = "Common options"
MODELS_AND_INPUTS = "Models and inputs"
COMPARED = "What is compared"
HOW_IT_RUNS = "How it runs"
ALSO_MEASURED = "What else is measured"
HOW_LONG = "How long, and how precise"
OUTPUT = "Output"
_COLD = "cold starts are a run of their own"
_ONE_SHAPE = "accuracy is that of inputs of one shape"
_SINGLE_CALLS = "accuracy is that of single calls"
_BACKENDS_ALONE = "accuracy is measured of backends"
INPUTS = ("imports", "batch", "shape", "data", "value")
ONE_TABLE_EACH = "; one table for each"
SIZE_HELP = "of an input, or size of a dynamic dimension"


@dataclass(frozen=True)
class RunOptions:
    """What is asked of a run, read but not resolved: whether models and backends exist is not known yet.

    Durations are in seconds.

    Attributes:
        models: What is measured, as the user named it.
        command: The command line that asked for it; empty where there was none.
        environments: Pythons whose runtimes are compared; none for the one that irbench runs in.
    """

    models: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environments: tuple[PythonEnvironment, ...] = ()

    backends: tuple[str, ...] | None = option(
        kinds.BACKENDS,
        "Backends to compare, with an optional device: ort:cuda; none for the rows of --cell alone.",
        default_text="all installed that can read the model",
        plan="list",
        group=COMMON,
    )
    batch: tuple[int, ...] | None = option(
        kinds.COUNTS, "Batch sizes.", default_text="1, or the model's own", plan="list", is_looked_up=False
    )
    streams: tuple[int, ...] = option(kinds.COUNTS, "Concurrent inferences.", default=(1,), plan="list")
    threads: tuple[int | Literal["native"], ...] | None = option(
        kinds.THREAD_COUNTS,
        "Threads per process in total, or native: each runtime's default.",
        default_text="the available physical cores",
        plan="list",
    )
    precision: tuple[str, ...] | None = option(
        kinds.PRECISIONS,
        "fp32, bf16, fp16, int8, or native (the runtime's default).",
        default_text="fp32, or that of the graph",
        plan="list",
    )
    optimize: tuple[str, ...] = option(
        kinds.LEVELS,
        "Optimisation levels to compare: none, basic, extended, all; with a conversion: basic-int8, int8, int8-static."
        " Converted graphs are compared although their precision differs.",
        default=("none",),
        plan="list",
    )
    quick: bool = flag(
        "3 launches: fast, with wide intervals.", excludes={"thorough": "one is for speed, the other for precision"}
    )
    budget: float | None = option(
        kinds.DURATION, "Time limit for the whole run.", default_text="90s per table, 5m with --tail"
    )
    all: bool = flag("Run every exported model.", group=MODELS_AND_INPUTS, plan="none")
    imports: tuple[str, ...] = option(
        kinds.MODULES,
        "Module to import before a model is exported, which registers custom layers",
        default=(),
        flag="--import",
        plan="list",
        changes_cell=False,
    )
    shape: Shapes = option(
        kinds.SHAPES,
        "Shape of an input, or size of a dynamic dimension: length=128; --batch overrides its batch",
        default={},
        plan="list",
        is_looked_up=False,
    )
    shapes: Sweep | None = option(
        kinds.SWEEP,
        "Several shapes of an input, or sizes of a dimension (length=128,64): one table for each.",
        excludes={
            "min_accuracy": _ONE_SHAPE,
            "metric": _ONE_SHAPE,
            "data": "shapes are measured with generated inputs",
        },
    )
    dynamic: bool = flag(
        "With --shapes: also measure the graph with dynamic shapes in a session that meets all of them, and the first"
        " call of a new shape.",
        excludes={"feedback": "a decode loop has one shape", "io=bound": "memory is bound to one shape"},
    )
    data: DataSource | None = option(
        kinds.DATA,
        "Samples that take turns as inputs, one in each call unless --batch joins them: a folder of .npz, .npy, images"
        " or data sets, or one file.",
        plan="list",
        is_looked_up=False,
    )
    value: Constants = option(kinds.CONSTANTS, "Constant for an input", default={}, plan="list")
    feedback: Feedback = option(
        kinds.FEEDBACK,
        "Feed an output to an input of the next call, as in a decode loop",
        default={},
        excludes={"min_accuracy": _SINGLE_CALLS, "metric": _SINGLE_CALLS},
    )
    generate: int | None = option(
        kinds.COUNT,
        "Generate this many tokens in each call, with a decoder that takes and gives its cache.",
        default_text="off",
        excludes={
            "shapes": "a generation has a prompt and caches that grow",
            **dict.fromkeys(("min_accuracy", "classes", "metric"), _SINGLE_CALLS),
            "pace": "tokens follow each other at once",
            "counters": "counters are of single calls",
        },
    )
    prompt: tuple[int, ...] = option(
        kinds.COUNTS,
        "With --generate: tokens in the prompt; one table for each.",
        default=(),
        default_text="32",
        plan="list",
    )
    seed: int = option(
        kinds.SEED,
        "Seed for inputs and for the measurement order.",
        default=0,
        default_text="0",
        plan="list",
        is_looked_up=False,
    )
    cells: Programs = option(
        kinds.CELLS,
        "Your own code as a row: name=package.module:function, also of stages in order, a command that prints a"
        " duration for each call, or the address of a model of a server: name=http://host:8000/v2/models/NAME",
        default={},
        flag="--cell",
        excludes={
            "instances": "code of your own starts its own processes",
            "min_accuracy": _BACKENDS_ALONE,
            "metric": _BACKENDS_ALONE,
        },
        group=COMPARED,
    )
    instances: tuple[int, ...] = option(
        kinds.COUNTS,
        "Processes that run the model side by side, each on its own processors: compared by throughput.",
        default=(1,),
        plan="list",
    )
    vary: Varied = option(
        kinds.VARIED, "Values of an option of a backend, or default where it is not set: one row for each", default={}
    )
    rows: tuple[str, ...] | None = option(
        kinds.NAMES,
        "Measure only the rows with these ids, as irbench show --format json prints them.",
        default_text="all combinations",
    )
    baseline: str | None = option(
        kinds.ROW,
        "Row that speedups are relative to: ort, or ort@batch=8,threads=2 (also streams, instances, precision,"
        " optimize, model).",
        default_text="tf, otherwise the first",
    )
    apart: bool = flag("Give every model and batch a table of its own.")
    objective: AskedObjective | None = option(
        kinds.OBJECTIVE,
        "What rows are compared by: the median latency, FPS, or cost, the processor time per sample; tokens/s with"
        " --generate.",
        default_text="fps with streams, instances or several batches, otherwise latency",
    )
    max_latency: float | None = option(
        kinds.LATENCY,
        "Only rows whose p90 latency is at most this may be the best; compared by FPS without --objective.",
    )
    min_accuracy: float | None = option(
        kinds.ACCURACY,
        "Minimum share of samples whose top-1 class is that of the reference; rows below it are not measured.",
    )
    classes: tuple[str, ...] = option(
        kinds.OUTPUTS,
        "Outputs with a score for each class, whose top-1 agreement is measured.",
        default=(),
        default_text="those that end in a softmax or have a Keras loss for classes, otherwise the only output",
    )
    metric: Metric | None = option(
        kinds.METRIC,
        "Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or fn(inputs,"
        " outputs, expected); rows that miss it are not measured.",
    )
    within: float | None = option(kinds.SHARE, "Differences up to this count as the same.", default_text="2%")
    allow_mixed: bool = flag("Also compare rows whose precision a runtime changed by itself, and mark them.")
    cpus: tuple[int, ...] | None = option(
        kinds.CPUS, "Processors for the backends to use.", default_text="all available", plan="list", group=HOW_IT_RUNS
    )
    set: Settings = option(kinds.SETTINGS, "Set an option of a backend", default={}, plan="list")
    io: Io = option(
        kinds.IO,
        "What is timed: copy includes copying inputs and outputs, bound does not.",
        default="copy",
        plan="list",
    )
    require_full: bool = flag("Refuse a row if any of its nodes runs on another device than the one requested.")
    tail: bool = flag(
        "Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.",
        group=ALSO_MEASURED,
    )
    pace: float | None = option(
        kinds.PACE,
        "Also measure latency when calls arrive at a fixed interval, with idle gaps between them.",
        default_text="off",
    )
    sustain: float | None = option(
        kinds.DURATION, "Also run each row alone for this long in every launch.", default_text="off"
    )
    energy: bool = flag(
        "Also measure joules per inference and watts, of each row alone: for 3s in every launch without --sustain."
    )
    cold: bool = flag(
        "Measure cold starts instead: process start to first output, with a cold and with a warm cache.",
        excludes={
            **dict.fromkeys(
                ("tail", "sustain", "energy", "pace", "instances", "shapes", "dynamic", "feedback", "generate"), _COLD
            ),
            **dict.fromkeys(("objective", "max_latency", "min_accuracy", "classes", "metric"), _COLD),
            "cells": "cold starts are measured of backends",
        },
    )
    counters: tuple[str, ...] | None = option(
        kinds.COUNTERS,
        "Also count with perf, in launches of their own: software, ipc, cache, branch, topdown, topdown-l2, or events"
        " that perf list names.",
        excludes={
            "cold": _COLD,
            "instances": "counters are of one process",
            "shapes": "counters are of one shape",
        },
    )
    timeline: float | None = option(kinds.STEP, "With --counters: also show counts over time, in steps of this length.")
    thorough: bool = flag("10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table.", group=HOW_LONG)
    deadline: float | None = option(
        kinds.DURATION,
        "Time limit for one step of a backend, after which it counts as failed.",
        default_text="300s, or with --budget half of what is left if that is less, at least 30s",
        changes_cell=False,
    )
    warmup: WarmUpLength | None = option(
        kinds.WARM_UP,
        "How long each row warms up in every launch: a time (2s), or a number of calls (500).",
        default_text="until calls get no faster",
    )
    no_lock: bool = flag("Measure even if another irbench is measuring on this machine.", plan="none")
    name: str = option(kinds.NAME, "Name the run, for irbench show NAME.", default="", group=OUTPUT, plan="none")
    note: str = option(kinds.NOTE, "Store a note with the run.", default="", changes_cell=False, is_looked_up=False)
    results: Path | None = option(
        kinds.FOLDER,
        "Folder of stored runs.",
        default_text="IRBENCH_RESULTS, or your data folder",
        plan="none",
    )

    @property
    def inputs(self) -> InputRequest:
        """What the inputs are to be."""
        return InputRequest(self.data, self.value, self.feedback)


RUN = CommandOptions("run", RunOptions)


def like(name: str, **changes: Any) -> Any:
    """Return a field that declares an option as a run has it."""
    return field_of(replace(RUN.options[name], **{"group": "", **changes}))


@dataclass(frozen=True)
class ResumeOptions:
    """What is asked of a run that is continued."""

    run: str | None = None
    allow_own_code: bool = flag("With --resume: run the code and use the files that the run's plan names.")
    no_lock: bool = like("no_lock")
    results: Path | None = like("results")


RESUME = CommandOptions("resume", ResumeOptions)


def run_options(
    models: Iterable[str | PathLike[str]], keywords: Mapping[str, object], function: str = "run"
) -> RunOptions:
    """Return what keywords of Python, or the keys of a plan, ask for.

    Raises:
        TypeError: There is no such keyword.
        IrbenchError: A value is not one that the keyword takes.
    """
    return RunOptions(models=tuple(map(str, models)), **read_keywords(function, keywords, RUN.readers))


def plan_key(name: str) -> str:
    """Return the key that a plan has for an option."""
    return "import" if name == "imports" else name.replace("_", "-")


def option_of_key(key: str) -> str:
    """Return the name of the option that a plan has a key for."""
    return "imports" if key == "import" else key.replace("-", "_")


@dataclass(frozen=True)
class GraphSizes:
    """The sizes at which a graph is looked at."""

    batch: int | None = option(kinds.BATCH, "Show the graph at this batch size.")
    shape: Shapes = like("shape", help=f"Show the graph at this shape {SIZE_HELP} (length=128)")
