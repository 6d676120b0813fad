"""What came back: the run document, which every table and export is made from.

The document's classes are its format: ``irbench.store`` reads and writes them as JSON and
the shipped JSON Schema is generated from them. Every number is a JSON number, and ``null``
is what was not measured. Warnings, notes, marks and the
reference are codes with facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from irbench.core.cold_row import ColdTable
from irbench.core.counter_row import CounterTable
from irbench.core.quantities import ThroughputUnit
from irbench.core.row import UNFINISHED_TEXT, CellResult, MeasuredTable, WithEnds
from irbench.core.run_kinds import run_kind
from irbench.core.serving_row import ServingTable
from irbench.core.soak_row import SoakTable
from irbench.core.stored_plan import StoredPlan
from irbench.core.training_row import Effect, StepTraceTable
from irbench.spec import Goal, Objective, objective_of

SCHEMA_VERSION = 2

SEARCH_RUN = "search"
"""What the plan of a run says that it is a part of which only looked for promising settings, with too few launches."""

Doubt = Literal[
    "busy",
    "uneven-load",
    "all-blocks-disagree",
    "throughput-disagrees",
    "sustained-disagrees",
    "p50-disagrees",
]
"""Why a table calls no cell the fastest although an interval does; see :data:`NoWinner`."""
NoWinner = Literal["preview", "same", "undecided", Doubt]
"""Why no cell is called the fastest: too few launches; no difference that matters; none that is sure; most blocks were
disturbed, and it is not known in whose turns; other programs were busier in the turns of one cell than in those of
another; another row is faster once other blocks count (``Lead.contradiction``); the rival is faster in throughput, or
where each runs alone; another row has surely the lower median latency."""
Condition = Literal["busy"]
"""Under which the statements of a table hold. ``busy``: most of its blocks were disturbed, so they are of the machine
as loaded as it was: by the mean time over all blocks instead of medians over undisturbed ones."""
StoppedBy = Literal["target", "launches", "budget", "interrupt", "failures", "unfinished", "searched"]
"""``failures``: all backends failed; ``unfinished``: the group was still being measured when this was written;
``searched``: a search expects to gain nothing more."""
STOPPED_TEXTS: Mapping[StoppedBy, str] = {
    "target": "target reached",
    "launches": "launch limit reached",
    "budget": "no time for another launch",
    "searched": "nothing more to gain is expected",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": UNFINISHED_TEXT,
}
"""Why a table's measurement ended."""


@dataclass(frozen=True)
class Winner:
    """The fastest cell against its nearest rival, adjusted for having been chosen as the best."""

    cell: str
    rival: str
    value: float
    low: float
    high: float
    condition: Condition | None = None
    """Under which it is the fastest; null where that is not bound to anything that happened during the run."""


@dataclass(frozen=True)
class Contradiction:
    """Another cell that is faster than the leader once launches are reduced in the other way.

    Attributes:
        cell: Its id.
        value: How many times as fast as the leader it is.
        blocks: Which blocks count there: ``all`` where the lead is of undisturbed ones, and the reverse.
        launches: How many of them measured both.
    """

    cell: str
    value: float
    blocks: Literal["all", "undisturbed"]
    launches: int


@dataclass(frozen=True)
class Lead(WithEnds):
    """The cell that looks fastest against its nearest rival, whether or not it may be called the winner.

    Attributes:
        cell: Its id.
        rival: The id of the cell that comes next.
        value: How many times as fast as its rival it is.
        low: Lower end of the interval, adjusted for having chosen the best; null where there are too few launches for
            one.
        high: Upper end; null likewise.
        launches: How many measured both.
        reason: Why it has not won; null where it has.
        assumes_one_mode: Whether the interval assumes launches to scatter around one most frequent speed.
        range_low: The smallest of few launches, over all rivals; null with an interval, and after a single launch.
        range_high: The largest of them for the nearest rival; null likewise.
        condition: Under which all of this holds; null where it is not bound to anything that happened during the run.
        contradiction: What contradicts it once other blocks count; null where nothing does, and in older documents.
    """

    cell: str
    rival: str
    value: float
    launches: int
    reason: NoWinner | None = None
    assumes_one_mode: bool = False
    condition: Condition | None = None
    contradiction: Contradiction | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether something besides its interval speaks against it, or binds it to what happened during the run."""
        return self.reason in get_args(Doubt) or self.condition is not None


@dataclass(frozen=True)
class UnevenLoad:
    """Other programs were busier in the turns of one cell than in those of another, by more than is their fair share.

    Attributes:
        more: The cell beside which they used more.
        less: The one beside which they used less.
        more_processors: How many they used beside the former, the median over launches.
        less_processors: Beside the latter.
    """

    more: str
    less: str
    more_processors: float
    less_processors: float


@dataclass(frozen=True)
class Basis:
    """What a table was derived from besides raw samples, its rows and the plan.

    Attributes:
        cells: Cell ids in the order in which they were asked for.
        baseline: The id of the cell that was asked to be the baseline.
        budget_s: Wall time that the group was given.
        derived_warnings: How many of the table's warnings, the last ones, follow from the samples.
        derived_notes: How many of its notes, the first ones, do.
        before_s: What preparing the run used of its budget; 0 where nobody gave one.
    """

    cells: tuple[str, ...]
    baseline: str
    budget_s: float
    derived_warnings: int
    derived_notes: int
    before_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class GroupResult(MeasuredTable):
    """One table.

    Attributes:
        verified_against: Of the baseline, and of every row that does not say otherwise.
        given_inputs: Of the baseline, and of every row that does not say otherwise.
        basis: What the table can be derived from again, together with the raw samples.
    """

    baseline: str | None
    launches: int
    blocks_per_launch: int
    blocks_excluded: int
    blocks_measured: int
    stopped_by: StoppedBy
    preview: bool
    seconds: float
    winner: Winner | None
    cells: tuple[CellResult, ...]
    basis: Basis | None = None
    lead: Lead | None = None
    blocks_disturbed: int | None = None
    """How many blocks something outside disturbed, excluded or not; null in older documents."""
    launches_counted: int | None = None
    """How many launches have blocks that count; null in older documents, and without what left launches out there."""
    launches_left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """By row, the numbers of launches that count for none of its figures but memory and phases, from 0: they were
    disturbed, and enough others were not. A comparison with a row that has too few others counts them."""
    blocks_range: tuple[int, int] | None = None
    """Blocks that count in the launch with the fewest and in that with the most; null in older documents."""
    condition: Condition | None = None
    """Under which verdicts, the lead and the winner hold; null where that is not bound to the run."""
    uneven_load: UnevenLoad | None = None
    """Where other programs were busier in the turns of one cell; then no order is known, not even as loaded."""
    goal: Goal | None = None
    """What rows were asked to be compared by; null where nothing was: then by FPS with streams or several batches."""
    effects: tuple[Effect, ...] = ()
    """What each setting of training steps changes, then each pair of settings; empty for anything else."""

    @property
    def objective(self) -> Objective:
        """What rows are compared by; see :func:`irbench.spec.objective_of`."""
        concurrent = any(cell.mode != "sync" for cell in self.cells)
        return objective_of(self.goal, concurrent=concurrent, batches=(cell.batch for cell in self.cells))

    @property
    def throughput_unit(self) -> ThroughputUnit:
        """What its throughputs are in: tokens per second where calls generate tokens, samples per second elsewhere."""
        return "tokens/s" if self.is_generation else "samples/s" if self.is_training else "FPS"

    @property
    def is_generation(self) -> bool:
        """Whether each call of its rows generates tokens."""
        return any(cell.generation is not None for cell in self.cells)

    @property
    def is_training(self) -> bool:
        """Whether the calls of its rows are training steps."""
        return any(cell.loss is not None for cell in self.cells)

    @property
    def is_mostly_disturbed(self) -> bool:
        """Whether something outside disturbed more than half of its blocks; False in older documents."""
        return 2 * (self.blocks_disturbed or 0) > self.blocks_measured

    @property
    def is_busy(self) -> bool:
        """Whether what it states is of a busy machine, also where it could not say in whose turns it was busy."""
        return self.condition == "busy" or (self.lead is not None and self.lead.reason == "busy")

    @property
    def unverified(self) -> bool:
        """Whether some speedup is of answers that nothing was compared with."""
        return any(cell.speedup is not None and cell.speedup.verified is False for cell in self.cells)


@dataclass(frozen=True)
class RunDocument:
    """One run: the JSON document, and what the store keeps beside the raw samples.

    Attributes:
        schema_version: Of this document's format.
        run_id: A ULID.
        created: ISO 8601, UTC.
        irbench_version: Of the program that measured.
        environment: The machine and its software.
        plan: What was asked for, and what its names were resolved to.
        groups: One per table.
        launches: Digest (SHA-256) of each committed launch file, by file name.
        complete: False until the run has ended by itself.
        tables_planned: How many tables it has once it is complete; null in older documents.
        cold_starts: Tables of ``irbench run --cold``, in place of ``groups``.
        soaks: Tables of ``irbench soak``, in place of ``groups``.
        serving: Tables of ``irbench serve``, in place of ``groups``.
        counters: What ``irbench run --counters`` counted besides, a table for each of ``groups``.
        step_traces: What ``irbench train MODEL --xprof`` traced besides, a table for each of ``groups``.
        file_digests: SHA-256 of what it was begun with, by what it is called: the files of models, data, and the user's
            own code; empty in older documents.
    """

    schema_version: int
    run_id: str
    created: str
    irbench_version: str
    environment: Mapping[str, Any]
    plan: StoredPlan
    groups: tuple[GroupResult, ...] = ()
    launches: Mapping[str, str] = field(default_factory=dict[str, str])
    complete: bool = False
    tables_planned: int | None = None
    cold_starts: tuple[ColdTable, ...] = ()
    soaks: tuple[SoakTable, ...] = ()
    file_digests: Mapping[str, str] = field(default_factory=dict[str, str])
    counters: tuple[CounterTable, ...] = ()
    serving: tuple[ServingTable, ...] = ()
    step_traces: tuple[StepTraceTable, ...] = ()

    @property
    def is_resumable(self) -> bool:
        """Whether ``irbench run --resume`` continues it where nothing has changed: launches of speeds are left.

        Cold starts and soaks have none, what ran beside rows is not begun again, inputs that were in memory are gone,
        the tables of a sweep and the parts of a search are their own, and a backend is compared with itself by
        ``irbench doctor``.
        """
        plan, kind = self.plan, run_kind(self.plan)
        names_one_twice = len({*plan.backends}) < len(plan.backends)
        is_of_other_command = plan.command[1:2] == ("sweep",) or names_one_twice or bool(plan.is_part_of)
        has_no_launches = (kind is not None and not kind.is_continued) or plan.data_in_memory is not None
        return bool(plan.models) and not (self.complete or has_no_launches or is_of_other_command)

    @property
    def tables(self) -> tuple[GroupResult | ColdTable | SoakTable | ServingTable, ...]:
        """All of its tables, whatever they show."""
        return (*self.groups, *self.cold_starts, *self.soaks, *self.serving)

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody interrupted it while it measured, counted or traced, or took a timeline but the last."""
        stopped_by = {
            *(table.stopped_by for table in self.tables),
            *(table.stopped_by for table in self.counters),
            *(table.stopped_by for table in self.step_traces),
        }
        is_cut = "interrupt" in stopped_by
        return is_cut or (
            not self.complete and any(table.timelines_stopped_by == "interrupt" for table in self.counters)
        )
