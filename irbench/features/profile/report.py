"""What a profile says: figures by class of work, by operator and by node, derived from its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from irbench.core.counter_row import CounterFigure
from irbench.core.record import Failure
from irbench.core.row import Ends
from irbench.features.profile.joining import MatchedBy
from irbench.features.profile.profile_document import CountedKind
from irbench.onnx.operator_classes import OperatorClass
from irbench.spec import Timing
from irbench.stats.intervals import Looks, interval_at

_COSTLY = 1.3
"""The most that profiling may lengthen an inference for its parts to speak for one that is not profiled."""
_GAP = 0.05
"""The least share of the latency between operators that is worth a word."""
_SPEAKS_FOR_ALL = 0.9
"""The least share of a part's time in operators of known work, for their speed to be the part's."""
_NOTICEABLE = 0.045
"""The least share of the time of all operators for a part to be missed where it is left out: 5 % as tables round it."""
_WORTH_NAMING = 0.1
"""The least share of a class's time for an operator to be named beside it."""
_MOST_NAMED = 3
_TIMING = Timing()
_RESOLUTION_NS = 1_000
By: TypeAlias = Literal["class", "op", "node"]
NoSpeed: TypeAlias = Literal["nothing-counted", "unknown-operations", "counted-elsewhere", "partly-known"]
"""Why a part has no speed: nothing that is counted is computed; its operations are unknown; they count for another
operator that computes the same nodes; or those that are known do not speak for all of its time."""


@dataclass(frozen=True)
class Estimate:
    """A median over launches.

    Attributes:
        confidence: Of the interval; ``None`` where there are too few launches for one, and the ends are the range.
    """

    value: float
    low: float
    high: float
    confidence: float | None = None

    @property
    def ends(self) -> Ends | None:
        """The interval or range; ``None`` where both ends are the same, as after a single launch."""
        return None if self.low == self.high else Ends(self.low, self.high, is_range=self.confidence is None)

    @property
    def half_width(self) -> float:
        """The larger distance of an end from the value."""
        return max(self.value - self.low, self.high - self.value)

    @property
    def is_certain(self) -> bool:
        """Whether a difference of times, in nanoseconds, is more than scatter, and than what runtimes can tell."""
        return (self.low > 0 or self.high < 0) and abs(self.value) >= _RESOLUTION_NS

    def clamped(self, least: float, most: float) -> Estimate:
        """Return the same value with ends within what is possible."""
        return Estimate(self.value, max(least, self.low), min(most, self.high), self.confidence)

    def less(self, other: Estimate) -> Estimate:
        """Return the difference from an independent estimate: the ends are those that both intervals allow."""
        is_preview = self.confidence is None or other.confidence is None
        confidence = None if is_preview else self.confidence
        return Estimate(self.value - other.value, self.low - other.high, self.high - other.low, confidence)


def looks_at(launches: int) -> Looks:
    """Return at how many launches a profile of so many may end: its budget may end it sooner."""
    return Looks(_TIMING.min_launches, max(_TIMING.min_launches, launches))


def estimate(values: Sequence[float], looks: Looks) -> Estimate:
    """Return the estimate of one value for each launch, at least one."""
    interval = interval_at(values, looks, _TIMING.confidence)
    return Estimate(interval.value, interval.low, interval.high, interval.confidence)


@dataclass(frozen=True)
class GpuParts:
    """The parts of an inference on a GPU, over launches; in each launch they add up to the latency.

    Attributes:
        kernels_ns: Kernels; ``None`` where the runtime records none.
        waiting_ns: Time in which the GPU waits for the host; ``None`` as well.
        between_copies_ns: Kernels and waiting together.
        issuing_ns: Time that the host takes to hand over the work; ``None`` where that is unknown.
        on_cpu: Share of the latency in operators that ran on the CPU, as a fraction.
        rounding_ns: By how much kernels may be too short, and the waiting too long.
    """

    copy_in_ns: Estimate
    copy_out_ns: Estimate
    kernels_ns: Estimate | None
    waiting_ns: Estimate | None
    between_copies_ns: Estimate
    issuing_ns: Estimate | None
    on_cpu: Estimate
    rounding_ns: int


@dataclass(frozen=True)
class CellSummary:
    """A cell as a whole: what its parts add up to.

    Attributes:
        sum_ns: Time of all operators in an inference; ``None`` without a launch, as all figures, and where the runtime
            tells no time of any operator.
        latency_ns: Latency of the profiled calls that count: the mean of the middle half.
        between_ns: The latency less the operators: what lies between them. Below 0 where operators overlap.
        plain_ns: Latency without profiling, in the same launches.
        slowdown: The latency with profiling divided by that without.
        matched: Shares of the time of all operators, by how their nodes were found.
        uncertainty_ns: By how much the time of each operator may be off, because the runtime's figures are rounded.
        gpu: What an inference on a GPU is made of; ``None`` on the CPU.
    """

    id: str
    label: str
    launches: int
    sum_ns: Estimate | None = None
    latency_ns: Estimate | None = None
    between_ns: Estimate | None = None
    plain_ns: Estimate | None = None
    slowdown: Estimate | None = None
    flops: int | None = None
    matched: Mapping[MatchedBy, float] = field(default_factory=dict[MatchedBy, float])
    device: str = "cpu"
    uncertainty_ns: int = 0
    failure: Failure | None = None
    gpu: GpuParts | None = None

    @property
    def confidence(self) -> float | None:
        """Of its intervals; ``None`` where it has too few launches for one."""
        return None if self.latency_ns is None else self.latency_ns.confidence

    @property
    def overlaps(self) -> bool:
        """Whether its operators take longer together than the inference: several ran at the same time."""
        return self.between_ns is not None and self.between_ns.high < 0

    @property
    def is_costly(self) -> bool:
        """Whether profiling lengthens the inference so much that its parts do not speak for one without profiling."""
        return self.slowdown is not None and self.slowdown.value > _COSTLY

    @property
    def seems_sped_up(self) -> bool:
        """Whether profiled inferences were faster than plain ones as printed, which no recording can cause: noise."""
        return self.slowdown is not None and round(self.slowdown.value, 2) < 1

    @property
    def cost_is_noise(self) -> bool:
        """Whether profiled inferences seem certainly faster than plain ones, which no recording can cause."""
        return self.slowdown is not None and self.slowdown.confidence is not None and self.slowdown.high < 1

    @property
    def has_gap(self) -> bool:
        """Whether so much of the latency lies between operators that their shares do not speak for the inference."""
        if self.between_ns is None or self.latency_ns is None:
            return False
        return self.between_ns.value > _GAP * self.latency_ns.value


@dataclass(frozen=True)
class Figures:
    """What a part of an inference takes in one cell.

    Attributes:
        share: Its share of the time of all operators, from 0 to 1.
        executions: How often they are executed in an inference.
        flops: Floating-point operations of an inference; ``None`` where they are unknown.
        known_ns: Of its time, that of operators whose operations are known; ``None`` where there are none.
        inserted_ns: Of its time, that of operators which the runtime added to the graph to move data.
        moved_bytes: Bytes that its nodes read and write in an inference, each by itself: those between fused nodes,
            which never reach memory, too. ``None`` where some are unknown.
        peak_share: Share of the machine's peak of matrix products that it attains, as a fraction; ``None`` of other
            work, and where the peak or some operations are unknown.
    """

    time_ns: Estimate
    share: Estimate
    operators: int
    executions: int
    flops: int | None = None
    known_ns: Estimate | None = None
    inserted_ns: float = 0.0
    peak_share: float | None = None
    moved_bytes: int | None = None

    @property
    def flops_per_byte(self) -> float | None:
        """Arithmetic intensity: floating-point operations for each byte that its nodes read or write."""
        return self.flops / self.moved_bytes if self.flops and self.moved_bytes else None

    @property
    def flops_per_s(self) -> float | None:
        """Floating-point operations per second of the operators whose operations are known.

        ``None`` where these take less than nine tenths of the time: they would not speak for the part.
        """
        if not self.flops or self.known_ns is None or self.known_ns.value <= 0:
            return None
        if self.known_ns.value < _SPEAKS_FOR_ALL * self.time_ns.value:
            return None
        return 1e9 * self.flops / self.known_ns.value


@dataclass(frozen=True)
class PartRow:
    """A class of work, an operator type, or a group of nodes, in every cell.

    Attributes:
        key: Unique among the rows: the class, the operator types with the class, or the name of the first node.
        name: What it is called: of a group of nodes, its main node; the runtime's operator type without nodes.
        op_types: Operator types of its nodes, each once, in the order of the graph.
        nodes: Names of its nodes of the exported graph; only of groups of nodes.
        figures: By the ids of cells; cells that execute nothing of it are absent.
        parts: Of operators that compute nodes of the same types, a row for each of the runtimes' own operators; their
            times add up to its own.
    """

    key: str
    name: str
    operator_class: OperatorClass
    op_types: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    figures: Mapping[str, Figures] = field(default_factory=dict[str, Figures])
    parts: tuple[PartRow, ...] = ()

    @property
    def is_overhead(self) -> bool:
        """Whether it is the runtime's own work, and no part of the graph."""
        return self.operator_class is OperatorClass.OVERHEAD

    @property
    def is_noticeable(self) -> bool:
        """Whether it takes so much of some cell's time that its absence would be noticed."""
        return self.most_share >= _NOTICEABLE

    @property
    def below(self) -> tuple[PartRow, ...]:
        """What stands below it beside other backends: the runtimes' own operators, where some are fused ones.

        Those that compute one type of node and nothing else are one part then, if no cell has several of them.
        """
        plain = [part for part in self.parts if len(part.op_types) == 1 and part.op_types == self.op_types]
        if len(self.parts) < 2 or len(plain) == len(self.parts):
            return ()
        cells = [cell for part in plain for cell in part.figures]
        if plain and len(set(cells)) == len(cells):
            figures = {cell: own for part in plain for cell, own in part.figures.items()}
            plain = [replace(plain[0], name=plain[0].op_types[0], figures=figures)]
        fused = [part for part in self.parts if len(part.op_types) > 1 or part.op_types != self.op_types]
        return tuple(sorted((*plain, *fused), key=lambda part: -part.most_ns))

    def no_speed(self, cell: str) -> NoSpeed | None:
        """Return why there is no speed of it in a cell; ``None`` where there is one, and where it is not executed."""
        figures = self.figures.get(cell)
        if figures is None or figures.flops_per_s is not None:
            return None
        if self.operator_class is OperatorClass.MOVEMENT or figures.flops == 0:
            return "nothing-counted"
        if figures.known_ns is None:
            return "unknown-operations"
        return "counted-elsewhere" if figures.flops is None else "partly-known"

    @property
    def most_share(self) -> float:
        """Its share of the time in the cell where that is largest."""
        return max((figures.share.value for figures in self.figures.values()), default=0.0)

    @property
    def most_ns(self) -> float:
        """Its time in the cell where it takes longest."""
        return max((figures.time_ns.value for figures in self.figures.values()), default=0.0)

    @property
    def difference_ns(self) -> Estimate:
        """By how much its time is longer in the cell where it takes longest than where it takes the least."""
        times = sorted((figures.time_ns for figures in self.figures.values()), key=lambda time: time.value)
        return times[-1].less(times[0])


@dataclass(frozen=True)
class Excess:
    """What a cell loses to another in those groups of nodes that both execute: the intervals do not overlap.

    Attributes:
        operator_class: The class in which the operators of these groups take the most time in this cell.
        time_ns: By how much longer it takes there.
        against: The cell that is the fastest there.
        inserted_ns: Of its time there, that of operators which its runtime added to the graph.
    """

    cell: str
    operator_class: OperatorClass
    time_ns: float
    against: str
    inserted_ns: float = 0.0


@dataclass(frozen=True)
class OperatorShare:
    """An operator that is named beside its class, with its share of the time of all operators, from 0 to 1."""

    name: str
    share: float


@dataclass(frozen=True)
class HeadlineFacts:
    """What is said of a cell in words.

    Attributes:
        operators: Those that take the most of that class's time, the largest first.
        next_largest: The class that takes the most time besides; ``None`` where there is no other.
        excess: Where it loses the most to another cell; ``None`` where it loses nowhere, and where profiling costs too
            much to tell.
    """

    cell: str
    largest: OperatorClass
    operators: tuple[OperatorShare, ...]
    next_largest: OperatorClass | None
    excess: Excess | None


@dataclass(frozen=True)
class PartChange:
    """What became of a part between two levels of optimisation of one backend.

    Attributes:
        before_ns: Its time in the first level; ``None`` where nothing of it was executed.
        change_ns: The second less the first, launch by launch.
        kinds: The runtime's own types of these, before and after.
    """

    key: str
    name: str
    operator_class: OperatorClass
    before_ns: Estimate | None
    after_ns: Estimate | None
    change_ns: Estimate
    operators: tuple[int, int]
    kinds: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@dataclass(frozen=True)
class LevelComparison:
    """One backend at two levels of optimisation.

    Attributes:
        before: Id of its cell at the first level.
        after: Id of its cell at the second one.
        classes: By class of work, the largest change first.
        nodes: By group of nodes, the largest change first.
    """

    before: str
    after: str
    total: PartChange
    classes: tuple[PartChange, ...]
    nodes: tuple[PartChange, ...]


@dataclass(frozen=True)
class ProfileReport:
    """All figures of a profile.

    Attributes:
        classes: Rows by class of work, the largest first.
        operators: Rows by the types of nodes that operators compute, the largest first.
        nodes: Rows by group of nodes, in the order of the graph; what computes no node comes behind.
    """

    cells: tuple[CellSummary, ...]
    classes: tuple[PartRow, ...]
    operators: tuple[PartRow, ...]
    nodes: tuple[PartRow, ...]
    headline: tuple[HeadlineFacts, ...] = ()
    comparisons: tuple[LevelComparison, ...] = ()
    counters: tuple[ClassCounters, ...] = ()

    @property
    def by_latency(self) -> tuple[CellSummary, ...]:
        """The cells that have launches, the one with the shortest latency without profiling first."""
        timed = [(cell.plain_ns.value, cell) for cell in self.cells if cell.plain_ns is not None]
        return tuple(cell for _, cell in sorted(timed, key=lambda pair: pair[0]))

    @property
    def fastest(self) -> CellSummary | None:
        """The cell that is the fastest without profiling; ``None`` of a single cell, and where intervals overlap."""
        if len(self.by_latency) < 2:
            return None
        own, *others = [cell.plain_ns for cell in self.by_latency if cell.plain_ns is not None]
        has_intervals = all(each.confidence is not None for each in (own, *others))
        return self.by_latency[0] if has_intervals and all(own.high < other.low for other in others) else None

    def rows(self, by: By) -> tuple[PartRow, ...]:
        """Return the rows by class of work, by operator or by node.

        Of a single cell with launches, rows by operator are the runtime's own operators; of several, those that compute
        nodes of the same types are one row.
        """
        is_alone = sum(cell.launches > 0 for cell in self.cells) == 1
        operators = self.own_operators if is_alone else self.operators
        return {"class": self.classes, "op": operators, "node": self.nodes}[by]

    def times_in_order(self, cell: CellSummary) -> tuple[tuple[OperatorClass | None, float], ...]:
        """Return what an inference of a cell is made of, in nanoseconds: its classes, then what lies between operators.

        The class of that is ``None``; it is absent where operators overlap.
        """
        of_classes = (
            (part.operator_class, figures.time_ns.value)
            for part in self.classes
            if (figures := part.figures.get(cell.id)) is not None and figures.time_ns.value > 0
        )
        between_ns = 0.0 if cell.between_ns is None else cell.between_ns.value
        return (*of_classes, *([(None, between_ns)] if between_ns > 0 else []))

    @property
    def own_operators(self) -> tuple[PartRow, ...]:
        """A row for each of the runtimes' own operators with the types of nodes that it computes."""
        return tuple(sorted((part for row in self.operators for part in row.parts), key=lambda part: -part.most_ns))

    def main_operators(self, cell: str, operator_class: OperatorClass) -> tuple[OperatorShare, ...]:
        """Return the operators that take the most of a class's time in a cell, the largest first."""
        rows = [row for row in self.rows("op") if row.operator_class is operator_class and cell in row.figures]
        operators = [OperatorShare(row.name, row.figures[cell].share.value) for row in rows]
        least = _WORTH_NAMING * sum(operator.share for operator in operators)
        largest = sorted(operators, key=lambda operator: -operator.share)[:_MOST_NAMED]
        return tuple(operator for operator in largest if operator.share >= least)

    def differing(self, top: int) -> tuple[PartRow, ...]:
        """Return the groups of nodes that differ most between cells, and not only by scatter; the largest first."""
        several = [row for row in self.nodes if row.nodes and len(row.figures) > 1 and row.difference_ns.is_certain]
        return tuple(sorted(several, key=lambda row: -row.difference_ns.low)[:top])


@dataclass(frozen=True)
class ClassCounters:
    """What counters saw of a class of work in a cell, per inference; or of the whole model, or of an empty call.

    Attributes:
        operator_class: The class; ``None`` of a call and of the whole model.
        figures: Events of the counted operators, added up; ratios of these sums; and shares of slots, weighted with
            cycles. Shares of one kind of core are left out where several models were counted.
        counted_share: Of the time that the class takes in the profile, how much is in operators that were counted,
            from 0 to 1.
        models: How many models of single operators were counted.
        times: For how many operators of an inference these stand.
        launches: In how many launches all of them were counted.
    """

    cell: str
    label: str
    kind: CountedKind
    operator_class: OperatorClass | None
    figures: tuple[CounterFigure, ...]
    counted_share: float
    models: int
    times: int
    launches: int
