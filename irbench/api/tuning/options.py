"""What is asked of a search for the best setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.api.accuracy_limits import OwnMetric
from irbench.api.input_values import Data
from irbench.api.options import RunOptions
from irbench.spec import Objective

__all__ = ["TUNE_BUDGET_S", "TuneKeywords", "TuneOptions"]

TUNE_BUDGET_S = 300.0


class TuneKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.tune` that :func:`irbench.run` has too, and which mean the same there.

    ``None`` is the default of each; lists are what is searched. :class:`irbench.RunKeywords` says what they are.
    """

    imports: str | Iterable[str] | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    vary: Mapping[str, Mapping[str, Iterable[object]]] | None
    min_accuracy: str | float | None
    metric: OwnMetric | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    within: str | float | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None
    name: str | None
    note: str | None


@dataclass(frozen=True)
class TuneOptions:
    """What is searched.

    Attributes:
        model: As the user named it.
        objective: What is to be the best.
        max_latency_s: The largest p90 latency of a setting; ``None`` for any.
        budget_s: For searching and confirming.
        flip_map: Whether nearby conditions are measured afterwards, under which another setting may win.
        streams: Numbers to try; ``None`` for the usual ones, here and below.
        instances: Numbers to try.
        optimize: Levels to try.
        run: What else is asked of every row; its ``batch``, ``threads`` and ``precision`` are lists to try, too.
    """

    model: str
    objective: Objective = "fps"
    max_latency_s: float | None = None
    budget_s: float = TUNE_BUDGET_S
    flip_map: bool = False
    streams: tuple[int, ...] | None = None
    instances: tuple[int, ...] | None = None
    optimize: tuple[str, ...] | None = None
    run: RunOptions = field(default_factory=RunOptions)
