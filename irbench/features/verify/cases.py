"""The cases of ONNX's test suite: written as files, and their outcomes counted and compared.

The suite is the models and data that the ``onnx`` package carries or generates. Generating the cases of single
operators runs hundreds of small NumPy programs: do it in a worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from irbench.core.record import OutputError
from irbench.errors import ExitCode
from irbench.features.verify.data_sets import kind_of, write_set

if TYPE_CHECKING:
    import onnx
    from onnx.backend.test.case.test_case import TestCase

Outcome = Literal["passed", "wrong", "unsupported", "crashed", "skipped"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
_EXPANDED = "_expanded"
_COMPARED = ("tensor_type", "sequence_type")


@dataclass(frozen=True)
class SuiteCase:
    """One model with its data sets, in files as the ONNX convention has them.

    Attributes:
        name: Its name in the suite, ``test_add_bcast`` for example.
        kind: The suite's part that it belongs to: ``node``, ``simple``, ``pytorch-converted``, ``pytorch-operator``
            or ``real``.
        operator: What it tests; ``several`` for a graph of different operators.
        data: The folder that holds ``test_data_set_*``.
        rtol: Difference that passes, relative to each expected element.
        atol: Difference that passes besides, in absolute terms.
        skip: Why irbench cannot run it; empty where it can.
    """

    name: str
    kind: str
    operator: str
    model: Path
    data: Path
    rtol: float
    atol: float
    skip: str = ""


@dataclass(frozen=True)
class Tried:
    """What became of a case on one backend.

    Attributes:
        outcome: ``passed``; ``wrong``: it answered something else; ``unsupported``: the runtime raised an error;
            ``crashed``: its process died or gave no answer in time; ``skipped``: irbench did not run it.
        reason: Why it did not pass; empty where it did.
        precision: The effective precision; ``None`` where no session was made.
        output_error: How far the worst output is off; ``None`` where the outputs cannot be compared.
        outputs_sha256: Digest of all outputs, to tell whether two versions answer the same; ``None`` without outputs.
    """

    outcome: Outcome
    reason: str = ""
    precision: str | None = None
    output_error: OutputError | None = None
    outputs_sha256: str | None = None


@dataclass(frozen=True)
class CaseResult:
    """One case on one backend, as the suite's document has it; see :class:`SuiteCase` and :class:`Tried`."""

    name: str
    kind: str
    operator: str
    backend: str
    outcome: Outcome
    reason: str
    precision: str | None
    output_error: OutputError | None
    outputs_sha256: str | None = None


@dataclass(frozen=True)
class OperatorChange:
    """Cases of one operator that two versions of a runtime treat differently, all in the same way.

    Attributes:
        after: The outcome in the second; the same as ``before`` where only the values of outputs are others.
        reason: The most frequent one of the version that does worse; empty where both passed.
    """

    operator: str
    before: Outcome
    after: Outcome
    cases: tuple[str, ...]
    reason: str

    @property
    def is_of_outcome(self) -> bool:
        """Whether more changed than the values of outputs."""
        return self.before != self.after


@dataclass(frozen=True)
class Runtime:
    """A backend that ran the suite.

    Attributes:
        backend: ``ort``, or ``ort:cuda`` with a device other than the CPU.
        counts: Number of cases by outcome; every outcome is there.
    """

    backend: str
    distribution: str
    version: str
    counts: Mapping[Outcome, int]


@dataclass(frozen=True)
class SuiteReport:
    """The document of one run of the suite: its JSON has these keys, and later versions may only add to them.

    Attributes:
        suite: ``onnx``.
        suite_version: Of the distribution ``onnx`` that carries the cases.
        pattern: What ``--only`` chose the cases by; null where all were run.
        complete: False where the run was interrupted; the cases are those that were done.
        between: The two versions that were compared, as ``backends`` names them; empty where no versions were.
    """

    suite: Literal["onnx"]
    suite_version: str
    irbench_version: str
    pattern: str | None
    seconds: float
    complete: bool
    backends: tuple[Runtime, ...]
    cases: tuple[CaseResult, ...]
    between: tuple[str, ...] = ()
    changes: tuple[OperatorChange, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """What the cases come to: an interrupt first, then wrong answers or changes, then crashes."""
        outcomes = {case.outcome for case in self.cases}
        if not self.complete:
            return ExitCode.INTERRUPTED
        if self.between:
            return ExitCode.DIFFERENT if any(change.is_of_outcome for change in self.changes) else ExitCode.OK
        if "wrong" in outcomes:
            return ExitCode.DIFFERENT
        return ExitCode.FAILED_CELL if "crashed" in outcomes else ExitCode.OK  # what is unsupported is not a failure


@dataclass(frozen=True)
class OperatorScore:
    """How one backend did on one operator.

    Attributes:
        reason: The most frequent reason of the worst outcome; empty where all passed or were skipped.
    """

    operator: str
    backend: str
    counts: Mapping[Outcome, int]
    reason: str

    @property
    def perfect(self) -> bool:
        """Whether every case that was run passed."""
        return not any(self.counts[outcome] for outcome in ("wrong", "unsupported", "crashed"))


def counts(results: Iterable[CaseResult]) -> dict[Outcome, int]:
    """Return how many results have each outcome, every outcome included."""
    frequencies = Counter(result.outcome for result in results)
    return {outcome: frequencies[outcome] for outcome in OUTCOMES}


def operator_scores(results: Sequence[CaseResult]) -> tuple[OperatorScore, ...]:
    """Return a score for each operator and backend, by the operator's name, backends in the order of the results."""
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        groups.setdefault((result.operator, result.backend), []).append(result)
    order = {backend: place for place, backend in enumerate(dict.fromkeys(result.backend for result in results))}
    keys = sorted(groups, key=lambda key: (key[0].lower(), order[key[1]]))
    return tuple(OperatorScore(*key, counts(groups[key]), _reason(groups[key])) for key in keys)


def _reason(results: Sequence[CaseResult]) -> str:
    for outcome in ("crashed", "wrong", "unsupported"):
        reasons = Counter(result.reason for result in results if result.outcome == outcome)
        if reasons:
            return f"{outcome}: {reasons.most_common(1)[0][0]}"
    return ""


def operator_changes(results: Sequence[CaseResult], first: str, second: str) -> tuple[OperatorChange, ...]:
    """Return what changed from one version to another, by operator; changed outcomes come first."""
    before = {result.name: result for result in results if result.backend == first}
    groups: dict[tuple[str, Outcome, Outcome], list[tuple[CaseResult, CaseResult]]] = {}
    for after in (result for result in results if result.backend == second):
        old = before[after.name]
        if (old.outcome, old.outputs_sha256) != (after.outcome, after.outputs_sha256):
            groups.setdefault((after.operator, old.outcome, after.outcome), []).append((old, after))
    changes = []
    for key, pairs in groups.items():
        reasons = Counter(after.reason or before.reason for before, after in pairs)
        names = tuple(after.name for _, after in pairs)
        changes.append(OperatorChange(*key, cases=names, reason=reasons.most_common(1)[0][0]))
    return tuple(sorted(changes, key=lambda change: (not change.is_of_outcome, change.operator.lower())))


def collect(folder: Path, pattern: str) -> tuple[SuiteCase, ...]:
    """Write what is not yet a file into ``folder`` and return the cases whose names match a pattern."""
    from onnx.backend.test.loader import load_model_tests

    cases: list[SuiteCase] = []
    for kind in _KINDS:
        tests = sorted(load_model_tests(kind=kind), key=lambda test: test.name)
        operators = _operators(tests) if kind == "node" else {}
        chosen = (test for test in tests if fnmatchcase(test.name, pattern))
        cases += [_case(test, folder / test.name, operators) for test in chosen]
    return tuple(cases)


def operator_of(graph: onnx.GraphProto) -> str:
    """Return the one operator that a graph is made of, constants aside; ``several`` where it has more."""
    names = {f"{node.domain}.{node.op_type}".lstrip(".") for node in graph.node if node.op_type != "Constant"}
    return names.pop() if len(names) == 1 else "several"


def unfit(graph: onnx.GraphProto) -> str:
    """Return why irbench cannot feed or compare a model, which takes tensors and gives tensors or sequences of them."""
    unfit_values = [("input", tensor) for tensor in graph.input if not tensor.type.HasField("tensor_type")]
    unfit_values += [("output", tensor) for tensor in graph.output if kind_of(tensor) not in _COMPARED]
    for role, value in unfit_values:
        kind = str(value.type.WhichOneof("value")).removesuffix("_type")
        return f"its {role} '{value.name}' is not a tensor: {kind}"
    return ""


def _operators(tests: Sequence[TestCase]) -> Mapping[str, str]:
    """Return the operator of each case; of one that spells out a function's body, the function."""
    names = {test.name: operator_of(test.model.graph) for test in tests if test.model is not None}
    return {name: names.get(name.split(_EXPANDED)[0], own) for name, own in names.items()}


def _case(test: TestCase, folder: Path, operators: Mapping[str, str]) -> SuiteCase:
    import onnx

    model = folder / "model.onnx"
    case = SuiteCase(test.name, test.kind, "", model, folder, test.rtol, test.atol)
    if test.model is not None:
        folder.mkdir(parents=True)
        model.write_bytes(test.model.SerializeToString())
    elif test.model_dir is not None:
        case = replace(case, model=Path(test.model_dir) / "model.onnx", data=Path(test.model_dir))
    else:
        # a file that the suite names as a repository has it, ``onnx/backend/test/data/...``
        case = replace(case, model=Path(onnx.__file__).parent.parent / str(test.url))
        _write_light_data(case)
    graph = onnx.load(case.model).graph
    case = replace(case, operator=operators.get(test.name) or operator_of(graph), skip=unfit(graph))
    if any(tensor is None for _, outputs in test.data_sets or () for tensor in outputs):
        case = replace(case, skip="one of its outputs is an optional that holds nothing")
    if test.data_sets is not None and not case.skip:
        for number, (inputs, outputs) in enumerate(test.data_sets):
            write_set(case.data / f"test_data_set_{number}", inputs, outputs)
    return case


def _write_light_data(case: SuiteCase) -> None:
    """Write the inputs of a network without weights as ONNX's own runner makes them, beside its expected output."""
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.runner import Runner

    graph = onnx.load(case.model).graph
    weights = {initializer.name for initializer in graph.initializer}
    inputs = [Runner.generate_dummy_data(tensor) for tensor in graph.input if tensor.name not in weights]
    expected = case.model.with_name(f"{case.model.stem}_output_0.pb").read_bytes()
    write_set(case.data / "test_data_set_0", inputs, [numpy_helper.to_array(onnx.TensorProto.FromString(expected))])
