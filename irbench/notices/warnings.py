"""What speaks against the figures, and what a reader can do about it.

Each has a short sentence that fits on one line, further sentences, and a remedy; the last two come on demand. They are
declared in the order of what they cost the answer: here what is wrong and what is disturbed, in
:mod:`irbench.notices.doubts` what is another question and what is only imprecise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

import msgspec

from irbench.core.quantities import listing, percent, plural, significant, times
from irbench.notices.base import Context, ExampleFacts, Notice, RowId

Degeneracy: TypeAlias = Literal["zero", "constant", "tiny", "not-finite"]
"""``zero``: all values of an output are; ``constant``: all are the same number; ``tiny``: the largest is no more than
the rounding errors of larger values may be; ``not-finite``: none is a finite number."""

_MOST_PAIRS = 3


class Warn(Notice):
    """A warning below a table."""

    known: ClassVar[list[type[Warn]]] = []

    def brief(self, context: Context) -> str:
        """Return what is wrong, as one short sentence."""
        raise NotImplementedError

    def detail(self, context: Context) -> str:
        """Return further sentences; none where the short one says all."""
        return ""

    def remedy(self, context: Context) -> str:
        """Return the sentences that say what to do."""
        raise NotImplementedError

    def more(self, context: Context) -> str:
        """Return further sentences, and the remedy."""
        return " ".join(filter(None, (self.detail(context), self.remedy(context))))

    def whole(self, context: Context) -> str:
        """Return all that is to be said."""
        return f"{self.brief(context)} {self.more(context)}".strip()


def by_cost(warnings: Iterable[Warn]) -> list[Warn]:
    """Return warnings with those first that cost the answer most."""
    return sorted(warnings, key=lambda warning: Warn.known.index(type(warning)))


class Refused(msgspec.Struct, frozen=True):
    """A reference that could not run a model, and what it said."""

    reference: str
    message: str


class Unverified(Warn):
    """Outputs that nothing could be compared with.

    ``draws`` are the operators of a model that draw random numbers, ``switch`` is the input that turns them off
    where it is ``off``, and ``batch`` is the batch size of which this is known, where a model has several.
    """

    code = "unverified"
    says = "no reference could check the outputs"

    model: str
    refusals: tuple[Refused, ...]
    draws: str = ""
    switch: str = ""
    off: int = 0
    batch: int | None = None
    example_facts: ClassVar[ExampleFacts] = {"model": "net", "refusals": (Refused("ort", "it has no kernel for MyOp"),)}

    def brief(self, context: Context) -> str:
        at_batch = "" if self.batch is None else f" at batch {self.batch}"
        return f"Outputs of {self.model} were not verified{at_batch}."

    def detail(self, context: Context) -> str:
        if self.draws:
            return f"It draws random numbers ({self.draws}), and each runtime draws others."
        said = "; ".join(f"{refusal.reference}: {refusal.message}" for refusal in self.refusals)
        return f"No reference could run it ({said})." if said else "No reference is installed."

    def remedy(self, context: Context) -> str:
        if self.switch:
            return f"Pass --value {quote(self.switch)}={self.off} to turn off random numbers."
        if self.draws:
            return "Export a model that draws only in training, if its outputs are to be verified."
        if self.refusals:
            return "If the model needs other sizes or inputs, give them with --shape, `--data` or --value."
        return "Export the model from its TensorFlow source, which stores reference outputs, or install onnxruntime."


class DegenerateRow(msgspec.Struct, frozen=True):
    """An output with which nearly any answer agrees; its largest absolute value, ``None`` where none is finite."""

    output: str
    values: Degeneracy
    largest: float | None

    def text(self) -> str:
        """Return what is wrong with it."""
        words = {
            "zero": "is all zeros",
            "constant": "has only one value",
            "tiny": f"is at most {self.largest or 0:.1g}",
            "not-finite": "contains no finite number",
        }
        return f"{self.output} {words[self.values]}"


class DegenerateOutputs(Warn):
    code = "degenerate-outputs"
    says = "the expected outputs are all zero, constant or tiny, so that many wrong answers would pass"

    model: str
    of: int
    outputs: Annotated[tuple[DegenerateRow, ...], msgspec.Meta(min_length=1)]
    example_facts: ClassVar[ExampleFacts] = {
        "model": "detector",
        "of": 1,
        "outputs": (DegenerateRow("boxes", "tiny", 8e-6),),
    }

    def brief(self, context: Context) -> str:
        others = len(self.outputs) - 1
        more = f", and {others} of the other {self.of - 1} are no better" if others else ""
        return f"Comparing the outputs of {self.model} says little: {self.outputs[0].text()}{more}."

    def detail(self, context: Context) -> str:
        return "These inputs do not show what the model computes, so wrong answers may pass."

    def remedy(self, context: Context) -> str:
        return "Verify it with real inputs: irbench verify MODEL --data FOLDER."


class MixesSamples(Warn):
    """``max_rel`` is how far the outputs are apart; ``None`` where only one of them is a number."""

    code = "mixes-samples"
    says = "a sample has other outputs in a batch than alone"

    model: str
    batch: int
    max_rel: float | None = None
    example_facts: ClassVar[ExampleFacts] = {"model": "net", "batch": 8, "max_rel": 0.4}

    def brief(self, context: Context) -> str:
        apart = "" if self.max_rel is None else f" (max err {significant(self.max_rel, 2)})"
        return f"{self.model} mixes samples: the first of a batch of {self.batch} has other outputs than alone{apart}."

    def detail(self, context: Context) -> str:
        return "Its rows at this batch agree with the reference, but they do not compute what a batch of 1 computes."

    def remedy(self, context: Context) -> str:
        return "Export the model again with a dynamic batch; irbench inspect shows the shapes of its Reshape nodes."


class BaselineReplaced(Warn):
    code = "baseline-replaced"
    says = "the baseline has no valid figures, so another row is the baseline"

    asked: RowId
    used: RowId
    example_facts: ClassVar[ExampleFacts] = {"asked": "tf", "used": "ort"}

    def brief(self, context: Context) -> str:
        baseline, used = context.name(self.asked), context.name(self.used)
        return f"The baseline {baseline} has no valid figures; speedups are relative to {used}."

    def remedy(self, context: Context) -> str:
        return "See its row for the reason, or choose another one with --baseline."


class TailOmitted(Warn):
    code = "tail-omitted"
    says = "the budget has no room for the calls that p99 is taken from"

    calls: int
    seconds: float
    launches: int
    needed_s: float
    example_facts: ClassVar[ExampleFacts] = {"calls": 1000, "seconds": 31.0, "launches": 4, "needed_s": 188.2}

    def brief(self, context: Context) -> str:
        return f"p99 was omitted: {self.calls:,} calls of each row take {self.seconds:.0f} s per launch."

    def detail(self, context: Context) -> str:
        return f"The budget has no room for that in {plural(self.launches, 'launch')}."

    def remedy(self, context: Context) -> str:
        return f"Use a --budget of at least {math.ceil(self.needed_s)}s per table."


class Disturbed(Warn):
    """What one cause brought about, named after the worst of it; ``None`` is what it did not."""

    foreign_share: float | None = None
    processors: int | None = None
    blocks_disturbed: int | None = None
    blocks: int | None = None
    launches_short: int | None = None
    least_blocks: int | None = None

    def brief(self, context: Context) -> str:
        """Return the worst of it."""
        return next(self._disturbances(), "Other activity disturbed the run.")

    def detail(self, context: Context) -> str:
        """Return the rest of it."""
        return " ".join(list(self._disturbances())[1:])

    def remedy(self, context: Context) -> str:
        """Return how to get a quiet machine."""
        idle = self.foreign_share is not None and context.has_idle_processors
        processors = " use idle processors with --cpus," if idle else ""
        return f"Close other programs (top lists them),{processors} or repeat the run on a quiet machine."

    def _disturbances(self) -> Iterator[str]:
        if self.launches_short is not None:
            yield (
                f"{plural(self.launches_short, 'launch')} had fewer than {self.least_blocks} undisturbed blocks,"
                " so all of their blocks are included."
            )
        if self.blocks_disturbed is not None:
            yield f"Other activity disturbed {self.blocks_disturbed} of {plural(self.blocks or 0, 'block')}."
        if self.foreign_share is not None:
            yield f"Other programs used {percent(self.foreign_share, 0)} of a processor."


class FewCleanBlocks(Disturbed):
    code = "few-clean-blocks"
    says = "a launch had too few undisturbed blocks and too few others remained, so disturbed ones are included"
    example_facts: ClassVar[ExampleFacts] = {"launches_short": 2, "least_blocks": 4}


class ManyDirtyBlocks(Disturbed):
    code = "many-dirty-blocks"
    says = "more than a quarter of the blocks were disturbed"
    example_facts: ClassVar[ExampleFacts] = {"blocks_disturbed": 35, "blocks": 103}


class BusyMachine(Disturbed):
    code = "busy-machine"
    says = "other programs used more than 2.5 % of the processors in use"
    example_facts: ClassVar[ExampleFacts] = {"foreign_share": 0.3, "processors": 2}


class CpuQuota(Warn):
    code = "cpu-quota"
    says = "the container's CPU quota throttled the processes"

    seconds: float
    blocks: int
    example_facts: ClassVar[ExampleFacts] = {"seconds": 1.2, "blocks": 9}

    def brief(self, context: Context) -> str:
        return f"The CPU quota throttled the processes for {self.seconds:.2g} s in {plural(self.blocks, 'block')}."

    def remedy(self, context: Context) -> str:
        return "Raise the container's quota, or lower --threads to what it allows."


class StolenTime(Warn):
    code = "stolen-time"
    says = "the hypervisor took away more than 2 % of a processor's time"

    share: float
    example_facts: ClassVar[ExampleFacts] = {"share": 0.07}

    def brief(self, context: Context) -> str:
        return f"The hypervisor took away {percent(self.share, 0)} of a processor's time."

    def remedy(self, context: Context) -> str:
        return "Repeat the run at another time, or on a machine with dedicated processors."


class StarvedStreamsRow(msgspec.Struct, frozen=True):
    """How many requests were asked to be in flight, and how many latencies account for.

    ``open_share`` of the requests were open when rounds ended, the oldest for ``oldest_ms``.
    """

    cell: RowId
    asked: int
    found: float
    open_share: float | None
    oldest_ms: float


class StarvedStreams(Warn):
    code = "starved-streams"
    says = "some requests in flight wait so long that latencies leave them out"

    rows: tuple[StarvedStreamsRow, ...]
    example_facts: ClassVar[ExampleFacts] = {
        "rows": (StarvedStreamsRow("ort x4", asked=4, found=2.0, open_share=0.083, oldest_ms=51.2),)
    }

    def brief(self, context: Context) -> str:
        accounts = (
            f"those of {context.name(row.cell)} account for {row.found:.1f} of {row.asked}" for row in self.rows
        )
        return f"Latencies leave out requests that are never served: {listing(accounts)} in flight."

    def detail(self, context: Context) -> str:
        known = [
            f"{percent(row.open_share)} of the requests of {context.name(row.cell)} were open, one of them for"
            f" {row.oldest_ms:.3g} ms"
            for row in self.rows
            if row.open_share is not None
        ]
        least = "Percentiles are lower bounds."
        return f"{least} When rounds ended, {listing(known)}." if known else least

    def remedy(self, context: Context) -> str:
        return "Use as many --streams as the backend serves at a time."


class TooFewLaunches(Warn):
    code = "too-few-launches"
    says = "the budget was used up before there were enough launches for an interval"

    launches: int
    least_launches: int
    needed_s: int
    over_budget: bool
    example_facts: ClassVar[ExampleFacts] = {"launches": 3, "least_launches": 4, "needed_s": 176, "over_budget": False}

    def brief(self, context: Context) -> str:
        if self.over_budget:
            return f"Even one launch took longer than the budget; {self.least_launches} are needed."
        return f"Only {self.launches} of the {plural(self.least_launches, 'required launch')} fit into the budget."

    def detail(self, context: Context) -> str:
        return f"The table is a preview{' and shows ranges over launches' if self.launches > 1 else ''}."

    def remedy(self, context: Context) -> str:
        return f"This table needs about --budget {self.needed_s}s."


class OrderRow(msgspec.Struct, frozen=True):
    """Two rows of which the first is ``lead`` times as fast by speedup, and behind by the figures of both."""

    cell: RowId
    other: RowId
    lead: float
    p50_ms: tuple[float, float] | None
    fps: tuple[float, float] | None
    believed: Literal["speedup"] | None
    tokens_per_s: tuple[float, float] | None = None

    def figures(self) -> str:
        """Return the figures that contradict the order: ``its p50 is 13.4 ms against 4.18``."""
        figures = {
            "its p50 is {} ms against {}": self.p50_ms,
            "its FPS are {} against {}": self.fps,
            "its tokens/s are {} against {}": self.tokens_per_s,
        }
        return listing(text.format(*map(significant, ends)) for text, ends in figures.items() if ends is not None)

    def text(self, context: Context) -> str:
        """Return what contradicts what, and what is believed."""
        believed = "the speedup is believed" if self.believed == "speedup" else "neither is believed"
        own, other = context.name(self.cell), context.name(self.other)
        return f"{own} is {times(self.lead)} as fast as {other}, but {self.figures()}: {believed}"


class OrdersDiffer(Warn):
    code = "orders-differ"
    says = "p50 or FPS put two rows in another order than their speedups do"

    rows: tuple[OrderRow, ...]
    launches: int
    preview: bool

    def brief(self, context: Context) -> str:
        shown = "; ".join(row.text(context) for row in self.rows[:_MOST_PAIRS])
        rest = len(self.rows) - _MOST_PAIRS
        more = f"; and {plural(rest, 'other pair')} of rows" if rest > 0 else ""
        return f"{shown}{more}."

    def detail(self, context: Context) -> str:
        why = (
            "Speedups compare rows side by side within each block; p50 and"
            f" {context.throughput} are of all calls of a row, and {context.throughput} include slow calls."
        )
        if rest := self.rows[_MOST_PAIRS:]:
            why = f"Of the other pairs, {'; '.join(row.text(context) for row in rest)}. {why}"
        if not self.preview:
            return why
        return f"{why} After {plural(self.launches, 'launch')} no order of these rows can be told."

    def remedy(self, context: Context) -> str:
        return "Compare p90, and repeat the run on a quiet machine, with more launches (--budget)."

    @classmethod
    def example(cls) -> Self:
        row = OrderRow("ort", "tf", lead=1.19, p50_ms=(13.4, 4.18), fps=None, believed=None)
        return cls(rows=(row,), launches=3, preview=True)


class ExcludedBlocksRow(msgspec.Struct, frozen=True):
    """What a row's speedup would be over all blocks, and whether that lies outside its interval."""

    cell: RowId
    moves: bool
    all_blocks_value: float | None
    verdict: str
    all_blocks_verdict: str | None

    def text(self, context: Context) -> str:
        """Return what would change."""
        changes = [f"{self.all_blocks_value or math.nan:.3f}x, outside its interval"] if self.moves else []
        if self.all_blocks_verdict != self.verdict:
            changes.append(f"{self.all_blocks_verdict} instead of {self.verdict}")
        return f"{context.name(self.cell)} is {listing(changes)}"


class ExcludedBlocksMatter(Warn):
    code = "excluded-blocks-matter"
    says = "including the disturbed blocks would change the result"

    rows: tuple[ExcludedBlocksRow, ...]
    example_facts: ClassVar[ExampleFacts] = {"rows": (ExcludedBlocksRow("ort", True, 1.082, "faster", "undecided"),)}

    def brief(self, context: Context) -> str:
        names = context.listed(row.cell for row in self.rows)
        return f"Including the disturbed blocks would change the speedup of {names}."

    def detail(self, context: Context) -> str:
        return f"Over all blocks, {'; '.join(row.text(context) for row in self.rows)}."

    def remedy(self, context: Context) -> str:
        return "Repeat the run on a quiet machine before you quote it."
