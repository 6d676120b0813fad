"""Judges of graphs: what backends do with a graph or a part of it, and whether that is the expected difference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.record import Failure
from irbench.core.row import CellResult, Speedup
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.features.reduce.cutting import GraphPart, GraphSource
from irbench.features.reduce.expectation import Failing, SlowerThan, WrongAnswers
from irbench.features.reduce.report import BackendFacts, GraphEvidence, Verdict
from irbench.features.verify.model import trials, verified_cells
from irbench.features.verify.report import NoReference, VerificationRequest
from irbench.notices import Context
from irbench.options.input_request import InputRequest
from irbench.options.run import RunOptions
from irbench.options.values import Shapes
from irbench.requests.resolve import resolve_bundles
from irbench.requests.run_requests import requested
from irbench.runner.requested_inputs import refuse_unknown_values
from irbench.spec import Artifact, Bundle, Load, Workload

_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\S*/\S*|0x[0-9a-fA-F]+|\d+")
"""What differs between graphs in messages that say the same: quoted names, places in files, numbers."""


@dataclass(frozen=True)
class WholeGraph:
    """The whole graph, as backends ran it.

    Attributes:
        source: What parts are cut from; ``None`` where there is no ONNX graph with fixed shapes.
        loads: How each backend was asked to compute, by its address.
    """

    evidence: GraphEvidence
    source: GraphSource | None
    loads: Mapping[BackendAddress, Load] = field(default_factory=dict[BackendAddress, Load])


@dataclass(frozen=True)
class GraphDecision:
    """Whether a graph shows the difference.

    Attributes:
        failure: What happened instead; ``None`` unless the verdict is ``other``.
    """

    verdict: Verdict
    failure: Failure | None = None


class Judge(Protocol):
    """Runs graphs on backends, and decides whether they differ as expected. Each folder is deleted afterwards."""

    def whole(self, budget_s: float, scratch: Path, /) -> WholeGraph:
        """Run the whole graph."""
        ...

    def part(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        """Run a part, only as long as it takes to decide."""
        ...

    def confirm(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        """Run the smallest part once more, as closely as the whole graph."""
        ...

    def decide(self, evidence: GraphEvidence, /) -> GraphDecision:
        """Return whether evidence is what was expected; the first one is that of the whole graph."""
        ...


def facts_of(row: CellResult) -> BackendFacts:
    """Return the facts of a report from a row."""
    described = registry.describe(registry.BACKENDS, row.backend)
    precision = row.effective.get("precision")
    return BackendFacts(
        label=str(BackendAddress(row.backend, row.device)),
        distribution=described.distribution,
        version=described.version,
        precision=None if precision is None else str(precision),
        state=row.state,
        p50_ms=None if row.latency_ms is None else row.latency_ms.p50,
        output_error=row.output_error,
        failure=row.failure,
    )


def graph_source(artifact: Artifact | None, workload: Workload) -> GraphSource | None:
    """Return the graph that is cut from an artifact; ``None`` where it is not ONNX with bound shapes."""
    if workload.feeding.count > 1:
        raise IrbenchError(
            f"The data have {workload.feeding.count} samples, and a reduced graph takes one.",
            hint="Give one of them: `--data sample.npz`",
        )
    if artifact is None or artifact.kind != "onnx":
        return None
    return GraphSource(artifact, workload.bundle, dict(workload.sizes), workload.feeding)


@dataclass(frozen=True)
class SpeedRule:
    """When a part of a graph is slower on one backend.

    Attributes:
        least_lost_ms: Time that the slower backend must lose on the part. Without it a search could end at a graph of
            one tiny node, on which any call is slower than another one.
    """

    expected: SlowerThan
    least_lost_ms: float = 0.0

    def decide(self, evidence: GraphEvidence) -> GraphDecision:
        """Return whether a graph shows the difference."""
        if evidence.speedup is None:
            failure = next((facts.failure for facts in evidence.backends if facts.failure is not None), None)
            return GraphDecision("other", failure or Failure("measure", "the two cannot be compared"))
        verdict = ratio_verdict(evidence.speedup, self.expected.factor)
        lost = lost_ms(evidence)
        is_small = lost is not None and lost < self.least_lost_ms
        return GraphDecision("small" if verdict == "shows" and is_small else verdict)


def ratio_verdict(speedup: Speedup, factor: float) -> Verdict:
    """Return on which side of a factor the whole interval of a speedup of the faster backend lies."""
    if speedup.low is None or speedup.high is None:
        return "undecided"
    if speedup.low >= factor:
        return "shows"
    return "absent" if speedup.high < factor else "undecided"


def lost_ms(evidence: GraphEvidence) -> float | None:
    """Return how much longer a call of the first backend takes, in milliseconds; ``None`` where it was not timed."""
    slow, fast, *_ = (*(facts.p50_ms for facts in evidence.backends), None, None)
    return None if slow is None or fast is None else slow - fast


def judge_answers(evidence: GraphEvidence) -> GraphDecision:
    """Return whether the outputs of the only backend are wrong."""
    (facts,) = evidence.backends
    if facts.state in ("failed", "not-applicable"):
        return GraphDecision("other", facts.failure)
    return GraphDecision("shows" if facts.state == "mismatch" else "absent")


def judge_failure(evidence: GraphEvidence, first: Failure | None) -> GraphDecision:
    """Return whether the only backend fails as it first did, on the whole graph; ``None`` for that itself."""
    (facts,) = evidence.backends
    if facts.state not in ("failed", "not-applicable") or facts.failure is None:
        return GraphDecision("absent")
    if first is not None and _kind(facts.failure) != _kind(first):
        return GraphDecision("other", facts.failure)
    return GraphDecision("shows")


def _kind(failure: Failure) -> tuple[str, str]:
    """Return what two failures for the same reason have in common, without names and numbers of their graphs."""
    return failure.stage, " ".join(_NAMES.sub(" ", failure.message).split())


class AnswerJudge:
    """Compares the outputs of one backend with a reference's, on a graph and on parts of it; nothing is timed."""

    def __init__(self, expected: WrongAnswers | Failing, run: RunOptions, say: Say) -> None:
        self._expected = expected
        self._run = run
        self._say = say
        self._first: Failure | None = None

    def whole(self, budget_s: float, scratch: Path, /) -> WholeGraph:
        """Run the whole graph; see :class:`Judge`."""
        run = self._run
        (bundle,) = resolve_bundles(run.models, everything=False, say=self._say, imports=run.imports)
        refuse_unknown_values(run.inputs, (bundle,))
        return self._verified(self._request(bundle, run.shape, run.inputs, budget_s), scratch)

    def part(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        """Run a part; see :class:`Judge`."""
        request = self._request(from_onnx_file(part.model), {}, InputRequest(part.data), budget_s)
        return self._verified(request, scratch).evidence

    def confirm(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        """Run a part again: its outputs do not depend on how closely it is looked at."""
        return self.part(part, budget_s, scratch)

    def decide(self, evidence: GraphEvidence, /) -> GraphDecision:
        """Return whether evidence is what was expected; see :class:`Judge`."""
        if isinstance(self._expected, WrongAnswers):
            return judge_answers(evidence)
        decision = judge_failure(evidence, self._first)
        if self._first is None and decision.verdict == "shows":
            self._first = evidence.backends[0].failure
        return decision

    def _request(self, bundle: Bundle, shapes: Shapes, inputs: InputRequest, budget_s: float) -> VerificationRequest:
        run, backend = self._run, BackendAddress.parse(self._expected.backend)
        checked = requested(run)
        deadline_s = checked.timing.within_budget(budget_s).deadline_after(0.0).seconds
        request = VerificationRequest(bundle, (backend,), shapes, None, inputs, settings=run.set, deadline_s=deadline_s)
        return replace(request, precisions=checked.precisions) if run.precision else request

    def _verified(self, request: VerificationRequest, scratch: Path) -> WholeGraph:
        try:
            planned = trials(request, scratch)
        except NoReference as lack:
            brief, more = lack.warning.brief(Context()), lack.warning.more(Context())
            raise IrbenchError(brief, hint=more, exit_code=ExitCode.FAILED_CELL) from lack
        (trial,) = planned.trials
        (cell,) = trial.cells
        assert trial.feeding is not None  # a data set with outputs of its own was not requested
        source = graph_source(cell.artifact, Workload(trial.bundle, trial.sizes, trial.feeding))
        (row,) = verified_cells((replace(trial, name=""),))
        return WholeGraph(GraphEvidence((facts_of(row),)), source, {cell.address: cell.load})
