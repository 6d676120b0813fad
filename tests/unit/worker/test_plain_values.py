"""Values of a process that nobody trusts."""

from __future__ import annotations

import json
import os
import pickle
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from isolated_reads import Harmful

from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.spec import TensorSpec
from irbench.system.confinement import Confinement
from irbench.worker.plain_values import NotPlain, load_plain, plain_bytes
from irbench.worker.wire import Problem, Reply


@pytest.mark.parametrize(
    "value",
    [
        Inventory("a tool 1", 9, {"ai.onnx": 17}, (NodeEntry("a", "Relu", "", ("x",), ("y",)),)),
        (TensorSpec("x", "float32", ("batch", 3)), frozenset({"fp32"}), None, 1.5),
        {OperatorClass.MATRIX: [1, 2**70, -0.0], ("a", 1): {3}, "d": {}},
        Path("/models/a.onnx"),
        [b"ab", b"", b"c", Fraction(1, 3), 1 + 2j, range(3), True, float("inf"), "\udcff"],
    ],
)
def test_values_of_our_own_arrive_as_they_were(value: object) -> None:
    arrived = load_plain(plain_bytes(Reply(value))).value
    assert arrived == value
    assert type(arrived) is type(value)


@pytest.mark.parametrize(
    "value",
    [Harmful(os.system, "true"), eval, object(), OSError(), Confinement, {"a": [print]}, np.zeros(1, "f4,i8")],
)
def test_what_is_no_plain_value_is_not_sent(value: object) -> None:
    with pytest.raises(TypeError, match="no plain value"):
        plain_bytes(Reply(value))


def forged(tree: Any, rest: bytes = b"") -> bytes:
    """Return an answer that :func:`plain_bytes` makes of nothing."""
    head = json.dumps(tree).encode()
    return struct.pack("!Q", len(head)) + head + rest


@pytest.mark.parametrize(
    "tree",
    [
        ["value", "irbench.worker.wire:pickle.loads", "a"],  # an attribute of a module that irbench imports
        ["value", "irbench.worker.wire:Channel", 1],  # no value class
        ["value", "irbench.runner.cell_worker:CellWorker", 1, 2, {}],  # a constructor that starts a process
        ["value", "irbench.system.files:replace_folder"],
        ["value", "irbench.worker.plain_values:json"],
        ["value", "irbenchevil:Value"],
        ["value", "numpy:ndarray", 1],
        ["value", "builtins:bytearray", 10**11],
        ["member", "irbench.worker.wire:Reply", "value"],
        {"a": 1},
        ["path"],
        ["system", "true"],
        [["list"], 1],
        ["dict", 1],
        ["set", ["list"]],
        ["fraction", 1, 0],
        ["fraction", "1e999999999", 1],
    ],
)
def test_an_answer_that_names_anything_else_is_refused(tree: Any) -> None:
    with pytest.raises(NotPlain):
        load_plain(forged(tree))


@pytest.mark.parametrize(
    "tree",
    [
        ["array", "object", [1], 8],  # an address
        ["array", "O", [1], 8],
        ["array", "float32", [3], 8],
        ["array", "float32", [-2], 8],
        ["array", "float32", [1 << 62, 4], 8],
        ["array", "float32", [True, 2], 8],
        ["array", "float32", "12", 8],
        ["array", "<U0", [10**12], 0],
        ["array", "<M8[s]", [1], 8],
        ["array", "finfo", [1], 8],
        ["array", "uint8", [16], 16],
        ["array", "uint8", [-8], -8],
        ["array", "uint8", [4], 4],  # four bytes are left
        ["list", ["bytes", 8], ["bytes", 8]],  # the same bytes twice
        ["objects", [10**9]],
        ["objects", [1] * 65, 1],
        ["bytes", True],
    ],
)
def test_an_array_is_what_its_bytes_hold(tree: Any) -> None:
    with pytest.raises(NotPlain):
        load_plain(forged(tree, bytes(8)))


@pytest.mark.parametrize(
    "tree",
    [
        ["value", "irbench.worker.wire:Problem", "a", 3, None],
        ["value", "irbench.worker.wire:Problem", "a", "b", "c"],
        ["value", "irbench.worker.wire:Problem", "a", "b"],
        ["value", "irbench.worker.wire:Problem", "a", "b", None, None],
        [
            "value",
            "irbench.onnx.reading.inventory:Inventory",
            "",
            0,
            ["dict", 1, 1],
            ["tuple"],
            ["tuple"],
            ["frozenset"],
        ],
        ["value", "irbench.onnx.reading.inventory:Inventory", "", 0, ["dict"], ["tuple", 1], ["tuple"], ["frozenset"]],
    ],
)
def test_fields_have_the_types_of_their_class(tree: Any) -> None:
    assert load_plain(forged(["value", "irbench.worker.wire:Problem", "a", "b", None])) == Problem("a", "b", None)
    with pytest.raises(NotPlain):
        load_plain(forged(tree))


def test_nothing_is_set_on_a_class() -> None:
    """As a pickle's BUILD does, also with a class that it may name."""
    with pytest.raises(NotPlain):
        load_plain(pickle.dumps(Confinement, protocol=4))
    with pytest.raises(NotPlain):
        load_plain(forged(["value", "irbench.system.confinement:Confinement", ["tuple"], ["tuple"], 1]))
    assert Confinement.for_runtime is False


@pytest.mark.parametrize(
    "damaged", [b"", b"garbage", bytes(8), b"\xff" * 9, plain_bytes(Reply(1))[:-3], forged("a", b"b")]
)
def test_damaged_answers_are_one_kind_of_error(damaged: bytes) -> None:
    with pytest.raises(NotPlain):
        load_plain(damaged)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "object", "bfloat16", "int4", "<U3", ">f8"])
def test_arrays_arrive_as_they_were(dtype: str) -> None:
    is_text = dtype in ("object", "<U3")
    array = np.array(["a", "b"], dtype) if is_text else np.array([0, 1]).astype(numpy_dtype(dtype))
    for sent in (array, array[0], array.reshape(2, 1)[:, :0], np.asarray(array[1])):
        (arrived,) = load_plain(plain_bytes([sent]))
        assert type(arrived) is type(sent)
        assert np.asarray(arrived).dtype == np.asarray(sent).dtype.newbyteorder("=")
        assert np.asarray(arrived).shape == np.asarray(sent).shape
        assert np.asarray(arrived).tolist() == np.asarray(sent).tolist()
    assert load_plain(plain_bytes(array)).flags.writeable
