"""The options of ``irbench run`` and :func:`irbench.run` as one typed request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

from irbench.api import accuracy_limits, input_values, own_cells, paths, values, varied_options
from irbench.api.accuracy_limits import Metric, OwnMetric
from irbench.api.counter_options import timeline_s
from irbench.api.input_values import Data
from irbench.api.own_cells import OwnCells, Programs
from irbench.api.values import Constants, Feedback, Settings, Shapes, Sweep
from irbench.api.varied_options import Varied
from irbench.counters import parse_counters
from irbench.errors import IrbenchError
from irbench.runner.asked_inputs import AskedInputs, DataSource
from irbench.spec import Number, Objective, Program, PythonEnvironment, WarmUpLength
from irbench.suggestions import did_you_mean

__all__ = ["RUN_READERS", "Readers", "RunKeywords", "RunOptions", "read_keywords", "run_options"]

Readers = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""By keyword: an example, and what reads a value, raising ``ValueError`` for any other."""


class RunKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.run`; they mean what the options of ``irbench run`` of the same names do.

    ``None`` is the default of each.

    Attributes:
        all: Every model that was exported, in place of named ones.
        imports: Modules to import before a model is exported for the run, which register its layers.
        backends: Backends, each with a device after a colon; every installed one that can read the models by default;
            ``"none"`` where ``cells`` are all that is measured.
        cells: Your own code as rows beside the backends, by the name of the row: ``{"mine": my_function}``,
            ``{"mine": "package.module:function"}``, or a command ``{"mine": "./loop {model}"}``.
        batch: Samples per inference, a row for each; 1, or the model's own, by default.
        shape: Shapes of inputs, or sizes of dynamic dimensions, by name; ``batch`` overrides theirs.
        data: Samples that take turns: a file or folder, or arrays by input, or a list of those.
        value: Constants for inputs: ``{"sr": 16000}``.
        feedback: Outputs that become inputs of the next call: ``{"h": "h0"}``.
        shapes: Shapes that one session meets, a table for each: ``{"length": [128, 64]}``.
        streams: Inferences in flight, a row for each.
        instances: Processes that run the model side by side, each on its own processors, a row for each number.
        precision: ``fp32``, ``bf16``, ``fp16``, ``int8`` or ``native``, a row for each.
        optimize: ``none``, ``basic``, ``extended``, ``all``, or a conversion such as ``int8``, a row for each.
        baseline: What speedups are relative to: ``ort``, or ``ort@streams=1,model=q.onnx``.
        allow_mixed: Also compare rows whose precision a runtime changed by itself, and mark them.
        threads: Totals for each process, or ``native``, a row for each; the physical cores by default,
            divided by the instances.
        apart: Give every model and batch a table of its own.
        objective: What rows are compared by: ``"latency"``, ``"fps"``, or ``"cost"``, the processor time per sample; by
            default FPS where streams or batches differ, and latency otherwise.
        max_latency: The largest p90 latency of a row that may be called the best: ``"50ms"`` or seconds.
        min_accuracy: The least share of samples whose largest class is that of the reference, ``"99%"`` or 0.99; rows
            below are not measured. With a ``metric`` that has no limit, the least value of that.
        metric: Your own measure of answers, with its limit: ``"file.py:fn>=0.9"``, ``(my_function, ">=0.9")``, or a
            function with ``min_accuracy``. It is called with lists of samples, ``fn(inputs, outputs)`` or ``fn(inputs,
            outputs, expected)``, each a dict of arrays by name, and returns a number.
        cpus: Processors that the backends may use.
        set: Properties by backend, then by key.
        vary: Options that have several values, by backend, then by key, a row for each combination:
            ``{"ort": {"intra_op.allow_spinning": [0, 1]}}``; ``"default"`` leaves an option unset.
        rows: Ids of the rows to measure, of all combinations: those of a stored run, for example.
        io: ``copy`` times host arrays in and out, ``bound`` the inference alone.
        seed: Of inputs and of the order of measurements.
        within: Closer than this counts as the same: ``"2%"`` or 0.02.
        budget: Time for the whole run: ``"90s"`` or seconds.
        deadline: When a backend that gives no answer is ended, for each step: ``"300s"`` or seconds.
        quick: 3 launches: large differences at once, wide intervals.
        thorough: 10 to 20 launches, intervals down to 0.5 %.
        tail: Also p99 and p99.9.
        pace: Also latency where calls come at a fixed interval: ``"10ms"`` or seconds.
        warmup: How long every launch of a row warms up: the time ``"2s"``, or the calls 500; by default until calls get
            no faster.
        sustain: Also frames per second alone for so long in each launch.
        energy: Also joules per inference of each row alone, for 3 s in each launch without ``sustain``.
        require_full: Refuse a row if any of its nodes runs on another device than the one requested.
        cold: Measure cold starts in place of speeds: process start to first output, with caches empty and full.
        counters: Also count, in launches of their own after the speeds: ``"software"``, ``"ipc"``, ``"cache"``,
            ``"branch"``, ``"topdown"``, ``"topdown-l2"``, or events of ``perf list``.
        timeline: Also show what was counted in each step: ``"100ms"`` or seconds.
        no_lock: Measure though another irbench does on this machine.
        results: The folder where runs are kept.
        name: What the run is called; ``irbench.load(name)`` finds it.
        note: What is to be remembered of it.
    """

    all: bool | None
    imports: str | Iterable[str] | None
    backends: str | Iterable[str] | None
    cells: OwnCells | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    shapes: str | Mapping[str, str | Iterable[Any]] | Iterable[Any] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    baseline: str | None
    allow_mixed: bool | None
    threads: str | int | Iterable[int | str] | None
    apart: bool | None
    objective: Objective | None
    max_latency: str | float | timedelta | None
    min_accuracy: str | float | None
    metric: OwnMetric | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    vary: Mapping[str, Mapping[str, Iterable[object]]] | None
    rows: str | Iterable[str] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    within: str | float | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    quick: bool | None
    thorough: bool | None
    tail: bool | None
    pace: str | float | timedelta | None
    warmup: str | int | timedelta | None
    sustain: str | float | timedelta | None
    energy: bool | None
    require_full: bool | None
    cold: bool | None
    counters: str | Iterable[str] | None
    timeline: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None
    name: str | None
    note: str | None


@dataclass(frozen=True)
class RunOptions:
    """What is asked of a run, read but not resolved: whether models and backends exist is not known yet.

    Attributes are those of :class:`RunKeywords`, each in one form; durations are in seconds.

    Attributes:
        models: What is measured, as the user named it.
        feedback: Outputs by the inputs that they become; the keyword has inputs by outputs.
        command: The command line that asked for it; empty where there was none.
        environments: Pythons whose runtimes are compared; none for the one that irbench runs in.
    """

    models: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environments: tuple[PythonEnvironment, ...] = ()
    all: bool = False
    imports: tuple[str, ...] = ()
    backends: tuple[str, ...] | None = None
    cells: Programs = field(default_factory=dict[str, Program])
    batch: tuple[int, ...] | None = None
    shape: Shapes = field(default_factory=dict[str, tuple[int, ...]])
    data: DataSource | None = None
    value: Constants = field(default_factory=dict[str, tuple[Number, ...]])
    feedback: Feedback = field(default_factory=dict[str, str])
    shapes: Sweep | None = None
    streams: tuple[int, ...] = (1,)
    instances: tuple[int, ...] = (1,)
    precision: tuple[str, ...] | None = None
    optimize: tuple[str, ...] = ("none",)
    baseline: str | None = None
    allow_mixed: bool = False
    threads: tuple[int | Literal["native"], ...] | None = None
    apart: bool = False
    objective: Objective | None = None
    max_latency: float | None = None
    min_accuracy: float | None = None
    metric: Metric | None = None
    cpus: tuple[int, ...] | None = None
    set: Settings = field(default_factory=dict[str, Mapping[str, str]])
    vary: Varied = field(default_factory=dict[str, Mapping[str, tuple[str, ...]]])
    rows: tuple[str, ...] | None = None
    io: Literal["copy", "bound"] = "copy"
    seed: int = 0
    within: float | None = None
    budget: float | None = None
    deadline: float | None = None
    quick: bool = False
    thorough: bool = False
    tail: bool = False
    pace: float | None = None
    warmup: WarmUpLength | None = None
    sustain: float | None = None
    energy: bool = False
    require_full: bool = False
    cold: bool = False
    counters: tuple[str, ...] | None = None
    timeline: float | None = None
    no_lock: bool = False
    results: Path | None = None
    name: str = ""
    note: str = ""

    @property
    def inputs(self) -> AskedInputs:
        """What the inputs are to be."""
        return AskedInputs(self.data, self.value, self.feedback)


def run_options(models: Iterable[str | PathLike[str]], given: RunKeywords, function: str = "run") -> RunOptions:
    """Return what keywords of Python ask for.

    Args:
        models: As the user named them.
        given: By keyword.
        function: Whose keywords; for messages.

    Raises:
        TypeError: There is no such keyword.
        IrbenchError: A value is none that the keyword takes.
    """
    read = read_keywords(function, cast("Mapping[str, Any]", given), RUN_READERS)
    return RunOptions(models=tuple(map(str, models)), **read)


def read_keywords(function: str, given: Mapping[str, Any], readers: Readers) -> dict[str, Any]:
    """Return the values of keywords as their readers return them, without those that are ``None``: the defaults.

    Args:
        function: Whose keywords; for the message.
        given: By keyword.
        readers: One for each keyword; ``None`` is not read.

    Raises:
        TypeError: There is no such keyword.
        IrbenchError: A value is none that the keyword takes.
    """
    for keyword in given:
        if keyword not in readers:
            hint = did_you_mean(keyword, readers)
            raise TypeError(f"{function}() got an unexpected keyword argument {keyword!r}. {hint}".rstrip())
    return {keyword: _read(keyword, value, *readers[keyword]) for keyword, value in given.items() if value is not None}


def _read(keyword: str, value: Any, example: str, read: Callable[[Any], Any]) -> Any:
    try:
        return read(value)
    except (TypeError, ValueError) as error:
        raise IrbenchError(
            f"{keyword}={value!r} is not valid: {error}.", hint=f"Write it like {example}; None is the default."
        ) from error


_FLAG = ("True", values.flag)
RUN_READERS: Readers = {
    "all": _FLAG,
    "imports": ('["my_layers"]', values.names),
    "backends": ('["ort", "openvino:gpu"]', values.names),
    "cells": ('{"mine": my_function}, or {"mine": "./loop {model}"}', own_cells.cells),
    "batch": ("[1, 8]", values.counts),
    "shape": ('{"tokens": (1, 128)}', values.shapes),
    "data": ('"speech/", or {"x": array}', input_values.data),
    "value": ('{"sr": 16000}', input_values.constants),
    "feedback": ('{"h": "h0"}', input_values.feedback),
    "shapes": ('{"tokens": [(1, 128), (1, 64)]}', values.sweep),
    "streams": ("[1, 4]", values.counts),
    "instances": ("[1, 2]", values.counts),
    "precision": ('["fp32", "bf16"]', values.names),
    "optimize": ('["none", "int8"]', values.names),
    "baseline": ('"ort@streams=1"', values.text),
    "allow_mixed": _FLAG,
    "threads": ('[1, 4], or "native"', values.thread_counts),
    "apart": _FLAG,
    "objective": ('"fps"', values.one_of(*get_args(Objective))),
    "max_latency": ('"50ms", or 0.05', values.duration_s),
    "min_accuracy": ('"99%", or 0.99', accuracy_limits.min_accuracy),
    "metric": ('"file.py:fn>=0.9", or (my_function, ">=0.9")', accuracy_limits.metric),
    "cpus": ('[0, 1], or "0-3,8"', values.cpus),
    "set": ('{"ort": {"dynamic_block_base": 4}}', values.settings),
    "vary": ('{"ort": {"intra_op.allow_spinning": [0, 1]}}', varied_options.varied),
    "rows": ('["ort-cpu-fp32-x1"]', values.names),
    "io": ('"copy" or "bound"', values.one_of("copy", "bound")),
    "seed": ("0", values.seed),
    "within": ('"2%", or 0.02', values.fraction),
    "budget": ('"90s", or 90', values.duration_s),
    "deadline": ('"300s", or 300', values.duration_s),
    "quick": _FLAG,
    "thorough": _FLAG,
    "tail": _FLAG,
    "pace": ('"10ms", or 0.01', values.pace_s),
    "warmup": ('"2s", or 500 for calls', values.warm_up),
    "sustain": ('"3s", or 3', values.duration_s),
    "energy": _FLAG,
    "require_full": _FLAG,
    "cold": _FLAG,
    "counters": ('"software", or ["cache", "branch"]', parse_counters),
    "timeline": ('"100ms", or 0.1', timeline_s),
    "no_lock": _FLAG,
    "results": ('"./results"', paths.path),
    "name": ('"before"', values.text),
    "note": ('"without the patch"', values.text),
}
