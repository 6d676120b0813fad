"""What a graph should answer, and whether another graph does.

The judge is ONNX Runtime with every optimisation off: it computes node by node what the file says, knows all operator
sets that irbench accepts, control flow and functions, and is fast. ONNX's own evaluator is slower by far and joins the
outputs of Loops differently; it gives a second opinion in :func:`second_opinion`.

How exact an answer can be depends on the graph: a difference of large numbers has few digits. The judge is asked again
with inputs that are off by their rounding, and another graph may be off by some times what that changes.

ONNX Runtime has no kernels for bf16 on CPUs but those of Cast. Graphs that take or give bf16, and those that it cannot
load, are computed in fp32 (:func:`.element_types.widened`), before and behind the optimiser alike: it sees bf16, and of
the rounding of bf16 only that of constants shows which it computed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from irbench_openvino import runtime

from .element_types import takes_bfloat16, widened
from .feeds import Feed, feeds

_CONSTANTS = "bf16 constants"
"""What a graph in bf16 computes in where it is computed in fp32: constants that were folded are rounded."""
_ALLOWED = {"fp32": 2e-4, "fp16": 2e-2, "bf16": 1e-1, _CONSTANTS: 1e-2}
_ROUNDING = {"fp32": 2.0**-22, "fp16": 2.0**-9, "bf16": 2.0**-6, _CONSTANTS: 2.0**-12}
_LARGEST = {"fp32": np.inf, "fp16": 3e4, "bf16": np.inf, _CONSTANTS: np.inf}
_TIMES = 30.0
_NUDGES = 4
"""How often inputs are moved: where a few moves happen to cancel in one answer, others do not."""
_HUGE = 1e7
"""What masks put beside ordinary numbers, which are judged by their own largest."""
_LEAST = 1e-6

Answers = list[Any]


class Unusable(Exception):
    """ONNX Runtime cannot run the original graph on any input."""


@dataclass
class _Expected:
    feed: Feed
    answers: Answers
    spread: dict[str, list[Any]]


class Judge:
    """Knows what a graph should answer.

    Args:
        content: The original graph.

    Attributes:
        content: The original graph.
        cases: What it answers to which inputs.
        differing: How runtimes differ on the original graph already, as far as they were asked.
        raised: Graphs at later operator sets, by that and by the graph before, and why they cannot be used.

    Raises:
        Unusable: It runs on no input.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.differing: dict[str, str | None] = {}
        self.raised: dict[tuple[int, bytes], tuple[bytes, str | None]] = {}
        try:
            self._session = session(content, optimised=False)
            self._usual = _CONSTANTS if takes_bfloat16(content) else "fp32"
        except Exception as problem:
            raise Unusable(str(problem)) from problem
        self.cases: list[_Expected] = []
        for feed in feeds(onnx.load_from_string(widened(content) or content)):
            try:
                answers = self._session.run(None, feed.arrays)
            except Exception:  # noqa: BLE001 - the graph does not allow these sizes or values
                continue
            self.cases.append(_Expected(feed, answers, {}))
        if not self.cases:
            raise Unusable("no input suits the graph")

    def wrong(self, run: Any, precision: str = "fp32", kinds: Sequence[str] = ()) -> str | None:
        """Return how the answers of another graph differ; ``None`` where they do not.

        Args:
            run: Called with the inputs of a feed.
            precision: What the graph computes in.
            kinds: The kinds of feeds to try; all where none are named.
        """
        precision = self._usual if precision == "fp32" else precision
        for case in self.cases:
            if kinds and case.feed.kind not in kinds:
                continue
            try:
                answers = run(case.feed.arrays)
            except Exception as problem:  # noqa: BLE001 - runtimes report failures in ways of their own
                return f"{case.feed.kind}: fails: {_short(problem)}"
            difference = self._difference(case, answers, precision)
            if difference is not None:
                return f"{case.feed.kind}: {difference}"
        return None

    def _difference(self, case: _Expected, answers: Answers, precision: str) -> str | None:
        if len(answers) != len(case.answers):
            return f"{len(answers)} outputs instead of {len(case.answers)}"
        for place, (answer, expected) in enumerate(zip(answers, case.answers, strict=True)):
            answer, expected = np.asarray(answer), np.asarray(expected)
            if answer.size == expected.size == 0:  # what a Loop of no turns stacks has sizes of the runtime's choice
                continue
            if (answer.shape, answer.dtype) != (expected.shape, expected.dtype):
                return f"output {place} is {answer.dtype}{answer.shape}, not {expected.dtype}{expected.shape}"
            if np.array_equal(answer, expected):
                continue
            if expected.dtype.kind in "OSU":
                return f"output {place} is another text"
            found = _excess(_wide(answer), _wide(expected), self._spread(case, precision)[place], precision)
            if found is not None:
                return f"output {place} is off by {found}"
        return None

    def _spread(self, case: _Expected, precision: str) -> list[Any]:
        """Return how far answers move where inputs are off by the rounding of a precision; infinite where unknown."""
        if precision not in case.spread:
            moved = []
            for seed in range(_NUDGES):
                random = np.random.default_rng(seed)
                fed = case.feed.arrays.items()
                arrays = {name: _nudged(array, _ROUNDING[precision], random) for name, array in fed}
                moved.append(self._session.run(None, arrays))
            case.spread[precision] = [_apart(*answers) for answers in zip(case.answers, *moved, strict=True)]
        return case.spread[precision]


def _nudged(array: Any, share: float, random: Any) -> Any:
    if array.dtype.kind != "f" or not array.size:
        return array
    finite = np.where(np.isfinite(array), array, 0)
    moved = array + finite * (share * random.uniform(-2.0, 2.0, array.shape)).astype(array.dtype)
    return np.asarray(moved, array.dtype)  # of arrays without axes NumPy makes numbers


def _apart(answer: Any, *others: Any) -> Any:
    answer = _wide(answer)
    with np.errstate(all="ignore"):
        found = [
            np.abs(_wide(other) - answer) if np.shape(other) == answer.shape else np.full(answer.shape, np.inf)
            for other in others
        ]
    return np.nan_to_num(np.maximum.reduce(found), nan=np.inf, posinf=np.inf)


def _excess(answer: Any, expected: Any, spread: Any, precision: str) -> str | None:
    """Return the largest error where it is more than is allowed; what is not finite in the original is not judged."""
    judged = np.isfinite(expected) & np.isfinite(spread) & (np.abs(expected) <= _LARGEST[precision])
    if not judged.any():
        return None
    if not np.isfinite(answer[judged]).all():
        return "what is not finite"
    if precision != "fp32":
        spread = np.full_like(spread, np.abs(spread[judged]).max())  # weights are rounded too
    for group in (judged & (np.abs(expected) < _HUGE), judged & (np.abs(expected) >= _HUGE)):
        error = np.abs(answer[group] - expected[group])
        largest = float(np.abs(expected[group]).max(initial=_LEAST))
        allowed = _ALLOWED[precision] * largest + _TIMES * np.abs(spread[group])
        if (error > allowed).any():
            return f"{error.max():.3g} of {largest:.3g}"
    return None


def _wide(array: Any) -> Any:
    return np.asarray(array).astype(np.float64)


def session(content: bytes, optimised: bool) -> Any:
    """Return a session of ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    wide = widened(content)
    if wide is not None and takes_bfloat16(content):
        return onnxruntime.InferenceSession(wide, options, providers=providers)
    try:
        return onnxruntime.InferenceSession(content, options, providers=providers)
    except Exception:
        if wide is None:
            raise
        return onnxruntime.InferenceSession(wide, options, providers=providers)


def answers_of_ort(content: bytes, optimised: bool = False) -> Any:
    """Return what computes the outputs of a graph with ONNX Runtime; raises where it does not load."""
    opened = session(content, optimised)
    return lambda arrays: opened.run(None, arrays)


def is_known_fault(reason: str) -> bool:
    """Whether a reason is that of a known fault of a runtime, on graphs that are valid and that others answer right.

    OpenVINO 2026.4 loses the axes that a constant of one element with more axes adds behind a Reshape, and refuses a
    product whose one operand is scaled behind a Reshape that merges leading axes, if its result is reshaped back. Where
    two Ifs give tensors of dynamic sizes, its first answer may hold memory that nothing wrote; the second one is right.
    ONNX's function of a causal ``Attention`` with a mask adds fp32 to bf16.
    """
    return any(re.search(pattern, reason) for pattern in _KNOWN_FAULTS)


_KNOWN_FAULTS = (
    r"output \d+ is \w+\((?P<sizes>.+)\), not \w+\((1, )+(?P=sizes)\)",
    r"\[DeReshapeMatMul\] END",
    "OpenVINO answers otherwise when asked again",
    r"Optype \(Add\) bound to different types \(tensor\(bfloat16\) and tensor\(float\)",
)


def answers_of_openvino(content: bytes) -> Any:
    """Return what computes the outputs of a graph with OpenVINO; raises where it does not load."""
    core = runtime.core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    compiled = core.compile_model(core.read_model(widened(content) or content), "CPU", options)
    ports = [port.get_names() for port in compiled.inputs]  # a Reshape that OpenVINO drops leaves its name there too

    def asked(arrays: Any) -> Answers:
        fed = [next(arrays[name] for name in names if name in arrays) for names in ports]
        found = compiled([np.array(array) for array in fed])  # OpenVINO writes into the inputs of some graphs
        return [np.array(found[port]) for port in compiled.outputs]

    def run(arrays: Any) -> Answers:
        first, second = asked(arrays), asked(arrays)
        if any(one.tobytes() != other.tobytes() for one, other in zip(first, second, strict=True)):
            raise RuntimeError("OpenVINO answers otherwise when asked again")
        return second

    return run


def second_opinion(content: bytes, feed: Feed) -> Answers:
    """Return what ONNX's own evaluator answers."""
    return list(ReferenceEvaluator(onnx.load_from_string(widened(content) or content)).run(None, dict(feed.arrays)))


def _short(problem: Exception) -> str:
    return " ".join(str(problem).split())[:160]
