"""Compare what a graph answers with what the original did, outside any measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from irbench import registry
from irbench.errors import first_line
from irbench.feeds import lay_out
from irbench.onnx.rewriting.bind import bind, with_sizes
from irbench.optimizer.body_check import UNDIRECTED, Directions, Run, trace
from irbench.optimizer.check_inputs import Case
from irbench.optimizer.check_plan import ExpectedAnswer, Question
from irbench.optimizer.job import OptimizationJob, write
from irbench.output_check import compare, judge
from irbench.spec import BATCH, Artifact, Load, TensorSpec
from irbench.spi import Array
from irbench.worker.inference import OpenSession

if TYPE_CHECKING:
    import onnx_ir


class ReferenceSession:
    """A graph of a job, loaded by its reference. Use it as a context manager.

    Args:
        job: Names the reference, and gives the sizes that are bound.
        artifact: The graph.
        scratch: Where a copy with bound shapes is written; ``None`` leaves them dynamic, so that inputs may have any
            sizes.
        added_inputs: What the file of the artifact takes behind its own inputs.
        added_outputs: What it gives behind its own outputs.

    Raises:
        Exception: Each runtime reports in a way of its own that it cannot load a graph.
    """

    def __init__(
        self,
        job: OptimizationJob,
        artifact: Artifact,
        scratch: Path | None,
        added_inputs: Sequence[TensorSpec] = (),
        added_outputs: Sequence[TensorSpec] = (),
    ) -> None:
        whole = replace(
            artifact, inputs=(*artifact.inputs, *added_inputs), outputs=(*artifact.outputs, *added_outputs), sha256=""
        )
        sized = with_sizes(whole, job.sizes) if scratch is None else bind(whole, job.sizes, scratch)
        self._artifact = artifact
        load = Load(batch=job.sizes[BATCH], threads=None, precision="native")
        self._session = OpenSession(registry.reference(job.reference), sized, load)

    def answer(self, arrays: Sequence[Array], added: Sequence[Array] = ()) -> tuple[Array, ...]:
        """Return the outputs for logical inputs, and for what is added to them."""
        return self._session.answer((*lay_out(arrays, self._artifact), *added))

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._session.__exit__(*details)


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
