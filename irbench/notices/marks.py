"""What must be said of one row beside its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Union

from irbench.core.quantities import plural
from irbench.notices.absent_readings import ABSENCE_TEXTS, AbsenceReason
from irbench.notices.base import ExampleFacts, Notice
from irbench.notices.conversions import disagreement_text
from irbench.spec import Disagreement, Scalar
from irbench.spec.serving import ServiceLevel

_USUAL_SHARE = 0.1
"""Of the time of its rounds, what a command's own calls take at least: settle calls and requests are the rest."""


class Mark(Notice):
    """A mark of a row."""

    known: ClassVar[list[type[Mark]]] = []

    def text(self) -> str:
        """Return it in words, without a full stop."""
        raise NotImplementedError


class Oversubscribed(Mark):
    code = "oversubscribed"
    says = "more concurrent inferences than threads"

    streams: int
    threads: int
    requested_threads: int | None
    example_facts: ClassVar[ExampleFacts] = {"streams": 4, "threads": 2, "requested_threads": 2}

    def text(self) -> str:
        text = f"oversubscribed: {self.streams} streams on {self.threads} threads"
        requested = self.requested_threads
        return text if requested in (None, self.threads) else f"{text}, {requested} requested"


class StarvedRow(Mark):
    code = "starved-streams"
    says = "some requests in flight wait so long that latencies leave them out"

    asked: int
    found: float
    example_facts: ClassVar[ExampleFacts] = {"asked": 4, "found": 2.0}

    def text(self) -> str:
        return f"p50 and p90 are lower bounds: they account for {self.found:.1f} of {self.asked} requests in flight"


class OtherPrecision(Mark):
    code = "other-precision"
    says = (
        "the precision differs from the baseline's, as you named it: by a file, `--optimize`, `--precision` or"
        " `--allow-mixed`"
    )

    precision: str
    baseline_precision: str
    example_facts: ClassVar[ExampleFacts] = {"precision": "bf16", "baseline_precision": "fp32"}

    def text(self) -> str:
        return f"computes in {self.precision}, the baseline in {self.baseline_precision}"


class OtherThanGraph(Mark):
    code = "other-than-graph"
    says = "the runtime does not compute in the precision that the graph holds"

    graph: str
    precision: str
    example_facts: ClassVar[ExampleFacts] = {"graph": "fp16", "precision": "fp32"}

    def text(self) -> str:
        return f"computes this {self.graph} graph in {self.precision}"


class NotRanked(Mark):
    code = "not-ranked"
    says = "a runtime chose the precision by itself, and it differs from the baseline's, so the row is not compared"

    precision: str
    baseline_precision: str
    example_facts: ClassVar[ExampleFacts] = {"precision": "bf16", "baseline_precision": "fp32"}

    def text(self) -> str:
        return (
            f"not ranked: computes in {self.precision}, the baseline in {self.baseline_precision}"
            " (--allow-mixed compares them)"
        )


class AboveMaxLatency(Mark):
    code = "above-max-latency"
    says = "the p90 latency is above `--max-latency`, so the row is not a candidate for the best"

    p90_ms: float
    level: ServiceLevel | None = None
    example_facts: ClassVar[ExampleFacts] = {"p90_ms": 61.2}

    def text(self) -> str:
        limit = "--max-latency" if self.level is None else f"the {self.level.limit_ms:g} ms of --slo"
        return f"not a candidate: p90 of {self.p90_ms:.3g} ms is above {limit}"


class NoOutputs(Mark):
    code = "no-outputs"
    says = "a function or a command of your own returned no outputs, so there is nothing to verify (`--cell`)"

    def text(self) -> str:
        return "not verified: it returns no outputs"


class LossNotCompared(Mark):
    code = "loss-not-compared"
    says = "`irbench train` has no row in fp32 with the same batch whose loss falls, which this one could end near"

    def text(self) -> str:
        return "loss falls, but is not compared with that of fp32"


class SelfTimed(Mark):
    code = "self-timed"
    says = "a command of your own, which measures its calls itself (`--cell`)"

    share: float | None
    example_facts: ClassVar[ExampleFacts] = {"share": 0.02}

    def text(self) -> str:
        text = "timed by the command itself, not by irbench"
        if self.share is None or self.share >= _USUAL_SHARE:
            return text
        return (
            f"{text}; its calls fill only {self.share * 100:.2g} % of its time: it restarts often, or reports them in"
            " the wrong unit"
        )


class RefusedInWarmUp(Mark):
    code = "refused-in-warm-up"
    says = "a model server refused warm-up calls, which were retried (`--cell`)"

    calls: int
    example_facts: ClassVar[ExampleFacts] = {"calls": 12}

    def text(self) -> str:
        were = "it was" if self.calls == 1 else "they were"
        calls = plural(self.calls, "warm-up call")
        return f"the server refused {calls} (it limits concurrent requests); {were} retried"


class AnswersDiffer(Mark):
    """Its facts beside ``is_candidate`` are those of :class:`irbench.spec.Disagreement`."""

    code = "answers-differ"
    says = "the graph was converted, and its outputs are too different from the model's"

    measure: Literal["top1-agreement", "max-rel"]
    value: float | None
    limit: float | None
    samples: int | None
    source: Literal["", "generated", "data"]
    is_candidate: bool
    example_facts: ClassVar[ExampleFacts] = {
        "measure": "top1-agreement",
        "value": 0.63,
        "limit": 0.9,
        "samples": None,
        "source": "",
        "is_candidate": False,
    }

    def text(self) -> str:
        excluded = "" if self.is_candidate else "cannot be the fastest: "
        disagreement = disagreement_text(Disagreement(self.measure, self.value, self.limit, self.samples, self.source))
        return f"{excluded}outputs differ too much from the model's ({disagreement}, when it was converted)"


class BeyondTolerance(Mark):
    code = "beyond-tolerance"
    says = "outputs differ from the reference by more than the tolerance, and keep `--min-accuracy` or `--metric`"

    max_rel: float
    precision: str
    example_facts: ClassVar[ExampleFacts] = {"max_rel": 0.18, "precision": "bf16"}

    def text(self) -> str:
        return (
            f"outputs are off by more than the tolerance of {self.precision} (max err {self.max_rel:.2g}), but within"
            " the accuracy limit that was given"
        )


class VendorOperators(Mark):
    code = "vendor-operators"
    says = "the graph contains operators that are not part of ONNX"

    domains: tuple[str, ...]
    example_facts: ClassVar[ExampleFacts] = {"domains": ("com.microsoft",)}

    def text(self) -> str:
        return f"uses operators that only some runtimes support ({', '.join(self.domains)})"


class OtherPeaks(Mark):
    code = "other-peaks"
    says = "the peaks of the machine were measured with another version of the runtime, or without it"

    version: Scalar
    measured_with: str
    example_facts: ClassVar[ExampleFacts] = {"version": "1.24.1", "measured_with": "1.23.0"}

    def text(self) -> str:
        measured = f"with version {self.measured_with}" if self.measured_with else "without this backend"
        return f"of roof: runs version {self.version}, and the peaks of this machine were measured {measured}"


class ChangesOverLaunches(Mark):
    code = "changes-over-launches"
    says = "a setting that the runtime reported was not the same in all launches"

    property: str
    values: tuple[Scalar, ...]
    example_facts: ClassVar[ExampleFacts] = {"property": "threads", "values": (2, 1)}

    def text(self) -> str:
        values = ", ".join("unknown" if value is None else str(value) for value in self.values)
        return f"{self.property} changed between launches: {values}"


class LateCalls(Mark):
    code = "late-calls"
    says = "more than one call in a hundred was due while the call before was still running (`--pace`)"

    late: int
    calls: int
    pace_ms: float
    example_facts: ClassVar[ExampleFacts] = {"late": 37, "calls": 400, "pace_ms": 10.0}

    def text(self) -> str:
        if self.late > self.calls / 2:
            return f"cannot keep the pace of {self.pace_ms:g} ms"
        return f"{self.late:,} of {plural(self.calls, 'call')} at the pace of {self.pace_ms:g} ms were late"


class OtherTokens(Mark):
    code = "other-tokens"
    says = (
        "a generation chose another token than the reference where both were about as likely, and what follows was not"
        " compared ([generation.md](generation.md#verification))"
    )

    same: float
    """Share of the tokens before the first that differs, the mean over samples."""
    example_facts: ClassVar[ExampleFacts] = {"same": 0.75}

    def text(self) -> str:
        return f"{self.same * 100:.0f} % of the tokens compared: then another token was chosen that was about as likely"


class NodesElsewhere(Mark):
    code = "nodes-elsewhere"
    says = (
        "the runtime has no kernel on the device that was requested for some nodes, or prefers another one for the"
        " arithmetic of shapes, and runs them there"
        " ([devices.md](devices.md))"
    )

    device: str
    nodes: Scalar
    nodes_elsewhere: Scalar
    operators_elsewhere: Scalar
    example_facts: ClassVar[ExampleFacts] = {
        "device": "gpu",
        "nodes": 120,
        "nodes_elsewhere": 3,
        "operators_elsewhere": "NonZero,Unique",
    }

    def text(self) -> str:
        operators = self.operators_elsewhere
        named = f" ({str(operators).replace(',', ', ')})" if operators else ""
        text = f"{self.nodes_elsewhere} of {self.nodes} nodes run elsewhere than on {self.device}{named}"
        return f"{text}; --require-full refuses such rows"


class ClocksNotLocked(Mark):
    code = "clocks-not-locked"
    says = (
        "the clock of the row's GPU changed between rounds ([devices.md](devices.md#clocks)); `nvidia-smi -lgc` locks"
        " it"
    )

    lowest_mhz: int
    highest_mhz: int
    example_facts: ClassVar[ExampleFacts] = {"lowest_mhz": 1755, "highest_mhz": 1980}

    def text(self) -> str:
        return (
            f"the GPU's clock was not locked: {self.lowest_mhz:,} to {self.highest_mhz:,} MHz"
            f" (sudo nvidia-smi -lgc {self.lowest_mhz} locks it)"
        )


class GpuThrottled(Mark):
    code = "gpu-throttled"
    says = (
        "heat or a lack of power slowed the row's GPU down in blocks that count: where it does so in more than half of"
        " a launch's blocks, none is left out ([devices.md](devices.md#clocks))"
    )

    rounds: int
    throttled: int
    limits: tuple[str, ...]
    example_facts: ClassVar[ExampleFacts] = {"rounds": 42, "throttled": 31, "limits": ("software-thermal",)}

    def text(self) -> str:
        named = ", ".join(limit.replace("-", " ") for limit in self.limits)
        rounds = f"{self.throttled} of {self.rounds} rounds"
        return f"the GPU was throttled in {rounds} ({named}): cool it, or lock a lower clock"


class GpuNotRead(Mark):
    code = "gpu-not-read"
    says = "clock, power and memory of the row's GPU were not read ([devices.md](devices.md#clocks))"

    reason: AbsenceReason
    example_facts: ClassVar[ExampleFacts] = {"reason": "no-package"}

    def text(self) -> str:
        return f"clock, power and memory of the GPU were not read: {ABSENCE_TEXTS[self.reason]}"


if TYPE_CHECKING:
    AnyMark: TypeAlias = Mark
else:
    AnyMark: Any = Union[tuple(Mark.known)]  # noqa: UP007 - of all that are declared above
"""What a field holds that any mark may stand in, as documents are read."""
