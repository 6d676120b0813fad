"""What tables of training steps have beside those of inferences: effects of settings, and traces of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irbench.core.record import Failure
from irbench.core.row import LaunchesStop, RowHead, TableHead, WithEnds


@dataclass(frozen=True)
class Effect(WithEnds):
    """How much faster steps are with one value of a setting than with its first, over all other settings.

    Of two settings: how many times as much the one value gains where the other is set too, as where it is not.

    Attributes:
        settings: The value of each of one or two settings, by name: the one that is compared with the first.
        first: The first value of each.
        value: The ratio of speeds, above 1 is faster; null where the measured rows do not determine it.
        rounds: How often all rows were launched: of so many ratios it is the median.
        confidence: Of its interval alone; null without one.
        pairs_left_out: Whether it is taken for granted that settings do not change each other's effect.
    """

    settings: Mapping[str, str]
    first: Mapping[str, str]
    value: float | None
    rounds: int
    confidence: float | None = None
    pairs_left_out: bool = False


@dataclass(frozen=True)
class StepOverview:
    """What xprof says of the traced steps of a row, in its own figures and words.

    Attributes:
        steps: That it counted; the first and the last of a trace are not among them.
        step_ms: What a step took, the mean.
        parts_ms: What of that went where, likewise, by xprof's labels: ``Input``, ``Host compute``, ``Device compute``.
        bottleneck: What it holds a step up by: ``host``, ``device`` or ``both``.
        conclusion: Its sentence about that.
    """

    steps: int
    step_ms: float
    parts_ms: Mapping[str, float]
    bottleneck: str
    conclusion: str


@dataclass(frozen=True, kw_only=True)
class StepTraceRow(RowHead):
    """A row some of whose steps were traced after it was measured.

    Attributes:
        id: Of the cell; that of its row among the speeds too.
        trace: The file of its trace in the folder of the run; empty where there is none.
        overview: What xprof says of it; null where it could not be read.
    """

    trace: str = ""
    overview: StepOverview | None = None


@dataclass(frozen=True, kw_only=True)
class StepTraceTable(TableHead):
    """Traces of training steps, from launches whose times are not used.

    Attributes:
        table: Place of the table of speeds in the run, counted from 0.
        traced_steps: How many steps of each row were traced.
        xprof_version: Of what read the traces.
        stopped_by: Why no further row was traced.
        seconds: What tracing all rows took.
        unread: Why xprof read no trace: it could not be installed; null where it was.
    """

    table: int
    traced_steps: int
    xprof_version: str
    stopped_by: LaunchesStop = "unfinished"
    seconds: float = 0.0
    unread: Failure | None = None
    rows: tuple[StepTraceRow, ...] = ()
