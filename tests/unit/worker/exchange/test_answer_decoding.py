"""Answers of a process that nobody trusts: figures are derived from them without looking again."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from isolated_reads import Harmful
from numpy.typing import NDArray

from irbench.core.record import Evidence, PacedRun, Round, Sustained
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.spec import Scalar, TensorSpec
from irbench.system.confinement import Confinement
from irbench.worker.cell import PreparedSession, Warmed
from irbench.worker.cell_hosts import Share, SoakBlock
from irbench.worker.exchange.answer_decoding import ExpectedReply, NotAsked, NotPlain, decoded, expected_of
from irbench.worker.exchange.answer_encoding import encoded
from irbench.worker.exchange.wire import CallError, OutOfMemory, Reply, Say
from irbench.worker.profile_host import ProfiledRun


def arrived(value: object, kind: Any = Any) -> Any:
    """Return a value as it arrives where a value of some type is expected."""
    reply = decoded(encoded(Reply(value)), ExpectedReply(kind))
    assert isinstance(reply, Reply)
    return reply.value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Inventory("a tool 1", 9, {"ai.onnx": 17}, (NodeEntry("a", "Relu", "", ("x",), ("y",)),)), Inventory),
        (
            (TensorSpec("x", "float32", ("batch", 3)), frozenset({"fp32"}), None, 1.5),
            tuple[TensorSpec, frozenset[str], int | None, float],
        ),
        ({OperatorClass.MATRIX: [1, 2**70]}, dict[OperatorClass, list[int]]),
        (Path("/models/\udcff.onnx"), Path),
        ((b"ab", (1, 2), b""), tuple[bytes | tuple[int, int], ...]),
        (((Fraction(1, 3), 2**70),), tuple[tuple[Fraction, int], ...]),
        (
            {"a": "4", "b": 4, "c": -0.0, "d": None, "e": True, "f": float("inf")},
            Mapping[str, Scalar],
        ),
        ([b"ab", "\udcff", {"a": [True]}], Any),
    ],
)
def test_values_of_our_own_arrive_as_they_were(value: object, kind: Any) -> None:
    found = arrived(value, kind)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("message", [CallError("a", "b", 3), CallError("a", "b", None), Say("a"), OutOfMemory()])
def test_messages_arrive_as_they_were(message: object) -> None:
    assert decoded(encoded(message), ExpectedReply()) == message


@pytest.mark.parametrize(
    "value",
    [Harmful(os.system, "true"), eval, object(), OSError(), Confinement, {"a": [print]}, np.zeros(1, "O,i8")],
)
def test_what_is_no_plain_value_is_not_taken(value: object) -> None:
    with pytest.raises((TypeError, NotPlain), match=r"not a plain value|array of"):
        arrived(value)


def forged(tree: Any, rest: bytes = b"") -> bytes:
    """Return a message that :func:`encoded` makes of nothing."""
    head = json.dumps(tree).encode()
    return struct.pack("!Q", len(head)) + head + rest


@pytest.mark.parametrize(
    "tree",
    [
        None,
        [],
        {"Reply": 1},
        ["Reply"],
        ["Reply", 1, 2],
        ["Request", "os:system", ["true"]],
        ["CallError", "a", 3, None],
        ["CallError", "a", "b", "c"],
        ["CallError", "a", "b"],
        ["CallError", "a", "b", None, None],
        ["OutOfMemory", 1],
    ],
)
def test_what_is_no_message_is_refused(tree: Any) -> None:
    with pytest.raises(NotPlain):
        decoded(forged(tree), ExpectedReply())


@pytest.mark.parametrize(
    "array",
    [
        ["O", [1], 8],  # an address
        ["float32", [3], 8],
        ["float32", [-2], 8],
        ["float32", [1 << 62, 4], 8],
        ["float32", [True, 2], 8],
        ["float32", "12", 8],
        ["float32", [2]],
        ["<U0", [10**12], 0],
        ["<M8[s]", [1], 8],
        ["finfo", [1], 8],
        [["float32"], [2], 8],
        ["uint8", [16], 16],
        ["uint8", [-8], -8],
        ["uint8", [4], 4],  # four bytes are left
        ["object", [10**9], []],
        ["object", [1] * 65, [1]],
        ["object", [1], "a"],
        None,
    ],
)
def test_an_array_is_what_its_bytes_hold(array: Any) -> None:
    with pytest.raises(NotPlain):
        decoded(forged(["Reply", {"__array__": array}], bytes(8)), ExpectedReply())


@pytest.mark.parametrize("pieces", [[8, 8], [True, 7], [-8], [9], ["8"], [4]])
def test_bytes_are_used_once_and_all_of_them(pieces: list[Any]) -> None:
    with pytest.raises(NotPlain):
        decoded(forged(["Reply", [{"__bytes__": piece} for piece in pieces]], bytes(8)), ExpectedReply())


INVENTORY = {"producer": "", "ir_version": 0, "opsets": {}, "nodes": [], "weights": [], "others": []}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("producer", 1),
        ("ir_version", "1"),
        ("ir_version", True),
        ("opsets", {"a": "1"}),
        ("opsets", []),
        ("nodes", [1]),
        ("nodes", [["a", "Relu", "", [], []]]),
        ("others", [[]]),
        ("others", {}),
    ],
)
def test_fields_have_the_types_of_their_class(field: str, value: Any) -> None:
    decoded(forged(["Reply", INVENTORY]), ExpectedReply(Inventory))
    with pytest.raises(NotAsked):
        decoded(forged(["Reply", {**INVENTORY, field: value}]), ExpectedReply(Inventory))


def test_no_field_of_a_class_is_left_out_and_no_other_is_set() -> None:
    with pytest.raises(NotAsked):
        decoded(forged(["Reply", {"cell": "a", "completions": 1}]), ExpectedReply(Sustained))
    found = decoded(forged(["Reply", {**INVENTORY, "__class__": "a", "mro": 1}]), ExpectedReply(Inventory))
    assert isinstance(found, Reply)
    assert type(found.value) is Inventory
    assert vars(found.value).keys() == {field.name for field in fields(Inventory)}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([1, 0], Fraction),
        (["1e999999999", 1], Fraction),
        (["1"], Path),
        ([1.5, "a"], tuple[float, float]),
        ([1], NDArray[np.int64]),
        (1, NDArray[np.int64]),
        ("nothing", OperatorClass),
        ({"nothing": 1}, dict[OperatorClass, int]),
    ],
)
def test_another_type_than_was_asked_for_is_refused(value: Any, kind: Any) -> None:
    with pytest.raises(NotAsked):
        decoded(forged(["Reply", value]), ExpectedReply(kind))
    with pytest.raises(NotAsked):
        decoded(forged(["Say", value]), ExpectedReply(progress=kind))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"garbage",
        bytes(8),
        b"\xff" * 9,
        encoded(Reply(1))[:-3],
        forged(["Reply", 1], b"b"),
        forged(["Reply", 1])[:8] + b"[" * 13,
        struct.pack("!Q", 200_000) + b"[" * 100_000 + b"]" * 100_000,
        pickle.dumps(Confinement, protocol=4),
    ],
)
def test_damaged_answers_are_one_kind_of_error(damaged: bytes) -> None:
    with pytest.raises(NotPlain):
        decoded(damaged, ExpectedReply())


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "object", "bfloat16", "int4", "<U3", ">f8"])
def test_arrays_arrive_as_they_were(dtype: str) -> None:
    is_text = dtype in ("object", "<U3")
    array = np.array(["a", "b"], dtype) if is_text else np.array([0, 1]).astype(numpy_dtype(dtype))
    for sent in (array, array.reshape(2, 1)[:, :0], np.asarray(array[1]), array.reshape(2, 1)):
        (found,) = arrived([sent])
        assert found.dtype == sent.dtype.newbyteorder("=")
        assert found.shape == sent.shape
        assert found.tolist() == sent.tolist()
    assert arrived(array).flags.writeable
    assert isinstance(arrived(array, np.ndarray), np.ndarray)


def test_numbers_of_numpy_arrive_as_plain_ones() -> None:
    assert arrived({"a": np.int64(3), "b": np.float32(0.5), "c": np.True_}) == {"a": 3, "b": 0.5, "c": True}


EVIDENCE = Evidence(9, 9, None, 0, 0, 0, 0)
TIMES = np.array([1, 2, 3], np.int64)
NO_TIMES = np.empty(0, np.int64)
ROUND = Round(0, TIMES - 1, TIMES, EVIDENCE)
WARMED = Warmed(5.0, 5.0, 1, {}, {})
PACED = PacedRun(10, 1, TIMES - 1, TIMES)
SHARE = Share(np.ones((3, 2), np.int64), EVIDENCE)
BLOCK = SoakBlock(3, 9, 3, None)
SOUND: dict[str, Any] = {
    "prepare": PreparedSession({}, (), 0.5),
    "take_round": ROUND,
    "tail": TIMES,
    "warm_up": WARMED,
    "paced": PACED,
    "take_share": SHARE,
    "take_paced_share": np.ones((3, 3), np.int64),
    "alone": Sustained("a", 1, 1),
    "block": BLOCK,
    "profile": ProfiledRun({}, (1, 2), ()),
}


@pytest.mark.parametrize("method", SOUND)
def test_what_a_host_returns_is_taken(method: str) -> None:
    assert isinstance(decoded(encoded(Reply(SOUND[method])), expected_of(method)), Reply)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("take_round", replace(ROUND, completion_ns=TIMES[:-1])),
        ("take_round", replace(ROUND, issue_ns=NO_TIMES, completion_ns=NO_TIMES)),
        ("take_round", replace(ROUND, completion_ns=TIMES.astype(np.float64))),
        ("take_round", replace(ROUND, completion_ns=TIMES[::-1])),
        ("take_round", replace(ROUND, completion_ns=TIMES - 3)),
        ("take_round", replace(ROUND, issue_ns=TIMES[:, None], completion_ns=TIMES[:, None])),
        ("tail", np.zeros((3, 3, 3), "U4")),
        ("tail", NO_TIMES),
        ("tail", np.array(1, np.int64)),
        ("prepare", PreparedSession({}, (), float("inf"))),
        ("prepare", PreparedSession({}, (), -1.0)),
        ("warm_up", replace(WARMED, call_ns=float("nan"))),
        ("warm_up", replace(WARMED, completion_ns=0.0)),
        ("warm_up", replace(WARMED, calls_per_sample=0)),
        ("paced", replace(PACED, pace_ns=0)),
        ("paced", replace(PACED, issue_ns=TIMES[:-1])),
        ("take_share", replace(SHARE, times_ns=TIMES)),
        ("take_paced_share", np.ones((3, 2), np.int64)),
        ("alone", Sustained("a", 0, 1)),
        ("block", replace(BLOCK, calls=0)),
        ("profile", ProfiledRun({}, (), ())),
        ("profile", ProfiledRun({}, (1, 2), (), ((1, 1),))),
    ],
)
def test_times_from_which_no_figure_follows_are_refused(method: str, answer: Any) -> None:
    with pytest.raises(NotAsked):
        decoded(encoded(Reply(answer)), expected_of(method))
