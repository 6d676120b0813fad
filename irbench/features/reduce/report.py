"""What `irbench reduce` found, as immutable values; its JSON has these keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irbench.api.display import DisplayedReport
from irbench.core.graph_record import Uncuttable
from irbench.core.plain_text import plain
from irbench.core.record import Failure, OutputError
from irbench.core.row import Speedup, State
from irbench.errors import ExitCode
from irbench.features.reduce.expectation import Expectation, Failing, SlowerThan
from irbench.features.reduce.options import REDUCE
from irbench.options.values import ReportForm

if TYPE_CHECKING:
    from irbench.api.progress import Say
    from irbench.features.reduce.search_facts import Tell
    from irbench.render.views import Document

Criterion: TypeAlias = Literal["slower", "wrong", "failing"]
"""What a graph must still show."""
Verdict: TypeAlias = Literal["shows", "absent", "small", "undecided", "other"]
"""``small``: the ratio is as expected, but hardly any of the time is lost here; ``other``: it could not be
tested, and the failure says why."""
Conclusion: TypeAlias = Literal["reduced", "unconfirmed", "whole", "stopped", "absent", "undecided", "interrupted"]
"""``reduced``: leaving out any one node was tried; ``unconfirmed``: no smaller graph that showed it did when it was
measured again; ``whole``: no smaller graph was found; ``stopped``: there was no time for more parts; ``absent``: the
whole graph does not show it; ``undecided``: whether it does could not be decided."""


@dataclass(frozen=True)
class ExpectedDifference:
    """What was expected, as the document has it.

    Attributes:
        criterion: The kind of difference.
        backend: The slower one, or the one that is wrong or fails.
        than: The faster one; ``None`` where nothing is timed.
        factor: How many times slower it is at least; ``None`` where nothing is timed.
    """

    criterion: Criterion
    backend: str
    than: str | None = None
    factor: float | None = None


@dataclass(frozen=True)
class BackendFacts:
    """One backend on one graph.

    Attributes:
        label: What tables call its row.
        precision: What it computed in; ``None`` where it did not run.
        p50_ms: Median latency; ``None`` where nothing was timed.
        output_error: How far its outputs are from the reference's; ``None`` where they were not compared.
        failure: Why it failed, or why its outputs do not match.
    """

    label: str
    distribution: str
    version: str | None
    precision: str | None
    state: State
    p50_ms: float | None = None
    output_error: OutputError | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class GraphEvidence:
    """What the backends did with one graph.

    Attributes:
        backends: The slower one first.
        speedup: How many times as fast the faster one is as the slower one; ``None`` where nothing was compared.
        run_id: The stored run; ``None`` where nothing was stored.
    """

    backends: tuple[BackendFacts, ...]
    speedup: Speedup | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class TriedPart:
    """A part of the graph that was tried.

    Attributes:
        verdict: Whether it shows what was expected.
        evidence: What the backends did with it; ``None`` where nothing was run.
        failure: Why it could not be tested; ``None`` unless the verdict is ``other``.
        uncuttable: Why it cannot be made a graph; ``None`` where it can.
    """

    nodes: int
    verdict: Verdict
    evidence: GraphEvidence | None = None
    failure: Failure | None = None
    uncuttable: Uncuttable | None = None


@dataclass(frozen=True)
class KeptNode:
    """A node of the reduced graph.

    Attributes:
        name: As in the whole graph; its operator and first output where it has no name.
        domain: Where the operator is defined; empty for ONNX's own.
    """

    name: str
    op_type: str
    domain: str


@dataclass(frozen=True)
class TensorFacts:
    """An input or output of the reduced graph: its name, element type and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ReducedGraph:
    """The smallest graph that was found.

    Attributes:
        nodes: In the order of the graph.
        inputs: What it is given: values that the whole graph computes there.
        size_bytes: Of its file, weights included.
        evidence: What decided that it shows the difference, or the comparison that confirmed it.
        confirmation: What it showed when it was measured again as the whole graph was; ``None`` where it was not.
        without_one_node: Of the graphs with one node less, how many had each verdict: the graph is minimal only where
            all of them were ``absent`` or ``small``.
        has_expected: Whether what the reference answers is in ``expected.npz``.
    """

    nodes: tuple[KeptNode, ...]
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    size_bytes: int
    evidence: GraphEvidence
    confirmation: Verdict | None
    without_one_node: Mapping[Verdict, int] = field(default_factory=dict[Verdict, int])
    has_expected: bool = False


@dataclass(frozen=True)
class ReductionReport:
    """The document of a reduction.

    Attributes:
        full: What the backends did with the whole graph; ``None`` where that was interrupted.
        reduced: The smallest graph; ``None`` where there is none.
        not_confirmed: How many other graphs showed the difference at first and did not when they were measured again.
        environment: The machine and the versions of its software, as in a run's document.
        command: The command line; empty where there was none.
        repeat: The command line that shows the difference on the reduced graph.
        code: Programs that show the difference on the reduced graph, or time it, without irbench, by backend; they run
            in ``folder``.
        folder: Where the files are; ``None`` where none were written.
        results: The folder where its runs are kept, as the user named it; ``None`` for the usual place.
    """

    model: str
    expected: ExpectedDifference
    conclusion: Conclusion
    nodes: int
    full: GraphEvidence | None = None
    reduced: ReducedGraph | None = None
    candidates: tuple[TriedPart, ...] = ()
    not_confirmed: int = 0
    seconds: float = 0.0
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    command: tuple[str, ...] = ()
    repeat: tuple[str, ...] = ()
    code: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str | None = None
    results: str | None = None


def expected_difference(expectation: Expectation) -> ExpectedDifference:
    """Return an expectation as the document has it."""
    if isinstance(expectation, SlowerThan):
        return ExpectedDifference("slower", expectation.slow, expectation.fast, expectation.factor)
    return ExpectedDifference("failing" if isinstance(expectation, Failing) else "wrong", expectation.backend)


class Reduction(DisplayedReport[ReductionReport]):
    """The result of a search for the smallest graph that shows a difference.

    Attributes:
        report: Its document.
    """

    _command = REDUCE

    @property
    def folder(self) -> Path | None:
        """The folder of ``reduced.onnx``, its inputs and ``report.md``; ``None`` where nothing was written."""
        return None if self.report.folder is None else Path(self.report.folder)

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench reduce`` exits with."""
        codes = {
            "absent": ExitCode.DIFFERENT,
            "undecided": ExitCode.UNDECIDED,
            "unconfirmed": ExitCode.UNDECIDED,
            "interrupted": ExitCode.INTERRUPTED,
        }
        return codes.get(self.report.conclusion, ExitCode.OK)

    def to_text(self, form: ReportForm = "table") -> str:
        """Return the report as text; ``md`` is that of ``report.md``."""
        from irbench.features.reduce.view import bug_report

        return bug_report(self.report) if form == "md" else super().to_text(form)

    def __repr__(self) -> str:
        """Return what was reduced, and to how many nodes."""
        report = self.report
        kept = report.conclusion if report.reduced is None else f"{len(report.reduced.nodes)} of {report.nodes} nodes"
        return plain(f"<Reduction of {report.model}: {kept}>")

    def __rich__(self) -> Document:
        """Return the report as ``irbench reduce`` prints it; called by rich."""
        from irbench.features.reduce.view import reduction_view

        return reduction_view(self.report)


def told_in_words(say: Say) -> Tell:
    """Return what says the progress of a search as lines."""
    from irbench.features.reduce.view import progress_text

    return lambda fact: say(progress_text(fact))
