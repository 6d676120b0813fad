"""What runs in the worker: pass after pass over one graph, each proven before the next begins, then a conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irbench import registry
from irbench.activity import OptimizerStep
from irbench.errors import IrbenchError
from irbench.onnx import detached_weights, external
from irbench.onnx.check import check_file
from irbench.optimizer.agreement import measure_agreement
from irbench.optimizer.conversion import NothingToConvert, convert, least_opset, require_fp32, require_opset
from irbench.optimizer.files import load, vendors_of, weights_beside, write
from irbench.optimizer.layout import as_nchw
from irbench.optimizer.passes.inputs_to_nchw import inputs_to_nchw
from irbench.optimizer.passes.upgrade_opset import upgrade_opset
from irbench.optimizer.proof import TURN_INPUTS, Proof, broken, first_line
from irbench.optimizer.recipe import Conversion
from irbench.optimizer.samples import CALIBRATION, JUDGEMENT, Samples
from irbench.optimizer.task import RESULT, OptimizerAnswer, Task
from irbench.record import Agreement, GraphStep
from irbench.spec import Artifact
from irbench.system.host import available_memory_bytes
from irbench.system.memory import limit_memory
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    import onnx_ir

    from irbench.optimizer.passes import Pass

__all__ = ["work", "work_in_bounds"]

_Changed = TypeVar("_Changed")

Say = Callable[[OptimizerStep], None]

_JUDGED_SAMPLES = 64
_MOST_MEMORY = 0.9


def work_in_bounds(task: Task, say: Say) -> OptimizerAnswer:
    """Do the same as :func:`work` in most of the memory that is left: a whole process is given to it."""
    limit_memory(int(_MOST_MEMORY * available_memory_bytes()))
    return work(task, say)


def work(task: Task, say: Say) -> OptimizerAnswer:
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
        say(OptimizerStep("reference"))
        line = _Line(task, scratch)
        line.raise_opset(
            [graph_pass.opset for graph_pass in passes] + ([least_opset(conversion)] if conversion else []), say
        )
        if task.recipe.layout == "nchw":
            line.turn_inputs(say)
        for graph_pass in passes:
            line.apply(graph_pass, say)
        if conversion is None:
            if not any(step.modified for step in line.steps):  # the last proof wrote what it proved
                write(line.model, task.folder / RESULT)
            return OptimizerAnswer(tuple(line.steps), line.turned)
        require_opset(line.opset, conversion, task.bundle.name)
        say(OptimizerStep("convert", conversion.precision))
        last, agreement = _convert(line.model, line.artifact, task, conversion, scratch)
        return OptimizerAnswer((*line.steps, last), line.turned, agreement)


class _Line:
    """A graph on its way through the steps, each proven.

    Attributes:
        model: The graph after the last step.
        artifact: Its signature; the path is that of the graph as it came.
        turned: Names of the inputs that it takes as NCHW since.
        steps: What was done so far.
    """

    def __init__(self, task: Task, scratch: Path) -> None:
        self._task = task
        self._scratch = scratch
        self._proof = Proof(task, scratch)
        self.model = load(task.artifact.path)
        self.artifact = task.artifact
        self.turned: tuple[str, ...] = ()
        self.steps = [_step("original", self.model)]
        self._vendors = vendors_of(self.model)

    @property
    def opset(self) -> int:
        """The version of ONNX' own operator set."""
        return self.model.graph.opset_imports.get("", 0)

    def raise_opset(self, wanted: list[int], say: Say) -> None:
        """Move to the latest operator set that is wanted, or to the latest that the graph can be moved to."""
        reasons: list[str] = []
        for opset in sorted({item for item in wanted if item > self.opset}, reverse=True):
            say(OptimizerStep("raise-opset", str(opset)))
            try:
                raised = _raised(self._task.artifact.path, opset, self._scratch)
                step = self._proof.of(raised, _step("raise_opset", raised, modified=True), self.artifact)
            except IrbenchError as problem:
                reasons.append(problem.message)
                continue
            self.model = raised
            self.steps.append(step)
            return
        if reasons:
            remark = f"opset {self.opset} cannot be raised: {reasons[-1].partition(': ')[2].rstrip('.!')}"
            self.steps.append(replace(_step("raise_opset", self.model), remark=remark))

    def turn_inputs(self, say: Say) -> None:
        """Take images as NCHW where the graph turns them into that itself; raises as :meth:`apply` does."""
        self.turned = self._change(TURN_INPUTS, inputs_to_nchw, say)
        self.artifact = as_nchw(self.artifact, self.turned)
        self._add(TURN_INPUTS, modified=bool(self.turned))

    def apply(self, pass_: Pass, say: Say) -> None:
        """Apply a pass.

        Raises:
            IrbenchError: It fails or breaks the model.
        """
        if self.opset < pass_.opset:
            self.steps.append(replace(_step(pass_.name, self.model), remark=f"needs opset {pass_.opset}"))
            return
        modified = self._change(pass_.name, pass_, say)
        said_too_little = _step(pass_.name, self.model).operators != self.steps[-1].operators
        self._add(pass_.name, modified=modified or said_too_little)

    def _change(self, name: str, change: Callable[[onnx_ir.Model], _Changed], say: Say) -> _Changed:
        say(OptimizerStep("pass", name))
        try:
            return change(self.model)
        except Exception as error:
            raise broken(name, self._task, f"{type(error).__name__}: {first_line(error)}") from error

    def _add(self, name: str, *, modified: bool) -> None:
        step = _step(name, self.model, modified=modified)
        if modified:
            held = vendors_of(self.model)
            written, self._vendors = sorted(held - self._vendors), self._vendors | held
            step = self._proof.of(self.model, replace(step, vendor=written[0] if written else None), self.artifact)
        self.steps.append(step)


def _raised(path: Path, opset: int, scratch: Path) -> onnx_ir.Model:
    """Return the graph at a later operator set.

    Raises:
        IrbenchError: It cannot be moved there.
    """
    model = detached_weights.detach(external.load(path), {})
    upgrade_opset(model, opset)
    raised = scratch / f"raised-{opset}.onnx"
    detached_weights.write(model, raised)
    return load(raised)


def _convert(
    model: onnx_ir.Model, artifact: Artifact, task: Task, conversion: Conversion, scratch: Path
) -> tuple[GraphStep, Agreement]:
    """Put the model, whose signature ``artifact`` is, into another precision, and measure what that costs."""
    source, path = scratch / "in_fp32.onnx", task.folder / RESULT
    write(model, source)
    for leftover in (path, weights_beside(path)):
        leftover.unlink(missing_ok=True)
    calibration = Samples(artifact, task.bundle, task.sizes, conversion.samples, CALIBRATION)
    judgement = Samples(task.artifact, task.bundle, task.sizes, _JUDGED_SAMPLES, JUDGEMENT)
    try:
        name = convert(source, path, conversion, calibration)
        made = load(path)
        vendors = sorted(vendors_of(made))
        check_file(path, shapes=not vendors)
        converted = replace(artifact, path=path, sha256="")
        agreement = measure_agreement(judgement, converted, task.reference, task.bundle.classifier, scratch)
    except NothingToConvert:
        raise
    except Exception as problem:  # a tool or runtime that fails says so in a way of its own
        raise _unconvertible(task, conversion, first_line(problem)) from problem
    step = replace(_step(name, made, modified=True), vendor=vendors[0] if vendors else None)
    return replace(step, max_rel_error=agreement.error.max_rel), agreement


def _unconvertible(task: Task, conversion: Conversion, reason: str) -> IrbenchError:
    others = {
        "fp16": "bf16, whose range is that of fp32",
        "bf16": "fp16, in which more runtimes compute",
        "int8": "the other method (--quantize)",
    }
    return IrbenchError(
        f"{task.bundle.name} cannot be converted to {conversion.precision}: {reason.rstrip('.')}.",
        hint=f"Try {others[conversion.precision]}; if that fails too, leave --precision out.",
    )


def _step(name: str, model: onnx_ir.Model, *, modified: bool = False) -> GraphStep:
    operators = Counter(
        f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.all_nodes()
    )
    return GraphStep(name, modified, dict(sorted(operators.items())))
