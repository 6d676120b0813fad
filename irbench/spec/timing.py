"""The protocol's numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

LEAST_WAIT_S = 30.0
"""However small a budget is: an interpreter, a runtime and a model of usual size take no longer to get ready."""
SHARE_OF_BUDGET = 0.5
"""Of what is left, what one wait may take, so that a backend that hangs leaves time for the other rows. A step that
takes longer would take so long in each launch, of which an interval needs several."""


@dataclass(frozen=True)
class Deadline:
    """How long a worker is waited for.

    Attributes:
        seconds: So long.
        by_budget: Whether it is the budget that allows no more.
    """

    seconds: float
    by_budget: bool = False

    def together(self, workers: int) -> float:
        """Return how long workers are waited for that share the processors: no longer, if it is a share of a budget."""
        return self.seconds if self.by_budget else self.seconds * max(1, workers)


@dataclass(frozen=True)
class WarmUpLength:
    """How long every launch of a row warms up, as a user gives it: one of both.

    Attributes:
        seconds: For this time.
        calls: For so many calls.
    """

    seconds: float | None = None
    calls: int | None = None

    def __str__(self) -> str:
        """Return it as the command line takes it, with all of its digits: plans store it."""
        return str(self.calls) if self.seconds is None else f"{Decimal(repr(self.seconds)):f}s"


@dataclass(frozen=True)
class Timing:
    """The protocol's numbers. Durations are in seconds unless the name says otherwise.

    Attributes:
        min_launches: Launches that every cell has, before there is an interval; afterwards the run may stop.
        max_launches: Launches after which the run stops whatever the interval.
        blocks: Clean blocks wanted in each launch, until two launches have shown what scatters.
        max_blocks: Blocks after which a launch of ``blocks`` ends however many are clean; others in proportion.
        min_blocks: Clean blocks below which a launch is disturbed; also the fewest that a launch has.
        most_blocks: Clean blocks that a launch has at most.
        left_out_above: Share of all blocks that was disturbed, above which disturbed launches may be left out.
        burn_in_blocks: The first blocks of a launch, which are recorded and not counted.
        target: Half-width at which the interval of the winner's lead is narrow enough, as a fraction of 1.
        within: Half-width of the band around 1 that is called the same.
        most_cells: Cells of one launch, at least 2; more take turns too seldom for the machine to stay the same.
        confidence: Of all intervals of a table together, whenever the run stops.
        budget: Wall time one group may take.
        before_s: What preparing the run used of a budget that somebody gave. Where that was long, so are starts.
        sized_for: Wall time that one group's launches are sized for where that is less than ``budget``, down to the
            smallest launch there is; ``None`` sizes them for the budget.
        sized_share: Of the budget that a group has in the end, what its launches are sized for at most until there are
            enough of them for an interval.
        sustain: How long each cell also runs alone and uninterrupted in each launch; 0 leaves it out.
        energy: Whether the energy is read that the machine uses while a cell runs alone, and while none does.
        idle: How long the machine is left idle in each launch, for the power that it needs then.
        pace: Time from one call to the next in a run of each cell alone, in each launch; 0 leaves that run out.
        pace_seconds: How long such a run lasts, unless it has ``pace_calls`` only.
        pace_calls: Calls that it has at least: of three launches they are enough for p90.
        tail: Whether each cell also runs alone in each launch for its tail percentiles.
        tail_calls: Calls of each cell in such a run; with fewer no tail percentile is given.
        warm_up: How long a cell runs before its first block, and for ``min_calls`` calls at least where there is time.
        warm_up_calls: For how many calls it does so at least, however long they take.
        look_calls: For how many calls the first launch of a cell warms up, to see after how many they get no faster;
            0 does not look.
        look: How long that may take.
        look_share: How much of the time that is left it may take for all cells together.
        min_calls: Timed samples that a round has at least, where there is time for them.
        calls_per_stream: Timed samples that a round has at least for each inference in flight, in groups with streams,
            where there is time for them.
        behind: A row that the first block of a launch shows to take more than so many times what the best one of the
            launch takes is timed in no further block of it; 0 times every row in every block.
        round_seconds: How long a round at least lasts, in groups without streams.
        stream_round_seconds: How long it at least lasts where a cell of the group keeps several inferences in flight.
        settle: How long a cell runs untimed at the start of each round, after it was thawed; at most twice that.
        gpu_settle: The same of a row on a GPU, if that is longer: an idle GPU takes so long to raise its clock.
        gpu_round_seconds: How long a round at least lasts where a row of the table runs on a GPU.
        beginnings: Whether the parts of a training step are timed in each launch, after its blocks.
        dirty_foreign_share: CPU time of other processes, as a fraction of a block's wall time on all the processors in
            use, above which it is dirty.
        dirty_run_queue: How far a round's share of time in the run queue may lie above what is usual for its cell in
            this launch, in fractions of the round's wall time, before the block is dirty; more where it scatters.
        dirty_gpu_clock: How far a GPU's clock after a round may lie below its median of the row's rounds of this
            launch, as a fraction of the median, before the block is dirty.
        busy_processors: Processors that a process of irbench's own keeps busy each while the group is measured; none
            leaves the machine as it is.
        deadline: How long a worker may take for one command, beyond what the command itself asks for.
        deadline_by: Who chose that: nobody, the user, or nobody while a budget was given, which then bounds it too.
    """

    min_launches: int = 4
    max_launches: int = 12
    blocks: int = 8
    max_blocks: int = 12
    min_blocks: int = 4
    most_blocks: int = 12
    left_out_above: float = 0.0
    burn_in_blocks: int = 1
    target: float = 0.01
    within: float = 0.02
    most_cells: int = 6
    confidence: float = 0.95
    budget: float = 90.0
    before_s: float = 0.0
    sized_for: float | None = None
    sized_share: float = 1.0
    sustain: float = 0.0
    energy: bool = False
    idle: float = 1.0
    pace: float = 0.0
    pace_seconds: float = 1.0
    pace_calls: int = 15
    tail: bool = False
    tail_calls: int = 1000
    warm_up: float = 0.3
    warm_up_calls: int = 0
    look_calls: int = 300
    look: float = 10.0
    look_share: float = 0.15
    min_calls: int = 3
    calls_per_stream: int = 4
    behind: float = 0.0
    round_seconds: float = 0.025
    stream_round_seconds: float = 0.05
    settle: float = 0.005
    gpu_settle: float = 0.3
    gpu_round_seconds: float = 0.1
    beginnings: bool = True
    dirty_foreign_share: float = 0.025
    dirty_run_queue: float = 0.05
    dirty_gpu_clock: float = 0.1
    busy_processors: tuple[int, ...] = ()
    deadline: float = 300.0
    deadline_by: Literal["default", "user", "budget"] = "default"

    def on_gpu(self) -> Timing:
        """Return the numbers of a row on a GPU, and of the rounds of a table that has one."""
        return replace(
            self,
            settle=max(self.settle, self.gpu_settle),
            round_seconds=max(self.round_seconds, self.gpu_round_seconds),
            stream_round_seconds=max(self.stream_round_seconds, self.gpu_round_seconds),
        )

    def sized_for_s(self, *, has_interval: bool) -> float:
        """Return the time that launches are sized for: a share of the budget until an interval has enough, then all."""
        share_s = self.budget if has_interval else self.sized_share * self.budget
        return share_s if self.sized_for is None else min(share_s, self.sized_for)

    def within_budget(self, budget_s: float, before_s: float = 0.0) -> Timing:
        """Return the numbers with a budget that somebody gave, which bounds a deadline that nobody did."""
        deadline_by: Literal["user", "budget"] = "user" if self.deadline_by == "user" else "budget"
        return replace(self, budget=budget_s, before_s=before_s, deadline_by=deadline_by)

    def deadline_after(self, elapsed_s: float) -> Deadline:
        """Return how long a worker is waited for when so much of the budget is used up."""
        most_s = max(LEAST_WAIT_S, SHARE_OF_BUDGET * (self.budget - elapsed_s), SHARE_OF_BUDGET * self.before_s)
        if self.deadline_by != "budget" or most_s >= self.deadline:
            return Deadline(self.deadline)
        return Deadline(most_s, by_budget=True)


@dataclass(frozen=True)
class SoakPlan:
    """How long each row is called, and how its use of memory is assessed.

    Attributes:
        seconds: For how long each row is called; without meaning where ``calls`` is given.
        calls: How many calls of each row there are at least; ``None`` calls for ``seconds``.
        growth_limit: Bytes per call from which on growth matters.
        blocks: Into how many blocks the calls of a row are divided; at the end of each its memory is read.
    """

    seconds: float = 60.0
    calls: int | None = None
    growth_limit: float = 1000.0
    blocks: int = 120
