"""Questions of the coordinator about ONNX files of unknown origin, each answered by a process that can harm nobody.

Code that runs in a worker asks :mod:`irbench.onnx.reading` itself.
"""

from __future__ import annotations

import atexit
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from irbench.errors import ExitCode, IrbenchError
from irbench.onnx.reading.external_data import size_of_file
from irbench.onnx.reading.protobuf import DAMAGED, require_model_file
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Artifact, TensorSpec
from irbench.system import host
from irbench.system.confinement import Confinement
from irbench.worker.exchange.answer_decoding import ExpectedReply, NotAsked, NotPlain, decoded
from irbench.worker.exchange.wire import CallError, OutOfMemory, Reply
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut, how_it_ended
from irbench.worker.isolated_call import Ended, IsolatedCall
from irbench.worker.process import Worker
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from irbench.cost_model.costs import ModelCost
    from irbench.cost_model.formulas import ModelFormulas, NoFormulas
    from irbench.onnx.reading.class_scores import ClassScores
    from irbench.onnx.reading.graph_precision import GraphPrecision
    from irbench.onnx.reading.inventory import Inventory
    from irbench.onnx.reading.random_draws import RandomDraws
    from irbench.onnx.reading.signature import Signature
    from irbench.onnx.reading.value_shapes import ValueShape
    from irbench.onnx.reading.written_batch import WrittenBatch
    from irbench.onnx.rewriting.bind import BoundCopy

_TARGET = "irbench.worker.isolated_call:isolated_call"
_DEADLINE_S = 60.0
_LEAST_BYTES = 1 << 30
"""Python and onnx themselves need room, however little is free."""
_BASE_BYTES, _BYTES_PER_BYTE = 1 << 29, 64
"""A harmless graph of small nodes is some thirty times larger as Python objects; its weights are never objects."""
_HARMFUL = "The file may be damaged, or made to do harm: export or download it again."
_SLOW = (
    "Try again while no other program is busy: a graph of very many nodes takes long."
    " A small file that takes this long is damaged: export or download it again."
)
_ONE_THREAD: Mapping[str, str] = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""The worker forks, which processes with threads should not."""


class UnreadableFile(IrbenchError):
    """A file that could not be read though nothing in it was found wrong."""

    def __init__(self, message: str, cause: Literal["crash", "deadline", "memory", "answer"], hint: str = "") -> None:
        super().__init__(message, hint=hint or _HARMFUL)
        self.cause = cause


@dataclass(frozen=True)
class _FileVersion:
    device: int
    inode: int
    size_bytes: int
    modified_ns: int


_BOUNDS = "irbench.onnx.reading.inventory:require_bounds"
_INVENTORY = "irbench.onnx.reading.inventory:take_inventory"
"""Looks at the bounds itself: a second walk over a large graph would take as long again."""
_BOUNDED: set[_FileVersion] = set()
"""Files that hold no more than others can work on; each is looked at once."""


def read_file(
    target: str,
    path: Path,
    *args: Any,
    returns: Any = Any,
    imports: tuple[str, ...] = (),
    deadline_s: float = _DEADLINE_S,
) -> Any:
    """Return what a function says of an ONNX file, called in a process that can harm nobody.

    Args:
        target: ``module:function``; it returns dataclasses of irbench and plain values.
        path: The file, its first argument.
        args: The others; of the user's files the process can read the paths among them, and no other.
        returns: The type of what it returns; another answer is refused.
        imports: Modules that the call needs; they are imported once for all calls.
        deadline_s: For how long it may read.
    """
    path = path.absolute()
    require_model_file(path)
    version = _version(path)
    if version not in _BOUNDED and target != _INVENTORY:
        _read(_BOUNDS, (path,), version, ExpectedReply())
        _BOUNDED.add(version)
    answer = _read(target, (path, *args), version, ExpectedReply(returns), imports, deadline_s)
    _BOUNDED.add(version)
    return answer


def _read(
    target: str,
    args: tuple[Any, ...],
    version: _FileVersion,
    expected: ExpectedReply,
    imports: tuple[str, ...] = (),
    deadline_s: float = _DEADLINE_S,
) -> Any:
    path: Path = args[0]
    readable = tuple(argument for argument in args if isinstance(argument, Path))
    memory_bytes = most_memory_bytes(version.size_bytes)
    try:
        call = IsolatedCall(target, args, memory_bytes, Confinement(readable), imports)
        answer = _answer(READER.call(call, deadline_s), expected, path, memory_bytes)
    except (IrbenchError, NotPlain) as error:
        _refuse_changed(path, version)  # which explains whatever else is wrong
        explained = _explained(error, path, deadline_s)
        if explained is error:
            raise
        raise explained from error
    _refuse_changed(path, version)
    return answer


def _explained(error: IrbenchError | NotPlain, path: Path, deadline_s: float) -> IrbenchError:
    """Return the error of a user's that a failure to read a file is."""
    if isinstance(error, WorkerTimedOut):
        return UnreadableFile(f"{path} could not be read within {deadline_s:.0f} s.", "deadline", _SLOW)
    if isinstance(error, WorkerDied):
        died = error.during(f"{path} could not be read.", _HARMFUL)
        return UnreadableFile(died.message, "crash", died.hint)
    if isinstance(error, NotAsked):
        return other_answer(path)
    if isinstance(error, NotPlain):
        return UnreadableFile(f"{path} could not be read: {error}", "answer")
    return error


def other_answer(path: Path) -> UnreadableFile:
    """Return the error for an answer of another type than was asked for."""
    return UnreadableFile(f"{path} could not be read: the answer is of another type.", "answer")


def most_memory_bytes(file_bytes: int) -> int:
    """Return what reading a file of this size may allocate: in proportion to it, and never more than there is."""
    return min(_BASE_BYTES + _BYTES_PER_BYTE * file_bytes, max(host.available_memory_bytes(), _LEAST_BYTES))


class _FileReader:
    """A worker that forks, started when it is first needed, and again where it has ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open = ExitStack()
        self._worker: Worker | None = None
        self._owner = getpid()
        self._closes_at_exit = False

    @property
    def process_id(self) -> int | None:
        return None if self._worker is None else self._worker.process_id

    def call(self, call: IsolatedCall, deadline_s: float) -> Ended:
        """Return how a call ended; raises as :meth:`irbench.worker.Worker.ask` does."""
        with self._lock:
            try:
                return self._ask(call, deadline_s)
            except WorkerTimedOut:
                raise
            except WorkerDied:  # it lives no longer than the thread that started it, for example
                return self._ask(call, deadline_s)

    def close(self) -> None:
        self._worker = None
        if self._owner == getpid():
            self._open.close()

    def _ask(self, call: IsolatedCall, deadline_s: float) -> Ended:
        try:
            ended: Ended = self._started().ask(_TARGET, call, deadline_s=deadline_s)
        except CallFailed:
            raise
        except BaseException:  # an interrupt as well, whose answer would be taken for that of the next call
            self.close()
            raise
        return ended

    def _started(self) -> Worker:
        if self._owner != getpid():  # a fork of the process that it belongs to
            self._open, self._worker, self._owner = ExitStack(), None, getpid()
        if self._worker is None:
            folder = self._open.enter_context(scratch_folder())
            reader = Worker(folder / "log", environment=_ONE_THREAD, shows_all_variables=False)
            self._worker = self._open.enter_context(reader)
            if not self._closes_at_exit:
                atexit.register(self.close)  # behind the watchdog's, so that it runs before
                self._closes_at_exit = True
        return self._worker


READER = _FileReader()


def _answer(ended: Ended, expected: ExpectedReply, path: Path, memory_bytes: int) -> Any:
    if ended.is_too_long:
        raise UnreadableFile(f"{path} has more nodes, weights or names than irbench reads.", "answer")
    if not ended.answer:
        raise _death(path, ended.exit_code, memory_bytes)
    answer = decoded(ended.answer, expected)
    if isinstance(answer, Reply):
        return answer.value
    if isinstance(answer, CallError):
        raise _refusal(path, answer)
    raise _out_of_memory(path, memory_bytes) if isinstance(answer, OutOfMemory) else NotPlain("no answer")


def _refusal(path: Path, problem: CallError) -> IrbenchError:
    """Return what the function raised; only an error of irbench's is made for users to read."""
    if problem.exit_code is None:
        return IrbenchError(f"{path} cannot be read: {problem.message}", hint=DAMAGED)
    known = problem.exit_code in set(ExitCode)
    return IrbenchError(
        problem.message, hint=problem.hint, exit_code=ExitCode(problem.exit_code) if known else ExitCode.USAGE
    )


def _death(path: Path, code: int, memory_bytes: int) -> IrbenchError:
    if code == -signal.SIGKILL:  # the kernel's, where the machine has none left
        return _out_of_memory(path, memory_bytes)
    return UnreadableFile(f"{path} could not be read: the process that read it {how_it_ended(code)}.", "crash")


def _out_of_memory(path: Path, memory_bytes: int) -> IrbenchError:
    return UnreadableFile(
        f"{path} needs more than the {memory_bytes / 1e9:.1f} GB of memory that reading it may take.",
        "memory",
        "A small file that needs this much is damaged; for a large one use a machine with more memory.",
    )


def _version(path: Path) -> _FileVersion:
    try:
        status = path.stat()
    except OSError as error:
        raise _changed(path) from error
    return _FileVersion(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _refuse_changed(path: Path, version: _FileVersion) -> None:
    if _version(path) != version:
        raise _changed(path)


def _changed(path: Path) -> IrbenchError:
    return IrbenchError(f"{path} changed while it was read.", hint="Wait until it is written or copied in full.")


_CHECK_DEADLINE_S = 300.0
_COUNT_DEADLINE_S = 300.0
"""Formulas of a graph that is as large as irbench reads any are counted at many sizes."""
_SHAPES = ("onnx", "onnx.shape_inference", "irbench.onnx.contributed")


def examine_file(path: Path) -> tuple[Signature, int, RandomDraws, tuple[int | None, ...] | None]:
    """Return what :func:`irbench.onnx.reading.check.examine` does; raises as it and :func:`read_file` do."""
    from irbench.onnx.reading.random_draws import RandomDraws
    from irbench.onnx.reading.signature import Signature

    target, imports = "irbench.onnx.reading.check:examine", (*_SHAPES, "onnx.checker")
    returns = tuple[Signature, int, RandomDraws, tuple[int | None, ...] | None]
    examined: tuple[Signature, int, RandomDraws, tuple[int | None, ...] | None] = read_file(
        target, path, returns=returns, imports=imports, deadline_s=_CHECK_DEADLINE_S
    )
    return examined


def read_class_scores(path: Path) -> tuple[ClassScores, ...]:
    """Return what :func:`irbench.onnx.reading.class_scores.class_scores` does; raises as :func:`read_file` does."""
    from irbench.onnx.reading.class_scores import ClassScores

    target, returns = "irbench.onnx.reading.class_scores:class_scores_of_file", tuple[ClassScores, ...]
    scores: tuple[ClassScores, ...] = read_file(target, path, returns=returns, imports=_SHAPES)
    return scores


def read_signature(path: Path, every_output: bool = True) -> Signature:
    """Return inputs, outputs and operator set of a file."""
    from irbench.onnx.reading.signature import Signature

    target = "irbench.onnx.reading.signature:read"
    signature: Signature = read_file(target, path, every_output, returns=Signature, imports=_SHAPES)
    return signature


def read_inventory(path: Path) -> Inventory:
    """Return nodes and weights of a file; raises as :func:`read_file` does."""
    from irbench.onnx.reading.inventory import Inventory

    inventory: Inventory = read_file("irbench.onnx.reading.inventory:take_inventory", path, returns=Inventory)
    return inventory


def read_graph_precision(path: Path) -> GraphPrecision:
    """Return the precisions that a file holds; raises as :func:`read_file` does."""
    from irbench.onnx.reading.graph_precision import GraphPrecision

    target = "irbench.onnx.reading.graph_precision:read_precision"
    precision: GraphPrecision = read_file(target, path, returns=GraphPrecision)
    return precision


def read_positions(path: Path, tokens: str) -> int | None:
    """Return how many positions a table of a file has; see :mod:`irbench.onnx.reading.position_tables`."""
    target = "irbench.onnx.reading.position_tables:positions"
    rows: int | None = read_file(target, path, tokens, returns=int | None)
    return rows


def read_external_files(path: Path) -> tuple[str, ...]:
    """Return where a file keeps weights, relative to its folder, sorted: regular files below it, without links."""
    target = "irbench.onnx.reading.external_data:files_of_model"
    locations: tuple[str, ...] = read_file(target, path, returns=tuple[str, ...])
    for location in locations:
        size_of_file(path.parent, location)
    return locations


def require_sound_weights(path: Path) -> None:
    """Refuse a file whose weights in other files lie where they must not, or are too short."""
    read_file("irbench.onnx.reading.external_data:require_sound", path)


def problem_of_weights(path: Path) -> IrbenchError | None:
    """Return what :func:`require_sound_weights` would raise; ``None`` where it raises nothing."""
    try:
        require_sound_weights(path)
    except IrbenchError as error:
        return error
    return None


def bound_shapes(artifact: Artifact, sizes: Mapping[str, int], scratch: Path) -> Artifact:
    """Return what :func:`irbench.onnx.rewriting.bind.bind` does; raises as it and :func:`read_file` do."""
    return bind(artifact, sizes, scratch, _plan)


def read_cost(path: Path, inputs: Sequence[TensorSpec]) -> ModelCost:
    """Return the cost of a graph for inputs of these shapes; raises as :func:`read_file` does."""
    from irbench.cost_model.costs import ModelCost

    target = "irbench.cost_model.counting:cost_of_file"
    cost: ModelCost = read_file(
        target, path, tuple(inputs), returns=ModelCost, imports=_SHAPES, deadline_s=_COUNT_DEADLINE_S
    )
    return cost


def read_formulas(path: Path, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return the cost as formulas in the dimensions that have no size; raises as :func:`read_file` does."""
    from irbench.cost_model.formulas import ModelFormulas, NoFormulas

    target, returns = "irbench.cost_model.formulas:formulas_of_file", tuple[ModelFormulas | None, NoFormulas | None]
    answer: tuple[ModelFormulas | None, NoFormulas | None] = read_file(
        target, path, tuple(inputs), returns=returns, imports=_SHAPES, deadline_s=_COUNT_DEADLINE_S
    )
    formulas = answer[0] or answer[1]
    if formulas is None:
        raise other_answer(path)
    return formulas


def read_value_shapes(path: Path, inputs: Sequence[TensorSpec]) -> tuple[ValueShape, ...]:
    """Return the shapes of all values for inputs of these shapes; raises as :func:`read_file` does."""
    from irbench.onnx.reading.value_shapes import ValueShape

    target, returns = "irbench.onnx.reading.value_shapes:shapes_of_file", tuple[ValueShape, ...]
    shapes: tuple[ValueShape, ...] = read_file(target, path, tuple(inputs), returns=returns, imports=_SHAPES)
    return shapes


def read_written_batches(
    path: Path, inputs: Sequence[TensorSpec], asked: Sequence[Mapping[str, int]]
) -> tuple[WrittenBatch | None, ...]:
    """Return what :func:`irbench.onnx.reading.written_batch.written_batches` does; raises as :func:`read_file` does."""
    from irbench.onnx.reading.written_batch import WrittenBatch

    target, returns = "irbench.onnx.reading.written_batch:written_batches", tuple[WrittenBatch | None, ...]
    sizes = tuple(map(dict, asked))
    found: tuple[WrittenBatch | None, ...] = read_file(
        target, path, tuple(inputs), sizes, returns=returns, imports=_SHAPES
    )
    return found


def _plan(path: Path, bound: Artifact) -> BoundCopy:
    from irbench.onnx.rewriting.bind import BoundCopy

    target = "irbench.onnx.rewriting.bind:plan_copy"
    copy: BoundCopy = read_file(target, path, bound, returns=BoundCopy)
    return copy
