"""Check a graph after each step: it is valid, a runtime loads it, and its outputs match the original's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, Self

from irbench.core import registry
from irbench.core.feeds import lay_out
from irbench.core.graph_record import CheckedInput, GraphCheck, GraphStep, UncheckedBody
from irbench.core.output_check import compare, input_scale, judge
from irbench.core.quantities import listing
from irbench.errors import IrbenchError, first_line
from irbench.onnx.reading.check import check_file
from irbench.onnx.reading.graph_precision import read_precision
from irbench.onnx.rewriting.bind import bind, is_rewritten, with_sizes
from irbench.optimizer.body_check import (
    LEAST_OPSET,
    UNDIRECTED,
    Body,
    BodyReport,
    Directions,
    TracedAnswers,
    bodies_in,
    check_bodies,
    trace,
)
from irbench.optimizer.check_plan import CheckCase, CheckPlan, ExpectedAnswer, Question, plan_check
from irbench.optimizer.check_sizes import CheckSizes, free_names, varied, with_computed
from irbench.optimizer.job import MODEL_FILE, OptimizationJob, vendors_of, write
from irbench.spec import BATCH, Artifact, Load, TensorSpec
from irbench.spec.requested_sizes import size_options
from irbench.spi import Array
from irbench.system.host import available_memory_bytes
from irbench.worker.inference import OpenSession

if TYPE_CHECKING:
    import onnx_ir


class ReferenceSession:
    """A graph of a job, loaded by its reference. Use it as a context manager.

    Its shapes are bound in a copy in ``scratch``; without one they stay dynamic, and inputs may have any sizes. The
    file may take and give more behind the inputs and outputs of the artifact.
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


AnswerTraced = Callable[[CheckCase, Directions], TracedAnswers]


class WrongAnswer(Exception):
    """A graph does not answer what the original does."""

    def __init__(self, reason: str, expected: ExpectedAnswer, directions: Directions = UNDIRECTED) -> None:
        super().__init__(reason)
        self.reason, self.expected, self.directions = reason, expected, directions


@dataclass(frozen=True)
class SteppedGraph:
    """A graph on its way through the steps.

    Attributes:
        artifact: Its inputs and outputs; the path is not that of the model.
    """

    model: onnx_ir.Model
    artifact: Artifact


@dataclass(frozen=True)
class GraphComparison:
    """How graphs are run and compared.

    Attributes:
        binds: Whether they run with the job's sizes bound.
    """

    job: OptimizationJob
    question: Question
    scratch: Path
    binds: bool

    def compare(self, artifact: Artifact, expected: Iterable[ExpectedAnswer]) -> float:
        """Return the largest error of a graph."""
        with ReferenceSession(self.job, artifact, self.scratch if self.binds else None) as session:
            errors = [self.require(answer, partial(self._answer, session, answer.case)) for answer in expected]
        return max(errors)

    def require(
        self, expected: ExpectedAnswer, answer: Callable[[], Sequence[Array]], directions: Directions = UNDIRECTED
    ) -> float:
        """Return the error of an answer."""
        try:
            error = compare(answer(), expected.outputs, self.job.bundle.known_class_axes, expected.scale)
        except Exception as problem:  # each runtime reports in a way of its own that it cannot run a graph
            raise WrongAnswer(first_line(problem), expected, directions) from problem
        wrong = judge(error, self.question.precision)
        if wrong is not None:
            raise WrongAnswer(wrong.message, expected, directions)
        return error.max_rel

    def _answer(self, session: ReferenceSession, case: CheckCase) -> Sequence[Array]:
        return session.answer(self.question.arrays(case))

    @contextmanager
    def traced(self, graph: SteppedGraph, count: int) -> Iterator[AnswerTraced]:
        """Load a traced copy of a graph, and hand out what asks it."""
        copy = trace(graph.model, count)
        path = self.scratch / f"traced-{id(copy)}.onnx"
        write(copy.model, path)
        artifact = replace(graph.artifact, path=path)
        scratch = self.scratch if self.binds else None
        with ReferenceSession(self.job, artifact, scratch, copy.inputs, [copy.output]) as session:

            def answer(case: CheckCase, directions: Directions) -> TracedAnswers:
                *outputs, counts = session.answer(self.question.arrays(case), copy.feed(directions))
                return TracedAnswers(outputs, [int(number) for number in counts])

            yield answer


NCHW_STEP = "inputs_to_nchw"
"""The step that a layout asks for; no ``--passes`` names it."""


_MEMORY_SHARE = 8
"""Of the available memory, the part that expected outputs may need."""


class OriginalRefused(IrbenchError):
    """The reference cannot run the graph that is to be optimised."""


class BrokenModel(IrbenchError):
    """A step broke the model."""

    def __init__(self, name: str, job: OptimizationJob, reason: str) -> None:
        others = ",".join(graph_pass for graph_pass in job.recipe.passes if graph_pass != name)
        hint = f"Leave it out: `--passes {others}`" if others else "Leave it out."
        super().__init__(
            f"The pass {name} breaks {job.bundle.name}: {reason.rstrip('.')}.",
            hint="Leave --layout nchw out." if name == NCHW_STEP else hint,
        )
        self.reason = reason


class StepCheck:
    """Checks graphs against the answers of the original: on three inputs after each step, on more at the end.

    Graphs run with dynamic shapes, so that one session answers at all sizes; where the reference refuses the original
    so, with the job's sizes bound.
    """

    def __init__(self, job: OptimizationJob, scratch: Path) -> None:
        self.job: Final = job
        try:
            self._comparison, self._plan = _ask_original(job, scratch)
        except Exception as problem:  # each runtime reports in a way of its own that it cannot load a graph
            raise OriginalRefused(
                f"{job.bundle.name} cannot be optimised: {job.reference} cannot run it: {_reason(problem, job)}",
                hint=getattr(problem, "hint", "") or _remedy(job),
            ) from problem

    def check(self, graph: SteppedGraph, step: GraphStep) -> GraphStep:
        """Write a graph, check it, and return ``step`` with its error."""
        path = self.job.folder / MODEL_FILE
        write(graph.model, path)
        try:
            check_file(path, shapes=not vendors_of(graph.model))
            error = self._comparison.compare(replace(graph.artifact, path=path), self._plan.each_step)
        except WrongAnswer as wrong:
            raise self.broken(step.name, wrong) from wrong
        except Exception as problem:  # each runtime reports in a way of its own that it cannot load a graph
            raise BrokenModel(step.name, self.job, first_line(problem).replace(str(path), "it")) from problem
        return replace(step, max_rel_error=error)

    def check_at_the_end(self, graph: SteppedGraph, original: SteppedGraph, bodies: Sequence[Body]) -> GraphCheck:
        """Check the last graph, which is written, on what was kept for the end, and return all that was compared."""
        plan = self._plan
        if plan.at_the_end:
            self._comparison.compare(replace(graph.artifact, path=self.job.folder / MODEL_FILE), plan.at_the_end)
        report = self._check_bodies(graph, original, bodies)
        names = self._comparison.question.dynamic
        computed = self.job.computed
        inputs = [
            CheckedInput(case.kind, with_computed({name: case.sizes[name] for name in names}, computed))
            for case in self._cases
        ]
        return GraphCheck(tuple(inputs), plan.left_out, plan.unvaried, report.executed, report.unchecked, computed)

    def repeat(self, graph: SteppedGraph, wrong: WrongAnswer, bodies: Sequence[Body]) -> None:
        """Ask a graph what another one answered wrong."""
        comparison, expected, directions = self._comparison, wrong.expected, wrong.directions
        if directions == UNDIRECTED:
            path = self.job.folder / MODEL_FILE
            write(graph.model, path)
            comparison.compare(replace(graph.artifact, path=path), [expected])
        else:
            with comparison.traced(graph, len(bodies)) as traced:
                comparison.require(expected, lambda: traced(expected.case, directions).outputs, directions)

    def broken(self, name: str, wrong: WrongAnswer) -> BrokenModel:
        """Return the error that names a step, what is wrong after it, and on which input unless it is the plain one."""
        case, way = wrong.expected.case, "" if wrong.directions == UNDIRECTED else ", in a branch or loop sent there"
        where = "" if case == self._plan.each_step[0].case else f" ({self._words(case)})"
        return BrokenModel(name, self.job, f"{wrong.reason.rstrip('.')}{where}{way}")

    @property
    def at_other_sizes(self) -> Sequence[ExpectedAnswer]:
        """What the original answers to seeded inputs at sizes other than the job's."""
        base = self._comparison.question.base
        return [expected for expected in self._asked if expected.case.kind == "seeded" and expected.case.sizes != base]

    @property
    def _asked(self) -> Sequence[ExpectedAnswer]:
        return (*self._plan.each_step, *self._plan.at_the_end)

    @property
    def _cases(self) -> Sequence[CheckCase]:
        return [expected.case for expected in self._asked]

    def _words(self, case: CheckCase) -> str:
        """Return what an input is, as a user reads it: ``constant-rows, batch 3``."""
        kind = f"given sample {case.sample + 1}" if case.kind == "given" else case.kind
        return ", ".join((kind, *(f"{name} {case.sizes[name]}" for name in self._comparison.question.dynamic)))

    def _check_bodies(self, graph: SteppedGraph, original: SteppedGraph, bodies: Sequence[Body]) -> BodyReport:
        kept, comparison = frozenset(bodies_in(graph.model)), self._comparison
        if not kept:
            return BodyReport(0, ())
        if min(part.model.graph.opset_imports.get("", 0) for part in (graph, original)) < LEAST_OPSET:
            return _unfollowed(bodies, kept)
        try:
            with comparison.traced(original, len(bodies)) as before, comparison.traced(graph, len(bodies)) as after:

                def check(case: CheckCase, directions: Directions, outputs: Sequence[Array]) -> None:
                    expected = ExpectedAnswer(case, outputs, input_scale(comparison.question.arrays(case)))
                    comparison.require(expected, lambda: after(case, directions).outputs, directions)

                return check_bodies(bodies, kept, self._cases, before, check)
        except WrongAnswer:
            raise
        except Exception:  # noqa: BLE001 - a runtime may not run what counts
            return _unfollowed(bodies, kept)


def _unfollowed(bodies: Sequence[Body], kept: frozenset[int]) -> BodyReport:
    missed = (body for body in bodies if body.number in kept and not body.never)
    return BodyReport(
        0, tuple(UncheckedBody(body.operator, body.node, body.part, None, "not-followed") for body in missed)
    )


def check_at_first(job: OptimizationJob, scratch: Path) -> StepCheck:
    """Return the checks at the first sizes of a job at which the reference can run the original graph.

    Raises:
        OriginalRefused: There are none.
    """
    refused: OriginalRefused | None = None
    for chosen in job.candidates or (CheckSizes(job.sizes),):
        try:
            return StepCheck(job.at(chosen), scratch)
        except OriginalRefused as problem:
            refused = refused or problem
    assert refused is not None, "there are sizes at least once"
    raise OriginalRefused(refused.message, hint=_sizes_to_give(job) or refused.hint) from refused


def _sizes_to_give(job: OptimizationJob) -> str:
    """Return which sizes nobody gave, and how to give them; empty where there are none."""
    tensors = [spec.tensor for spec in job.bundle.inputs]
    names = free_names(tensors, job.sizes)
    if not names:
        return ""
    tried = dict.fromkeys(size for chosen in job.candidates for name in names if (size := chosen.sizes.get(name)))
    options = " ".join(f"--shape {quote(f'{name}=SIZE')}" for name in names)
    return (
        f"{listing(names)} {'has' if len(names) == 1 else 'have'} no sizes in the model, and"
        f" {listing(map(str, tried))} were tried. Give sizes that it runs at: {options}"
    )


def _ask_original(job: OptimizationJob, scratch: Path) -> tuple[GraphComparison, CheckPlan]:
    question = Question(
        job.bundle.inputs,
        job.sizes,
        varied(job.artifact.inputs, job.sizes),
        replace(job.feeding, seed=job.bundle.seed),
        read_precision(job.artifact.path).narrowest,
        available_memory_bytes() // _MEMORY_SHARE,
    )
    try:
        with ReferenceSession(job, job.artifact, None) as session:
            return GraphComparison(job, question, scratch, binds=False), plan_check(question, session.answer)
    except Exception:
        if not is_rewritten(job.artifact):
            raise
    question = replace(question, dynamic=())
    with ReferenceSession(job, job.artifact, scratch) as session:
        return GraphComparison(job, question, scratch, binds=True), plan_check(question, session.answer)


def _reason(problem: Exception, job: OptimizationJob) -> str:
    """Return what a runtime said of a graph, without the folder of a copy that is gone by then."""
    name = job.artifact.path.name
    return re.sub(rf"\S*/{re.escape(name)}", name, first_line(problem))


def _remedy(job: OptimizationJob) -> str:
    dynamic = any(BATCH in spec.dynamic_dimensions for spec in job.artifact.inputs)
    batch = f"It was run at batch {job.sizes[BATCH]}; if only 1 works, add --batch 1. " if dynamic else ""
    named = quote(job.bundle.source or job.bundle.name)
    return f"{batch}See what can run it: {' '.join(('irbench verify', named, *size_options(job.bundle, job.sizes)))}"
