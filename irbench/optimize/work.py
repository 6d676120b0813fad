"""What runs in the worker: pass after pass over one graph, each proven before the next begins, then a conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench import registry
from irbench.errors import IrbenchError
from irbench.ir import loose
from irbench.ir.bind import bind
from irbench.ir.check import check_file
from irbench.ir.passes.upgrade_opset import upgrade_opset
from irbench.optimize.agreement import measure_agreement
from irbench.optimize.conversion import NothingToConvert, convert, least_opset, require_fp32
from irbench.optimize.files import load, write
from irbench.optimize.recipe import Conversion, Recipe
from irbench.optimize.samples import CALIBRATION, JUDGEMENT, Samples
from irbench.record import Agreement, GraphStep
from irbench.spec import Artifact, Bundle
from irbench.spi import Array
from irbench.verify import compare, judge
from irbench.worker.reference import answer
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    import onnx_ir

    from irbench.ir.passes import Pass

__all__ = ["RESULT", "Task", "Work", "work"]

RESULT = "model.onnx"
_JUDGED_SAMPLES = 64


@dataclass(frozen=True)
class Task:
    """What is to be done to which graph.

    Attributes:
        artifact: The graph, its shapes bound as far as they shall be.
        bundle: The model; its inputs are what outputs are compared on.
        sizes: A size for every free dimension, for the comparison.
        recipe: The passes, and what the graph is converted to after them.
        folder: Where the result is written, an empty folder.
        reference: The backend that answers for the graph before and after each pass.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    recipe: Recipe
    folder: Path
    reference: str


@dataclass(frozen=True)
class Work:
    """What was done.

    Attributes:
        steps: The graph as it came, then a step for each pass and for the conversion.
        agreement: What the conversion costs; ``None`` without one.
    """

    steps: tuple[GraphStep, ...]
    agreement: Agreement | None = None


def work(task: Task, say: Callable[[str], None]) -> Work:
    """Apply the passes and the conversion, and write the graph into the task's folder.

    After each pass that changed something the graph is written, checked (with every shape inferred, where all
    operators are ONNX' own), loaded by the reference backend, and its outputs compared with the original's. A
    conversion is checked and loaded likewise; how far its answers are from the original's is what it returns.

    Raises:
        IrbenchError: A pass or the conversion failed or broke the model; it is named.
    """
    passes = [registry.graph_pass(name) for name in task.recipe.passes]
    conversion = task.recipe.conversion
    if conversion is not None:
        require_fp32(task.artifact.path, task.bundle.name, conversion.precision)
    with scratch_folder() as scratch:
        say("computing what the graph answers")
        proof = _Proof(task, scratch)
        needed = [one.opset for one in passes] + ([least_opset(conversion)] if conversion else [])
        raised = _raised(task, max(needed, default=0), scratch)
        model = load(raised or task.artifact.path)
        steps = [_step("original", load(task.artifact.path))]
        if raised is not None:
            steps.append(proof.of(model, replace(_step("raise_opset", model), modified=True)))
        for one in passes:
            say(one.name)
            modified = _apply(one, model, task)
            step = replace(_step(one.name, model), modified=modified, vendor=one.vendor if modified else None)
            steps.append(proof.of(model, step) if modified else step)
        if conversion is None:
            write(model, task.folder / RESULT)
            return Work(tuple(steps))
        say(f"converting to {conversion.precision}")
        last, agreement = _convert(model, task, conversion, scratch)
        return Work((*steps, last), agreement)


class _Proof:
    """Proves that a graph still is one, and still computes what the original did."""

    def __init__(self, task: Task, scratch: Path) -> None:
        self._task = task
        self._scratch = scratch
        self._expected = self._answer(task.artifact)
        self._portable = True

    def of(self, model: onnx_ir.Model, step: GraphStep) -> GraphStep:
        """Write ``model``, prove it, and return ``step`` with its error.

        Raises:
            IrbenchError: The step broke the model.
        """
        path = self._task.folder / RESULT
        write(model, path)
        self._portable = self._portable and step.vendor is None
        try:
            check_file(path, shapes=self._portable)
            given = self._answer(replace(self._task.artifact, path=path, sha256=""))
            error = compare(given, self._expected, self._task.bundle.classifier)
        except Exception as problem:  # a runtime that cannot load the graph says so in a way of its own
            raise _broken(step.name, self._task, (str(problem).strip().splitlines() or [""])[0]) from problem
        wrong = judge(error, "fp32")
        if wrong is not None:
            raise _broken(step.name, self._task, wrong.message)
        return replace(step, max_rel_error=error.max_rel)

    def _answer(self, artifact: Artifact) -> tuple[Array, ...]:
        task = self._task
        bound = bind(artifact, task.sizes, self._scratch)
        return answer(task.reference, bound, task.bundle, task.sizes, task.bundle.seed)


def _apply(one: Pass, model: onnx_ir.Model, task: Task) -> bool:
    try:
        return one(model)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise _broken(one.name, task, f"{type(error).__name__}: {reason}") from error


def _convert(model: onnx_ir.Model, task: Task, conversion: Conversion, scratch: Path) -> tuple[GraphStep, Agreement]:
    """Put the model into another precision, and measure what that costs."""
    source, path = scratch / "in_fp32.onnx", task.folder / RESULT
    write(model, source)
    for leftover in task.folder.glob(f"{RESULT}*"):
        leftover.unlink()
    calibration = Samples(task.artifact, task.bundle, task.sizes, conversion.samples, CALIBRATION)
    judgement = Samples(task.artifact, task.bundle, task.sizes, _JUDGED_SAMPLES, JUDGEMENT)
    try:
        name = convert(source, path, conversion, calibration)
        made = load(path)
        vendors = sorted({node.domain for node in made.graph.all_nodes()} - {"", "ai.onnx"})
        check_file(path, shapes=not vendors)
        converted = replace(task.artifact, path=path, sha256="")
        agreement = measure_agreement(judgement, converted, task.reference, task.bundle.classifier, scratch)
    except NothingToConvert:
        raise
    except Exception as problem:  # a tool or runtime that fails says so in a way of its own
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        raise _unconvertible(task, conversion, reason) from problem
    step = replace(_step(name, made), modified=True, vendor=vendors[0] if vendors else None)
    return replace(step, max_rel_error=agreement.error.max_rel), agreement


def _broken(name: str, task: Task, reason: str) -> IrbenchError:
    others = ",".join(one for one in task.recipe.passes if one != name)
    return IrbenchError(
        f"The pass {name} breaks {task.bundle.name}: {reason.rstrip('.')}.",
        hint=f"Leave it out: --passes {others}" if others else "Leave it out.",
    )


def _unconvertible(task: Task, conversion: Conversion, reason: str) -> IrbenchError:
    others = {"fp16": "Use bf16, whose range is that of fp32", "int8": "Use the other method (--quantize)"}
    return IrbenchError(
        f"{task.bundle.name} cannot be converted to {conversion.precision}: {reason.rstrip('.')}.",
        hint=f"{others.get(conversion.precision, 'Use fp16')}, or leave --precision out.",
    )


def _raised(task: Task, opset: int, scratch: Path) -> Path | None:
    """Write the graph at the operator set that the passes need; ``None`` where it is there, or cannot be raised."""
    import onnx

    model = loose.loosen(onnx.load(str(task.artifact.path)), {})
    if loose.opset_of(model.model) >= opset:
        return None
    try:
        upgrade_opset(model, opset)
    except IrbenchError:
        return None  # the passes that need it then leave the graph alone
    path = scratch / "raised.onnx"
    loose.write(model, path)
    return path


def _step(name: str, model: onnx_ir.Model) -> GraphStep:
    operators = Counter(
        f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.all_nodes()
    )
    return GraphStep(name, modified=False, operators=dict(sorted(operators.items())))
