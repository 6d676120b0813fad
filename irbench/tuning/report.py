"""What a search found: the recommended setting, how much it gains, and what else was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from irbench.spec import AccuracyLimit, Objective, Precision

__all__ = [
    "Alternative",
    "Conclusion",
    "Excluded",
    "FrontPoint",
    "Gain",
    "ReferenceKind",
    "TunedSetting",
    "TuningReport",
]

Conclusion = Literal["better", "preview", "reference", "undecided", "nothing", "interrupted"]
"""``better``: a setting is better than every reference; ``preview``: in every launch, which are too few to be sure;
``reference``: the best is one of them;
``undecided``: one looks faster, and the confirmation cannot tell; ``nothing``: no setting could be measured."""
ReferenceKind = Literal["default", "hint"]
"""``default``: how a runtime runs a model unless it is told otherwise; ``hint``: what its vendor advises."""


@dataclass(frozen=True)
class TunedSetting:
    """A setting that can be used.

    Attributes:
        row: The id of its row.
        label: What tables call it.
        backend: With its device where that is not the CPU: ``ort:cuda``.
        batch: Samples per inference.
        threads: Of each process; null where the runtime chooses them.
        streams: Inferences in flight in each process.
        instances: Processes side by side.
        precision: What is asked of the runtime.
        optimize: Level of optimisation of the graph; ``none`` for the graph as it is.
        options: Properties of the backend.
        precision_required: Whether ``precision`` was asked for, and not what the graph holds.
        accuracy: By the measure of the limit; null without one.
        misses_tolerance: Whether its outputs are off by more than the tolerance of its precision, and it is allowed
            because it keeps the limit.
    """

    row: str
    label: str
    backend: str
    batch: int
    threads: int | None
    streams: int
    instances: int
    precision: Precision
    optimize: str = "none"
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    precision_required: bool = True
    accuracy: float | None = None
    misses_tolerance: bool = False


@dataclass(frozen=True)
class Gain:
    """How many times as good as another setting the leader is, in what was asked for.

    Attributes:
        value: The estimate.
        low: Lower end of the confidence interval, adjusted for having chosen the best; the smallest launch in a
            preview.
        high: Upper end.
        is_preview: Whether there were too few launches for an interval.
    """

    value: float
    low: float
    high: float
    is_preview: bool


@dataclass(frozen=True)
class Alternative:
    """A row of the confirmation, against the recommended one.

    Attributes:
        setting: It.
        kind: What it is for, where it is a reference; null for a setting of the search.
        gain: How many times as good as it the leader is; null where it has no figures.
        failure: Why it has none; null where it has.
    """

    setting: TunedSetting
    kind: ReferenceKind | None
    gain: Gain | None = None
    failure: str | None = None


@dataclass(frozen=True)
class FrontPoint:
    """A measured setting than which no other has both lower latency and more frames per second.

    Attributes:
        setting: It.
        latency_ms: Median latency of a call.
        fps: Samples per second of all processes together.
        is_confirmed: Whether it was measured under the full protocol.
    """

    setting: TunedSetting
    latency_ms: float
    fps: float
    is_confirmed: bool


@dataclass(frozen=True)
class Excluded:
    """What was not searched, because outputs are not as good as was asked for.

    Attributes:
        settings: How many.
        combinations: Of backend, precision, graph and options: what changes outputs.
        failed: How many of these have no accuracy, because the backend or the user's measure failed.
        best: The setting with the best accuracy of them; null where none has any.
    """

    settings: int
    combinations: int
    failed: int = 0
    best: TunedSetting | None = None


@dataclass(frozen=True)
class TuningReport:
    """What a search found.

    Attributes:
        model: As the user named it.
        objective: What settings were compared by.
        max_latency_ms: The largest p90 latency that was allowed; null without a limit.
        conclusion: Whether a setting is better than every reference.
        setting: The recommended one; null where nothing could be measured.
        leader: The setting that was the best in the confirmation, also where it is not recommended; null without one.
        alternatives: The other rows of the confirmation, against the leader.
        front: Measured settings, by growing latency; see :class:`FrontPoint`.
        settings: How many settings there were to choose from.
        measured: How many of them were launched.
        seconds: What searching and confirming took.
        search_run: The id of the run that holds the search; null where it did not begin.
        confirmation_run: The id of the run that holds the confirmation; null where there was none.
        command: What measures the recommended setting again, as words of a command line.
        code: Python that runs the model with it, without irbench; empty where its backend does not say.
        accuracy_limit: How good outputs had to be; null without a limit.
        excluded: What was not searched because of it; null without a limit.
        random_inputs: How many random samples accuracy was measured on; 0 where samples were given, or without a limit.
    """

    model: str
    objective: Objective
    max_latency_ms: float | None
    conclusion: Conclusion
    setting: TunedSetting | None = None
    leader: TunedSetting | None = None
    alternatives: tuple[Alternative, ...] = ()
    front: tuple[FrontPoint, ...] = ()
    settings: int = 0
    measured: int = 0
    seconds: float = 0.0
    search_run: str | None = None
    confirmation_run: str | None = None
    command: tuple[str, ...] = ()
    code: str = ""
    accuracy_limit: AccuracyLimit | None = None
    excluded: Excluded | None = None
    random_inputs: int = 0
