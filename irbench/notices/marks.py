"""What must be said of one row beside its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, Union

from irbench.core.quantities import plural
from irbench.notices.base import Notice
from irbench.notices.conversions import disagreement_text
from irbench.spec import Disagreement, Scalar

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

    def text(self) -> str:
        text = f"oversubscribed: {self.streams} streams on {self.threads} threads"
        requested = self.requested_threads
        return text if requested in (None, self.threads) else f"{text}, {requested} requested"

    @classmethod
    def example(cls) -> Self:
        return cls(streams=4, threads=2, requested_threads=2)


class StarvedRow(Mark):
    code = "starved-streams"
    says = "some requests in flight wait so long that latencies leave them out"

    asked: int
    found: float

    def text(self) -> str:
        return f"p50 and p90 are lower bounds: they account for {self.found:.1f} of {self.asked} requests in flight"

    @classmethod
    def example(cls) -> Self:
        return cls(asked=4, found=2.0)


class OtherPrecision(Mark):
    code = "other-precision"
    says = (
        "the precision differs from the baseline's, as you named it: by a file, `--optimize`, `--precision` or"
        " `--allow-mixed`"
    )

    precision: str
    baseline_precision: str

    def text(self) -> str:
        return f"computes in {self.precision}, the baseline in {self.baseline_precision}"

    @classmethod
    def example(cls) -> Self:
        return cls(precision="bf16", baseline_precision="fp32")


class OtherThanGraph(Mark):
    code = "other-than-graph"
    says = "the runtime does not compute in the precision that the graph holds"

    graph: str
    precision: str

    def text(self) -> str:
        return f"computes this {self.graph} graph in {self.precision}"

    @classmethod
    def example(cls) -> Self:
        return cls(graph="fp16", precision="fp32")


class NotRanked(Mark):
    code = "not-ranked"
    says = "a runtime chose the precision by itself, and it differs from the baseline's, so the row is not compared"

    precision: str
    baseline_precision: str

    def text(self) -> str:
        return (
            f"not ranked: computes in {self.precision}, the baseline in {self.baseline_precision}"
            " (--allow-mixed compares them)"
        )

    @classmethod
    def example(cls) -> Self:
        return cls(precision="bf16", baseline_precision="fp32")


class AboveMaxLatency(Mark):
    code = "above-max-latency"
    says = "the p90 latency is above `--max-latency`, so the row is not a candidate for the best"

    p90_ms: float

    def text(self) -> str:
        return f"not a candidate: p90 of {self.p90_ms:.3g} ms is above --max-latency"

    @classmethod
    def example(cls) -> Self:
        return cls(p90_ms=61.2)


class NoOutputs(Mark):
    code = "no-outputs"
    says = "a function or a command of your own returned no outputs, so there is nothing to verify (`--cell`)"

    def text(self) -> str:
        return "not verified: it returns no outputs"


class SelfTimed(Mark):
    code = "self-timed"
    says = "a command of your own, which measures its calls itself (`--cell`)"

    share: float | None

    def text(self) -> str:
        text = "timed by the command itself, not by irbench"
        if self.share is None or self.share >= _USUAL_SHARE:
            return text
        return (
            f"{text}; its calls fill only {self.share * 100:.2g} % of its time: it restarts often, or reports them in"
            " the wrong unit"
        )

    @classmethod
    def example(cls) -> Self:
        return cls(share=0.02)


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

    def text(self) -> str:
        excluded = "" if self.is_candidate else "cannot be the fastest: "
        found = disagreement_text(Disagreement(self.measure, self.value, self.limit, self.samples, self.source))
        return f"{excluded}outputs differ too much from the model's ({found}, when it was converted)"

    @classmethod
    def example(cls) -> Self:
        return cls(measure="top1-agreement", value=0.63, limit=0.9, samples=None, source="", is_candidate=False)


class BeyondTolerance(Mark):
    code = "beyond-tolerance"
    says = "outputs differ from the reference by more than the tolerance, and keep `--min-accuracy` or `--metric`"

    max_rel: float
    precision: str

    def text(self) -> str:
        return (
            f"outputs are off by more than the tolerance of {self.precision} (max err {self.max_rel:.2g}), but within"
            " the accuracy limit that was given"
        )

    @classmethod
    def example(cls) -> Self:
        return cls(max_rel=0.18, precision="bf16")


class VendorOperators(Mark):
    code = "vendor-operators"
    says = "the graph contains operators that are not part of ONNX"

    domains: tuple[str, ...]

    def text(self) -> str:
        return f"uses operators that only some runtimes support ({', '.join(self.domains)})"

    @classmethod
    def example(cls) -> Self:
        return cls(domains=("com.microsoft",))


class OtherPeaks(Mark):
    code = "other-peaks"
    says = "the peaks of the machine were measured with another version of the runtime, or without it"

    version: Scalar
    measured_with: str

    def text(self) -> str:
        measured = f"with version {self.measured_with}" if self.measured_with else "without this backend"
        return f"of roof: runs version {self.version}, and the peaks of this machine were measured {measured}"

    @classmethod
    def example(cls) -> Self:
        return cls(version="1.24.1", measured_with="1.23.0")


class ChangesOverLaunches(Mark):
    code = "changes-over-launches"
    says = "a setting that the runtime reported was not the same in all launches"

    property: str
    values: tuple[Scalar, ...]

    def text(self) -> str:
        values = ", ".join("unknown" if value is None else str(value) for value in self.values)
        return f"{self.property} changed between launches: {values}"

    @classmethod
    def example(cls) -> Self:
        return cls(property="threads", values=(2, 1))


class LateCalls(Mark):
    code = "late-calls"
    says = "more than one call in a hundred was due while the call before was still running (`--pace`)"

    late: int
    calls: int
    pace_ms: float

    def text(self) -> str:
        if self.late > self.calls / 2:
            return f"cannot keep the pace of {self.pace_ms:g} ms"
        return f"{self.late:,} of {plural(self.calls, 'call')} at the pace of {self.pace_ms:g} ms were late"

    @classmethod
    def example(cls) -> Self:
        return cls(late=37, calls=400, pace_ms=10.0)


class NodesElsewhere(Mark):
    code = "nodes-elsewhere"
    says = (
        "the runtime has no kernel on the device that was requested for some nodes, and runs them on another one"
        " ([devices.md](devices.md))"
    )

    device: str
    nodes: Scalar
    nodes_elsewhere: Scalar
    operators_elsewhere: Scalar

    def text(self) -> str:
        operators = self.operators_elsewhere
        named = f" ({str(operators).replace(',', ', ')})" if operators else ""
        text = f"{self.nodes_elsewhere} of {self.nodes} nodes run elsewhere than on {self.device}{named}"
        return f"{text}; --require-full refuses such rows"

    @classmethod
    def example(cls) -> Self:
        return cls(device="gpu", nodes=120, nodes_elsewhere=3, operators_elsewhere="NonZero,Unique")


if TYPE_CHECKING:
    AnyMark: TypeAlias = Mark
else:
    AnyMark: Any = Union[tuple(Mark.known)]  # noqa: UP007 - of all that are declared above
"""What a field holds that any mark may stand in, as documents are read."""
