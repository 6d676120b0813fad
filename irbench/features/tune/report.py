"""What a search found: the recommended setting, how much it gains, and what else was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from irbench.api.display import DisplayedReport
from irbench.charts.plots import Plottable
from irbench.core.plain_text import plain
from irbench.core.quantities import plural
from irbench.core.result import NoWinner
from irbench.core.row import Estimated, WithEnds
from irbench.errors import ExitCode
from irbench.features.tune.options import TUNE
from irbench.notices.base import Notice
from irbench.optimizer import UNOPTIMIZED
from irbench.pages.result import PageResult, result_of_view
from irbench.render.views import Document
from irbench.runs.results import Run
from irbench.spec import AccuracyLimit, Cell, Objective, Precision
from irbench.spec.serving import ServiceLevel

if TYPE_CHECKING:
    from irbench.charts.figure import Figure

Conclusion = Literal[
    "better", "same", "preview", "reference", "undecided", "doubtful", "unopposed", "nothing", "interrupted"
]
"""``better``: the recommended setting is better than every reference; ``same``: it costs less than one that is not
better by as much as counts; ``preview``: too few launches to be sure; ``reference``: the best is one of
them; ``undecided``: another one looks better, and an interval includes 1, or the lead is too small to count;
``doubtful``: another one looks better, but the machine was too busy, for example;
``unopposed``: no reference can be compared with it; ``nothing``: no setting runs within the limits."""
ReservationReason = Literal[
    NoWinner, "few-launches", "interval-includes-1", "may-be-better", "rates-overlap", "rates-close", "unchecked-loss"
]
"""``few-launches``: too few for an interval; ``may-be-better``: a row that is not the leader may be better than the
recommended default or hint by more than counts; ``rates-overlap``: no rate was found at which one setting passes and
the other fails; ``rates-close``: likewise, of two that seem to hold about the same rate;
``unchecked-loss``: no time was left to find out whether a setting trains, which may be better; any other one is what
speaks against a lead in every table."""
ReferenceKind = Literal["default", "hint"]
"""``default``: how a runtime runs a model unless it is told otherwise; ``hint``: what its vendor advises."""
Preference = Literal["latency", "simplicity"]
"""By what a setting is preferred to the leader, which is not known to be better."""
ConditionAxis = Literal["neighbour", "batch", "threads", "processors", "streams", "precision"]
"""What a condition changes; ``neighbour``: another process keeps a processor busy."""
FlipOutcome = Literal["kept", "flipped", "same", "undecided", "not-measured"]
"""``kept``: the recommended setting is better; ``flipped``: its rival is; ``same``: no difference that matters;
``undecided``: the interval does not tell, or there were too few launches for one."""
NotMeasured = Literal["no-time", "interrupted", "neighbour-ended", "impossible", "failed"]
"""``impossible``: the condition cannot be planned; ``failed``: neither setting can be used under it."""
Side = Literal["setting", "rival"]


@dataclass(frozen=True)
class TunedSetting:
    """A setting that can be used.

    Attributes:
        row: The id of its row.
        backend: With its device where that is not the CPU: ``ort:cuda``.
        threads: Of each process; null where the runtime chooses them.
        streams: Inferences in flight in each process.
        instances: Processes side by side.
        precision: What is asked of the runtime.
        optimize: Level of optimisation of the graph; ``none`` for the graph as it is.
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
class Gain(WithEnds, Estimated):
    """How many times as good as another setting the leader is, or the recommended one, in what was asked for.

    Attributes:
        low: Lower end of the confidence interval, adjusted for having chosen the best; null in a preview. Of rates of
            requests, the rate at which the leader passes over the one at which the other fails.
        is_preview: Whether there were too few launches for an interval.
    """

    is_preview: bool

    @property
    def inverse(self) -> Gain:
        """How many times as good the other setting is."""

        def turned(end: float | None) -> float | None:
            return None if end is None else 1 / end

        ends = (turned(end) for end in (self.high, self.low, self.range_high, self.range_low))
        low, high, range_low, range_high = ends
        return Gain(
            1 / self.value, low=low, high=high, is_preview=self.is_preview, range_low=range_low, range_high=range_high
        )


@dataclass(frozen=True)
class Alternative:
    """A row of the confirmation, against the leader.

    Attributes:
        kind: What it is for, where it is a reference; null for a setting of the search.
        gain: How many times as good as it the leader is; null where it has no figures.
        failure: Why it has none; null where it has, or was measured and may not be chosen.
        is_too_slow: Whether it answers later than was asked for.
        recommended_gain: How many times as good as it the recommended row is, where that is another one than the
            leader; null elsewhere.
    """

    setting: TunedSetting
    kind: ReferenceKind | None
    gain: Gain | None = None
    failure: str | None = None
    is_too_slow: bool = False
    recommended_gain: Gain | None = None


@dataclass(frozen=True)
class Reservation:
    """What keeps a recommendation from being confirmed.

    Attributes:
        row: The id of the row whose comparison with the recommended one it is about; it may be the recommended one
            itself, where the leader is another.
    """

    reason: ReservationReason
    row: str


class TuningNote(Notice):
    """Something that a reader must know of a search besides its figures."""

    known: ClassVar[list[type[TuningNote]]] = []

    def text(self) -> str:
        """Return it in a sentence."""
        raise NotImplementedError


class FewSettingsTried(TuningNote):
    """A better setting may be among those that were not tried.

    Attributes:
        enough: How many are worth trying.
        budget_s: In which so many are expected to be tried.
    """

    code = "few-settings-tried"
    says = "few of the settings were tried, so a better one may exist"

    tried: int
    settings: int
    enough: int
    budget_s: float

    def text(self) -> str:
        """Return how many were tried, and the budget that tries enough."""
        return (
            f"Only {self.tried} of {self.settings} settings were tried, so a better one may exist: --budget"
            f" {budget_text(self.budget_s)} should try {self.enough}."
        )


class BusyConfirmation(TuningNote):
    """Other programs disturbed most blocks of the confirmation."""

    code = "busy-machine"
    says = "other programs disturbed most blocks of the confirmation"

    disturbed: int
    blocks: int

    def text(self) -> str:
        """Return how many, and what that means."""
        return (
            f"Other programs disturbed {self.disturbed} of {self.blocks} blocks of the confirmation, so its figures are"
            " of this machine as loaded as it was: a quiet machine may differ."
        )


class OtherBatch(TuningNote):
    """The recommended setting of a training has another batch than the default."""

    code = "other-batch"
    says = "the recommended batch is not the default's, and a model learns otherwise with it"

    batch: int
    default: int

    def text(self) -> str:
        """Return what samples per second do not say then."""
        return (
            f"A model learns otherwise with batch {self.batch} than with batch {self.default}: more samples/s do not"
            " mean a shorter time to a given loss."
        )


class UncheckedLosses(TuningNote):
    """No time was left to check whether promising settings of a training train.

    Attributes:
        settings: How many of the best were left out for that.
        budget_s: In which their losses are expected to be checked.
    """

    code = "unchecked-losses"
    says = "no time was left to check the losses of promising settings, so they were not confirmed"

    settings: int
    budget_s: float

    def text(self) -> str:
        """Return how many, and the budget that has time for them."""
        return (
            f"The losses of {plural(self.settings, 'promising setting')} were not checked, as no time was left for"
            f" that, so a better one may exist: --budget {budget_text(self.budget_s)} should check them."
        )


class BusyRequests(TuningNote):
    """Other programs used processors while requests were answered.

    Attributes:
        foreign_share: Of the time of all processors, from 0 to 1.
    """

    code = "busy-requests"
    says = "other programs used processors while requests were answered"

    foreign_share: float

    def text(self) -> str:
        """Return how much of them, and what that means."""
        return (
            f"Other programs used {100 * self.foreign_share:.0f} % of the processors while requests were answered, so"
            " these rates are of this machine as loaded as it was: a quiet machine may differ."
        )


def budget_text(seconds: float) -> str:
    """Return a budget as ``--budget`` reads it, in minutes."""
    return f"{seconds / 60:g}m"


@dataclass(frozen=True)
class ChangedCondition:
    """What differs from where the recommended setting was measured.

    Attributes:
        value: Its value: a number or a precision; for a neighbour, the number of processors kept busy.
        before: Its value for the recommended setting.
        distance: How far away that is, in doublings; that of a neighbour is the share of the processors that it takes.
    """

    axis: ConditionAxis
    value: int | Precision
    before: int | Precision
    distance: float


@dataclass(frozen=True)
class Unable:
    """Why one of two settings cannot be used under a condition.

    Attributes:
        message: Why it has no figures; null where it has.
    """

    side: Side
    reason: Literal["failed", "too-slow"]
    message: str | None = None


@dataclass(frozen=True)
class Flip:
    """The recommended setting against its rival under a condition.

    Attributes:
        gain: How many times as good as the rival the setting is; null where they could not be compared.
        unable: Which of them cannot be used.
        missing: Why nothing was measured; null where something was.
        message: What made the condition impossible; null where nothing did.
        run: The id of the run that holds the table; null without one.
        is_doubtful: Whether something outside the interval speaks against the outcome: a busy machine, for example.
    """

    condition: ChangedCondition
    setting: TunedSetting
    rival: TunedSetting
    outcome: FlipOutcome
    gain: Gain | None = None
    unable: tuple[Unable, ...] = ()
    missing: NotMeasured | None = None
    message: str | None = None
    run: str | None = None
    is_doubtful: bool = False


@dataclass(frozen=True)
class RowFigures:
    """What a row measured in the confirmation: the median latency of a call, and samples (texts) per second."""

    latency_ms: float
    fps: float


@dataclass(frozen=True)
class HeldRate:
    """At which rate of requests a setting keeps the service level, in requests per second.

    Attributes:
        per_s: The highest rate at which it seems to, decided or not; null where it seems to at none.
        passes_per_s: The highest rate that passes, below the lowest that fails; null where none does.
        fails_per_s: The lowest rate that fails; null where none does.
    """

    per_s: float | None
    passes_per_s: float | None
    fails_per_s: float | None


@dataclass(frozen=True)
class FrontPoint:
    """A measured setting than which no other has both lower latency and more frames per second.

    Attributes:
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
    """Settings that were not searched, because of the limit of accuracy.

    Attributes:
        settings: How many.
        combinations: Of backend, precision, graph and options: what changes outputs.
        failed: How many of these have no accuracy, because the backend or the user's measure failed.
        best: The one with the best accuracy; null where none has any.
    """

    settings: int
    combinations: int
    failed: int = 0
    best: TunedSetting | None = None


@dataclass(frozen=True)
class TuningReport:
    """What a search found.

    Attributes:
        max_latency_ms: The largest p90 latency that was allowed; null without a limit.
        setting: The recommended one; null where nothing could be measured. ``command`` and ``code`` are for it.
        is_confirmed: Whether the recommendation is confirmed; one that is not holds until then.
        deciding_budget_s: The budget that is expected to confirm or refute it, in seconds; null where it is confirmed,
            and where time alone would not decide.
        leader: The setting that was the best in the confirmation, also where it is not recommended; null without one.
        leader_kind: What the leader is for, where it is a reference; null for a setting of the search.
        preferred_by: Why the recommended setting is not the leader; null where it is.
        alternatives: The other rows of the confirmation, against the leader.
        figures: What the rows of the confirmation measured, by the id of a row.
        results: The folder where its runs are kept, as the user named it; null for the usual place.
        front: Measured settings, by growing latency; see :class:`FrontPoint`.
        settings: How many settings there were to choose from.
        search_run: The id of the run that holds the search; null where it did not begin.
        confirmation_run: The id of the run that holds the confirmation; null where there was none.
        command: What measures the recommended setting again, as words of a command line.
        code: Python that runs its graph with it, without irbench; empty where its backend does not tell how.
        flips: The recommended setting against its rival under other conditions, the nearest first; empty where they
            were not asked for, or no other setting could be measured.
        is_flip_map_interrupted: Whether an interrupt ended the measurement of ``flips``.
        accuracy_limit: How good outputs had to be; null without a limit.
        excluded: What was not searched because of it; null without a limit.
        random_inputs: How many random samples accuracy was measured on; 0 where samples were given, or without a limit.
        new_tokens: Tokens that each call generates; null where calls are single inferences.
        is_training: Whether calls are training steps.
        level: What answers to requests must keep; null where calls are compared.
        held: At which rate the rows of the confirmation keep it, by the id of a row; empty without a service level.
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
    flips: tuple[Flip, ...] = ()
    is_flip_map_interrupted: bool = False
    accuracy_limit: AccuracyLimit | None = None
    excluded: Excluded | None = None
    random_inputs: int = 0
    figures: Mapping[str, RowFigures] = field(default_factory=dict[str, RowFigures])
    results: str | None = None
    is_confirmed: bool = False
    reservations: tuple[Reservation, ...] = ()
    deciding_budget_s: float | None = None
    notes: tuple[TuningNote, ...] = ()
    new_tokens: int | None = None
    is_training: bool = False
    level: ServiceLevel | None = None
    held: Mapping[str, HeldRate] = field(default_factory=dict[str, HeldRate])
    leader_kind: ReferenceKind | None = None
    preferred_by: Preference | None = None

    @property
    def is_generation(self) -> bool:
        """Whether calls generate tokens, so that throughput is in tokens per second."""
        return self.new_tokens is not None

    @property
    def can_be_deployed(self) -> bool:
        """Whether its confirmation holds a row that ``irbench deploy`` writes, with inputs that are stored."""
        is_of_calls = not self.is_training and self.level is None
        return is_of_calls and self.setting is not None and self.confirmation_run is not None and bool(self.command)

    def throughput(self, fps: float) -> float:
        """Return samples per second, or the tokens per second of generations."""
        return fps * (self.new_tokens or 1)


def setting_of(cell: Cell, label: str = "") -> TunedSetting:
    """Return a row as a setting; its label is that of tables, where that is more than the row's own."""
    load = cell.load
    return TunedSetting(
        row=cell.id,
        label=label or cell.label,
        backend=str(cell.address),
        batch=load.batch,
        threads=load.threads,
        streams=load.streams,
        instances=load.instances,
        precision=load.precision,
        optimize=(cell.artifact.variant if cell.artifact is not None else "") or UNOPTIMIZED,
        options={**load.options, **load.varied},
        precision_required=load.precision_required,
        accuracy=None if cell.accuracy is None else cell.accuracy.value,
        misses_tolerance=cell.accuracy is not None and cell.accuracy.misses_tolerance,
    )


def nearest_flip(flips: Sequence[Flip]) -> Flip | None:
    """Return the flip under the nearest condition; ``None`` without any."""
    flipped = [flip for flip in flips if flip.outcome == "flipped"]
    return min(flipped, key=lambda flip: flip.condition.distance, default=None)


class Tuning(Plottable, DisplayedReport[TuningReport]):
    """The result of a search for the best setting.

    Attributes:
        report: Its document.
        search: The run that holds the launches of the search; ``None`` where it did not begin.
        confirmation: The run that holds the confirmation; ``None`` where there was none.
    """

    _command = TUNE

    def __init__(self, report: TuningReport, search: Run | None = None, confirmation: Run | None = None) -> None:
        super().__init__(report)
        self.search = search
        self.confirmation = confirmation

    @property
    def setting(self) -> TunedSetting | None:
        """The recommended setting; ``None`` where nothing could be measured."""
        return self.report.setting

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench tune`` exits with."""
        if self.report.is_flip_map_interrupted:
            return ExitCode.INTERRUPTED
        codes = {"nothing": ExitCode.FAILED_CELL, "interrupted": ExitCode.INTERRUPTED}
        return codes.get(self.report.conclusion, ExitCode.OK)

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        command = "" if self.confirmation is None else f"irbench report {self.confirmation.id}"
        name = f"{Path(self.report.model).name} tuned"
        return result_of_view(name, self.__rich__(), self._figures, command)

    def _figures(self) -> Iterator[Figure]:
        from irbench.features.tune.charts import figures_of_confirmation, figures_of_search

        if self.confirmation is not None:
            yield from figures_of_confirmation(self.confirmation.document)
        if self.search is not None:
            yield from figures_of_search(self.search.document, self.search.folder)

    def __repr__(self) -> str:
        """Return what was tuned and what is recommended."""
        setting = self.report.setting
        return plain(f"<Tuning of {self.report.model}: {setting.label if setting else self.report.conclusion}>")

    def __rich__(self) -> Document:
        """Return the report as ``irbench tune`` prints it; called by rich."""
        from irbench.features.tune.view import tuning_view

        return tuning_view(self.report)
