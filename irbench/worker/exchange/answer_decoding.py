"""Answers of a process that nobody trusts, as they are read: msgspec makes of them what was asked for, and no more.

The form is that of :mod:`irbench.worker.exchange.answer_encoding`. It names no code: which classes are made follows
from what was asked, fields have the types that their class says, and what is allocated is in proportion to the answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

import msgspec
import numpy as np

from irbench.onnx.reading.element_types import numpy_dtype
from irbench.system.prepared_types import prepared
from irbench.worker.exchange.answer_encoding import ARRAY, BYTES, LENGTH
from irbench.worker.exchange.wire import CallError, OutOfMemory, Reply, Say

if TYPE_CHECKING:
    from irbench.core.record import PacedRun, Round, ServedLoad
    from irbench.worker.cell import Warmed
    from irbench.worker.profile_host import ProfiledRun

_NUMBERS = frozenset(
    (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
        *("bfloat16", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    )
)
"""Names of element types whose bytes are their value."""
_TEXTS = re.compile(r"[<>|][US][1-9]\d{0,8}")
"""Types of texts of one length."""
_MOST_AXES = 64


class NotPlain(Exception):
    """Bytes that are not an answer, or damaged."""


class NotAsked(NotPlain):
    """An answer of another type than was asked for, or one from which nothing follows."""


@dataclass(frozen=True)
class ExpectedReply:
    """What a call returns.

    Attributes:
        kind: Its type; whatever JSON has, and arrays, unless given.
        is_sound: What else holds for it: whoever derives figures from it relies on that.
        progress: The type of its progress.
    """

    kind: Any = Any
    is_sound: Callable[[Any], bool] | None = None
    progress: Any = Any


def decoded(data: bytes, expected: ExpectedReply) -> Reply | CallError | Say | OutOfMemory:
    """Return the message that bytes hold which anybody may have made.

    Raises:
        NotAsked: It answers with something else than was asked for.
        NotPlain: It is not a message, or damaged.
    """
    match _tree(data):
        case ["Reply", value]:
            answer = _of_type(value, expected.kind)
            if expected.is_sound is not None and not expected.is_sound(answer):
                raise NotAsked("no figure follows from it")
            return Reply(answer)
        case ["Say", progress]:
            return Say(_of_type(progress, expected.progress))
        case ["CallError", *parts]:
            return CallError(*_of_type(parts, tuple[str, str, int | None]))
        case ["OutOfMemory"]:
            return OutOfMemory()
        case _:
            raise NotPlain("it is not a message")


def _tree(data: bytes) -> Any:
    """Return what the JSON says, with the arrays whose bytes stand behind it."""
    try:
        (length,) = LENGTH.unpack_from(data)
        start = LENGTH.size + length
        rest = _Bytes(memoryview(data)[start:])
        tree = json.loads(data[LENGTH.size : start], object_hook=rest.array_of)
    except Exception as error:  # JSON, NumPy and Python have many for values that they do not like
        raise NotPlain(f"{type(error).__name__}: {error}") from error
    if rest.left:
        raise NotPlain("more bytes than belong to it")
    return tree


def _of_type(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, prepared(kind), dec_hook=_own, str_keys=True)
    except Exception as error:  # also those of the classes that read texts and numbers
        raise NotAsked(f"{type(error).__name__}: {error}") from error


def _own(kind: Any, value: Any) -> Any:
    """Return a value of a type that msgspec does not know."""
    if get_origin(kind) is np.ndarray or kind is np.ndarray:
        return value  # msgspec looks at its class
    if kind is Path:
        return Path(value)
    if kind is Fraction:  # of a text like 1e999999999 it would make a number of as many digits
        return Fraction(*msgspec.convert(value, tuple[int, int]))
    raise NotImplementedError(kind)


class _Bytes:
    """What stands behind the JSON, taken from its beginning."""

    def __init__(self, data: memoryview) -> None:
        self.left = data

    def array_of(self, pairs: dict[str, Any]) -> Any:
        if ARRAY in pairs:
            name, shape, rest = pairs[ARRAY]
            return self._array(name, _sizes(shape), rest)
        return bytes(self._take(pairs[BYTES])) if BYTES in pairs else pairs

    def _array(self, name: str, shape: tuple[int, ...], rest: Any) -> Any:
        if name == "object":
            return _objects(shape, rest)
        if name not in _NUMBERS and not _TEXTS.fullmatch(name):
            raise NotPlain(f"an array of {name}")
        dtype = numpy_dtype(name)
        if math.prod(shape) * dtype.itemsize != rest:
            raise NotPlain("an array of another size")
        return np.ndarray(shape, dtype, bytearray(self._take(rest)))

    def _take(self, length: int) -> memoryview:
        if type(length) is not int or not 0 <= length <= len(self.left):
            raise NotPlain("something that is cut short")
        taken, self.left = self.left[:length], self.left[length:]
        return taken


def _objects(shape: tuple[int, ...], items: list[Any]) -> Any:
    if type(items) is not list or math.prod(shape) != len(items):
        raise NotPlain("an array of another size")
    flat = np.empty(len(items), object)
    for place, item in enumerate(items):
        flat[place] = item
    return flat.reshape(shape)


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) > _MOST_AXES or any(type(size) is not int or size < 0 for size in shape):
        raise NotPlain("such a shape")
    return tuple(shape)


@cache
def expected_of(method: str) -> ExpectedReply:
    """Return what a method of a host returns; anything where it is not known here."""
    from irbench.core.record import PacedRun, Round, ServedLoad, Sustained
    from irbench.worker.cell import PreparedSession, Response, Warmed
    from irbench.worker.cell_hosts import Share, SoakBlock
    from irbench.worker.cold_start_host import FirstAnswer
    from irbench.worker.profile_host import ProfiledRun

    answers = ExpectedReply(tuple[tuple[Any, ...], ...])
    known = {
        "prepare": ExpectedReply(PreparedSession, lambda prepared: 0 <= prepared.first_inference_s < math.inf),
        "warm_up": ExpectedReply(Warmed, _is_warm_up),
        "take_round": ExpectedReply(Round, _is_round),
        "require_same_device": ExpectedReply(type(None)),
        "take_share": ExpectedReply(Share, lambda share: _are_shared(share.times_ns)),
        "take_paced_share": ExpectedReply(np.ndarray, lambda times_ns: _are_times(times_ns, columns=3)),
        "tail": ExpectedReply(np.ndarray, _are_times),
        "beginnings": ExpectedReply(dict[str, np.ndarray], lambda taken: all(map(_are_times, taken.values()))),
        "alone": ExpectedReply(Sustained, lambda run: run.completions > 0 and run.wall_ns > 0),
        "paced": ExpectedReply(PacedRun, lambda run: _are_pairs(run) and run.pace_ns > 0 and run.concurrency > 0),
        "serve": ExpectedReply(ServedLoad, _is_served),
        "serve_share": ExpectedReply(ServedLoad, _is_share_of_load),
        "answer_again": answers,
        "answer_call": answers,
        "last_responses": ExpectedReply(tuple[Response, ...]),
        "responses": ExpectedReply(tuple[Response, ...]),
        "peak_memory_bytes": ExpectedReply(int | None),
        "private_memory_bytes": ExpectedReply(int | None),
        "answer": ExpectedReply(FirstAnswer),
        "files": ExpectedReply(tuple[str, ...]),
        "block": ExpectedReply(SoakBlock, lambda block: min(block.calls, block.wall_ns, block.median_ns) > 0),
        "profile": ExpectedReply(ProfiledRun, _is_profile),
        "trace": ExpectedReply(bytes),
    }
    return known.get(method, ExpectedReply())


def _are_times(array: Any, columns: int | None = None) -> bool:
    """Whether an array holds times in nanoseconds, at least one: int64 along one axis, or of so many columns."""
    axes = () if columns is None else (columns,)
    return bool(array.dtype == "int64" and array.ndim == 1 + len(axes) and array.shape[1:] == axes and array.size)


def _are_shared(times_ns: Any) -> bool:
    """Whether an array has an issue and a completion in each row, and maybe parts."""
    return bool(times_ns.ndim == _AXES_OF_SHARE and _are_times(times_ns, max(2, times_ns.shape[1])))


_AXES_OF_SHARE = 2


def _are_pairs(run: Round | PacedRun) -> bool:
    return _are_times(run.issue_ns) and _are_times(run.completion_ns) and run.issue_ns.size == run.completion_ns.size


def _is_served(load: ServedLoad) -> bool:
    return _is_share_of_load(load) and load.slot.size == load.offered.requests > 0


def _is_share_of_load(load: ServedLoad) -> bool:
    """Whether as much is told of each request; there may be none for a process."""
    columns = (load.due_ns, load.start_ns, load.end_ns, load.slot)
    one_axis = all(column.dtype == "int64" and column.ndim == 1 for column in columns)
    return one_axis and len({column.size for column in columns}) == 1


def _is_round(round_: Round) -> bool:
    if not _are_pairs(round_):
        return False
    completion_ns, part_ns = round_.completion_ns, round_.part_ns
    if part_ns.size and (not _are_times(part_ns) or part_ns.size % round_.issue_ns.size):
        return False
    return bool((completion_ns[1:] >= completion_ns[:-1]).all() and completion_ns[-1] > 0)


def _is_warm_up(warmed: Warmed) -> bool:
    return all(0 < time_ns < math.inf for time_ns in (warmed.call_ns, warmed.completion_ns)) and (
        warmed.calls_per_sample > 0
    )


def _is_profile(run: ProfiledRun) -> bool:
    inferences = len(run.latency_ns)
    return inferences > 0 and len(run.copies_ns) in (0, inferences)
