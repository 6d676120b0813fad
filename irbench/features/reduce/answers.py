"""Judge parts of a graph by what a backend answers, or that it fails; nothing is timed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from irbench.api.progress import Say
from irbench.core.address import BackendAddress
from irbench.core.record import Failure
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.features.reduce.cutting import Part
from irbench.features.reduce.decision import Decision, judge_answers, judge_failure
from irbench.features.reduce.judge import WholeGraph, facts_of, graph_source
from irbench.features.reduce.report import Evidence
from irbench.features.verify.model import trials, verified_cells
from irbench.features.verify.report import NoReference, VerificationRequest
from irbench.notices import Context
from irbench.options.expectation import Failing, WrongAnswers
from irbench.options.input_request import InputRequest
from irbench.options.run import RunOptions
from irbench.options.values import Shapes
from irbench.requests.resolve import resolve_bundles
from irbench.requests.run_requests import requested
from irbench.runner.inputs import refuse_unknown_values
from irbench.spec import Bundle, Workload


class AnswerJudge:
    """Compares the outputs of one backend with a reference's, on a graph and on parts of it.

    Args:
        expected: Whether outputs are wrong, or there are none.
        run: The model and its inputs.
        say: Receives what is exported.
    """

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

    def part(self, part: Part, budget_s: float, scratch: Path, /) -> Evidence:
        """Run a part; see :class:`Judge`."""
        asked = self._request(from_onnx_file(part.model), {}, InputRequest(part.data), budget_s)
        return self._verified(asked, scratch).evidence

    def confirm(self, part: Part, budget_s: float, scratch: Path, /) -> Evidence:
        """Do as :meth:`part`: answers do not depend on how closely one looks."""
        return self.part(part, budget_s, scratch)

    def decide(self, evidence: Evidence, /) -> Decision:
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
        asked = VerificationRequest(
            bundle, (backend,), shapes, None, inputs, settings=checked.options, deadline_s=deadline_s
        )
        return replace(asked, precisions=checked.precisions) if run.precision else asked

    def _verified(self, asked: VerificationRequest, scratch: Path) -> WholeGraph:
        try:
            planned = trials(asked, scratch)
        except NoReference as lack:
            brief, more = lack.warning.brief(Context()), lack.warning.more(Context())
            raise IrbenchError(brief, hint=more, exit_code=ExitCode.FAILED_CELL) from lack
        (trial,) = planned.trials
        (cell,) = trial.cells
        assert trial.feeding is not None  # no data set with outputs of its own was asked for
        source = graph_source(cell.artifact, Workload(trial.bundle, trial.sizes, trial.feeding))
        (row,) = verified_cells((replace(trial, name=""),))
        return WholeGraph(Evidence((facts_of(row),)), source, {cell.address: cell.load})
