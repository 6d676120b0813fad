"""What the optimiser did to a graph, and what that costs: stored with the graph, and shown from there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from irbench.core.record import OutputError
from irbench.spec import Distribution

InputKind = Literal["given", "seeded", "constant-rows", "large", "zeros", "mask-half", "mask-none", "mask-ones"]
"""What the values of an input of a check are; see :mod:`irbench.optimizer.check_plan`."""
KIND_TEXTS: Mapping[InputKind, str] = {
    "given": "given data",
    "seeded": "seeded",
    "constant-rows": "constant rows",
    "large": "large",
    "zeros": "zeros",
    "mask-half": "half masked",
    "mask-none": "all masked",
    "mask-ones": "nothing masked",
}

LeftOut = Literal["fails", "not-finite", "too-large", "unstable"]
"""Why an input is not asked: the original fails on it, its answers are not finite, need too much memory, or depend on
rounding."""
LEFT_OUT_TEXTS: Mapping[LeftOut, str] = {
    "fails": "the original fails",
    "not-finite": "the original's outputs are not finite",
    "too-large": "the outputs of more inputs need more memory than is available",
    "unstable": "the original's outputs depend on rounding errors",
}

UncheckedReason = Literal["not-reached", "other-shapes", "original-fails", "not-finite", "not-followed"]
"""Why a body was not compared: no input that was tried leads there, only inputs of other shapes do, the original fails
there or does not answer finite numbers there, or it could not be followed which bodies are executed."""
UNCHECKED_TEXTS: Mapping[UncheckedReason, str] = {
    "not-reached": "no input leads there",
    "other-shapes": "shapes decide, and none that was tried leads there",
    "original-fails": "the original fails there",
    "not-finite": "the original's outputs are not finite there",
    "not-followed": "what is executed could not be followed",
}


@dataclass(frozen=True)
class PassObstacle:
    """Why a pass could do nothing, where that is not for want of anything to do.

    Attributes:
        code: ``opset-too-low`` for the pass, or the operator set could not be raised, or functions not be inlined,
            or the process ended in the pass or in the check of its graph (``crashed``).
        opset: The least that the pass needs, or the one that stays.
        reason: What kept it from being raised or inlined, as the tool or the check reported it; the signal that ended
            the process; empty otherwise.
    """

    code: Literal["opset-too-low", "opset-not-raised", "functions-not-inlined", "crashed"]
    opset: int
    reason: str = ""

    def text(self) -> str:
        """Return it in words: ``needs opset 17``."""
        reason = self.reason.rstrip(".!")
        return {
            "opset-too-low": f"needs opset {self.opset}",
            "opset-not-raised": f"opset {self.opset} cannot be raised: {reason}",
            "functions-not-inlined": f"functions stay as they are: {reason}",
            "crashed": f"the runtime that checks its graph crashed with {self.reason}",
        }[self.code]


@dataclass(frozen=True)
class GraphStep:
    """What one pass of the optimiser did to a graph.

    Attributes:
        name: The pass; ``original`` is the graph as it came, ``inline_functions`` writes out its functions,
            ``raise_opset`` moves it to a later operator set.
        modified: Whether it changed anything.
        operators: Number of nodes of each operator after it.
        max_rel_error: Largest difference of an output from the original graph's, relative to the largest output;
            ``None`` where nothing was changed.
        vendor: Domain of operators that the pass wrote and ONNX does not define.
        obstacle: Why it could do nothing; ``None`` where it could, or there was nothing to do.
    """

    name: str
    modified: bool
    operators: Mapping[str, int] = field(default_factory=dict[str, int])
    max_rel_error: float | None = None
    vendor: str | None = None
    obstacle: PassObstacle | None = None

    @property
    def nodes(self) -> int:
        """Number of nodes after it."""
        return sum(self.operators.values())


OptimizingCode = Literal[
    "start", "reference-outputs", "inline-functions", "raise-opset", "pass", "check", "convert", "done"
]
OPTIMIZING_TEXTS: Mapping[OptimizingCode, str] = {
    "start": "starting",
    "reference-outputs": "computing the outputs of the original graph",
    "inline-functions": "writing functions out where they are called",
    "raise-opset": "raising the operator set to {name}",
    "pass": "{name}",
    "check": "comparing the result with the original graph",
    "convert": "converting to {name}",
    "done": "optimised as {name}: {nodes[0]} to {nodes[1]} nodes, changed by {steps[1]} of {steps[0]} steps"
    " (irbench optimize lists them)",
}


@dataclass(frozen=True)
class OptimizerActivity:
    """What an optimisation does now.

    Attributes:
        code: What it is; ``reference-outputs`` computes those of the original graph, and ``done`` is the end.
        name: The pass, the operator set or the precision, at the end what the result is called; empty where there is
            none.
        model: The model that is optimised.
        steps: At the end, how many steps there were, and how many changed something.
        nodes: At the end, the number of nodes as the graph came, and as it is.
    """

    code: OptimizingCode
    name: str = ""
    model: str = ""
    steps: tuple[int, int] = (0, 0)
    nodes: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class AgreementElsewhere:
    """What a conversion costs on generated inputs that it was neither calibrated nor judged on.

    Attributes:
        drawn: What they are drawn from.
        samples: How many.
        error: As :attr:`Agreement.error`; ``None`` where the answers cannot be compared, as some are finite in one
            precision alone: no loss is larger.
    """

    drawn: Distribution
    samples: int
    error: OutputError | None


@dataclass(frozen=True)
class ValueRange:
    """A value of a graph and the largest finite magnitude that it has."""

    name: str
    largest: float


@dataclass(frozen=True)
class NarrowRange:
    """How the values that are fp16 in a converted graph fit into its range, as they are in fp32.

    Attributes:
        samples: On how many inputs.
        values: How many of the graph's values are fp16.
        beyond: How many of them have a magnitude above 65504, the largest of fp16.
        vanishing: How many have none that reaches 6.1e-5, its least normal number, and are not zero.
        largest: The first of those beyond the range, the largest first.
        smallest: The first of those below it, the smallest first.
    """

    samples: int
    values: int
    beyond: int
    vanishing: int
    largest: tuple[ValueRange, ...] = ()
    smallest: tuple[ValueRange, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """What a graph in another precision costs beside the same graph in fp32.

    Attributes:
        samples: How many different inputs both answered.
        by: The backend that computed the converted graph's answers.
        error: How far these are from those in fp32: the worst over all inputs, top-1 agreement their mean.
        degenerate: Whether every answer in fp32 is all zero, constant or tiny, so that nearly any would agree.
        sizes: Other sizes of dynamic dimensions, at each of which both answered one more seeded input. These count for
            the error, but not for the top-1 agreement.
        runs_at: Other sizes at which the converted graph runs, and is not compared: samples were given, and a seeded
            input would tell nothing about them.
        source: Whether the inputs were generated, or samples of data; empty in records of an older irbench.
        drawn: What generated floats among them, and among those of the calibration, were drawn from.
        ranges: Between what generated floats are declared to lie, by input; empty where data or constants replace all.
        calibrated_on: How many inputs of the same kind ranges were found on; ``None`` without a calibration.
        weight_bits: How many bits of an int8 weight are used; ``None`` in other precisions, and where it was not kept.
        is_calibrated_on_same: Whether these were the very inputs that it is judged on, as there was one sample alone.
        is_recognised: Whether ``error`` has a top-1 agreement only because the answers add up to one as the
            probabilities of classes do; a model that declares its classes is judged by it.
        outputs: The outputs whose classes the top-1 agreement is of, where the model has others besides.
        elsewhere: What a static quantisation costs on inputs of other distributions.
        computed_in: The precision that the backend read back for the converted graph: ``fp32`` where it put casts
            around every operation, so that the error says nothing about fp16 or bf16. Empty in older records.
        narrow_range: How the values fit into fp16; ``None`` in other precisions, and where it could not be found.
    """

    samples: int
    by: str
    error: OutputError
    degenerate: bool = False
    sizes: tuple[Mapping[str, int], ...] = ()
    runs_at: tuple[Mapping[str, int], ...] = ()
    source: Literal["", "generated", "data"] = ""
    drawn: Distribution = "declared"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    calibrated_on: int | None = None
    weight_bits: int | None = None
    is_calibrated_on_same: bool = False
    is_recognised: bool = False
    outputs: tuple[str, ...] = ()
    elsewhere: tuple[AgreementElsewhere, ...] = ()
    computed_in: str = ""
    narrow_range: NarrowRange | None = None

    def is_measured(self, precision: str) -> bool:
        """Whether the error is that of a graph that was computed in the precision it was converted to."""
        return precision not in ("fp16", "bf16") or self.computed_in in ("", precision)

    @property
    def judged(self) -> OutputError:
        """The error that decides whether the conversion failed."""
        return replace(self.error, top1_agreement=None) if self.is_recognised else self.error

    @property
    def worst_elsewhere(self) -> AgreementElsewhere | None:
        """The other distribution on which it errs most: first one whose answers are not finite in one precision."""

        def loss(other: AgreementElsewhere) -> float:
            return math.inf if other.error is None else other.error.max_rel

        return max(self.elsewhere, key=loss, default=None)


@dataclass(frozen=True)
class CheckedInput:
    """An input on which the answers of a graph were compared with the original's.

    Attributes:
        kind: What its values are.
        sizes: A size for each dynamic dimension of the graph.
    """

    kind: InputKind
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class UncheckedBody:
    """A branch of an If, or a body of a Loop or Scan, of which something was not compared with the original.

    Attributes:
        operator: ``If``, ``Loop`` or ``Scan``.
        node: The node's name, or that of its first output.
        part: The attribute of the node that holds it: ``then_branch``, ``else_branch`` or ``body``.
        iterations: ``None`` where it was never executed; 0 or 1 where a Loop was not run so often.
    """

    operator: str
    node: str
    part: str
    iterations: int | None = None
    reason: UncheckedReason = "not-reached"


@dataclass(frozen=True)
class GraphCheck:
    """On what the answers of an optimised graph were compared with those of the original.

    Attributes:
        inputs: What both answered, within the tolerance.
        left_out: Kinds of inputs of which the original's answers say nothing, and why.
        unvaried: Dynamic dimensions of which the original runs at no other size that was tried.
        bodies: How many branches and bodies of the graph were executed and compared.
        unchecked: The others.
        computed: Dimensions whose sizes were computed from others, as the original does not run otherwise:
            ``{"total": "past + tokens"}``.
    """

    inputs: tuple[CheckedInput, ...] = ()
    left_out: Mapping[InputKind, LeftOut] = field(default_factory=dict[InputKind, LeftOut])
    unvaried: tuple[str, ...] = ()
    bodies: int = 0
    unchecked: tuple[UncheckedBody, ...] = ()
    computed: Mapping[str, str] = field(default_factory=dict[str, str])


UncuttableReason: TypeAlias = Literal["no-inputs", "no-outputs", "no-tensor", "no-array"]
"""``no-inputs``: nothing that a part reads depends on the inputs of the model; ``no-outputs``: nobody needs what it
gives; ``no-tensor``: it reads or gives a sequence or an optional; ``no-array``: a value has a type that NumPy cannot
store."""
UNCUTTABLE_TEXTS: Mapping[UncuttableReason, str] = {
    "no-inputs": "nothing in it depends on the inputs of the model",
    "no-outputs": "nothing needs what it gives",
    "no-tensor": "'{value}' at its edge is not a tensor",
    "no-array": "'{value}' at its edge has a type that NumPy cannot store",
}


@dataclass(frozen=True)
class Uncuttable:
    """Why a part of a graph cannot stand alone.

    Attributes:
        reason: What is in the way.
        value: The name of the value; empty for the first two.
    """

    reason: UncuttableReason
    value: str = ""
