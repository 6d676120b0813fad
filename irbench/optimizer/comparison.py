"""Compare what a graph answers with what the original did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import first_line
from irbench.optimizer.body_check import Run
from irbench.optimizer.body_trace import UNDIRECTED, Directions, trace
from irbench.optimizer.check_inputs import Case
from irbench.optimizer.check_plan import ExpectedAnswer, Question
from irbench.optimizer.job import OptimizationJob
from irbench.optimizer.model_files import write
from irbench.optimizer.reference_session import ReferenceSession
from irbench.output_check import compare, judge
from irbench.spec import Artifact
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir

AnswerTraced = Callable[[Case, Directions], Run]


class WrongAnswer(Exception):
    """A graph does not answer what the original does.

    Args:
        reason: How far its answer is off, or why it has none.
        expected: What the original answers, and to what.
        directions: How the control flow of both was directed.
    """

    def __init__(self, reason: str, expected: ExpectedAnswer, directions: Directions = UNDIRECTED) -> None:
        super().__init__(reason)
        self.reason, self.expected, self.directions = reason, expected, directions


@dataclass(frozen=True)
class Graph:
    """A graph on its way through the steps.

    Attributes:
        artifact: Its inputs and outputs; the path is not that of the model.
    """

    model: onnx_ir.Model
    artifact: Artifact


@dataclass(frozen=True)
class Comparison:
    """How graphs are run and compared.

    Attributes:
        binds: Whether they run with the job's sizes bound.
    """

    job: OptimizationJob
    question: Question
    scratch: Path
    binds: bool

    def compare(self, artifact: Artifact, expected: Iterable[ExpectedAnswer]) -> float:
        """Return the largest error of a graph.

        Raises:
            WrongAnswer: One of the answers is wrong.
            Exception: The reference cannot load the graph, as its runtime reports it.
        """
        with ReferenceSession(self.job, artifact, self.scratch if self.binds else None) as session:
            errors = [self.require(answer, partial(self._answer, session, answer.case)) for answer in expected]
        return max(errors)

    def require(
        self, expected: ExpectedAnswer, answer: Callable[[], Sequence[Array]], directions: Directions = UNDIRECTED
    ) -> float:
        """Return the error of an answer.

        Raises:
            WrongAnswer: It is wrong, or there is none.
        """
        try:
            error = compare(answer(), expected.outputs, self.job.bundle.classifier, expected.scale)
        except Exception as problem:  # each runtime reports in a way of its own that it cannot run a graph
            raise WrongAnswer(first_line(problem), expected, directions) from problem
        wrong = judge(error, self.question.precision)
        if wrong is not None:
            raise WrongAnswer(wrong.message, expected, directions)
        return error.max_rel

    def _answer(self, session: ReferenceSession, case: Case) -> Sequence[Array]:
        return session.answer(self.question.arrays(case))

    @contextmanager
    def traced(self, graph: Graph, count: int) -> Iterator[AnswerTraced]:
        """Load a traced copy of a graph, and hand out what asks it."""
        copy = trace(graph.model, count)
        path = self.scratch / f"traced-{id(copy)}.onnx"
        write(copy.model, path)
        artifact = replace(graph.artifact, path=path)
        scratch = self.scratch if self.binds else None
        with ReferenceSession(self.job, artifact, scratch, copy.inputs, [copy.output]) as session:

            def answer(case: Case, directions: Directions) -> Run:
                *outputs, counts = session.answer(self.question.arrays(case), copy.feed(directions))
                return Run(outputs, [int(number) for number in counts])

            yield answer
