"""Unpickling what a process says that nobody trusts."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from isolated_reads import Harmful

from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.spec import TensorSpec
from irbench.worker.plain_values import load_plain
from irbench.worker.wire import Reply, pickled


@pytest.mark.parametrize(
    "value",
    [
        Inventory("a tool 1", 9, {"ai.onnx": 17}, (NodeEntry("a", "Relu", "", ("x",), ("y",)),)),
        (TensorSpec("x", "float32", ("batch", 3)), frozenset({"fp32"}), None, 1.5),
        {OperatorClass.MATRIX: [1, 2]},
        Path("/models/a.onnx"),
    ],
)
def test_values_of_our_own_arrive_as_they_were(value: object) -> None:
    assert load_plain(pickled(Reply(value))).value == value


@pytest.mark.parametrize(
    "harmful",
    [
        Harmful(os.system, "true"),
        Harmful(eval, "1"),
        Harmful(getattr, "a", "upper"),
        Harmful(open, "/etc/passwd"),
        Harmful(Path.unlink, Path("a")),
    ],
)
def test_functions_are_refused(harmful: Harmful) -> None:
    with pytest.raises(pickle.UnpicklingError, match="no plain value"):
        load_plain(pickle.dumps(Reply(harmful), protocol=4))


def global_named(module: str, name: str) -> bytes:
    """Return a pickle of whatever has this name."""
    file = io.BytesIO()
    file.write(b"\x80\x04")
    for text in (module, name):
        file.write(b"\x8c" + bytes([len(text)]) + text.encode())
    file.write(b"\x93.")
    return file.getvalue()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("irbench.worker.wire", "pickle.loads"),  # an attribute of a module that irbench imports
        ("irbench.worker.wire", "Channel"),  # no value class
        ("irbench.system.files", "replace_folder"),
        ("irbench.worker.plain_values", "io"),
        ("irbench", "__loader__"),
        ("irbenchevil", "Value"),
    ],
)
def test_a_name_that_is_no_value_class_is_refused(module: str, name: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match="no plain value"):
        load_plain(global_named(module, name))


@pytest.mark.parametrize("damaged", [b"", b"garbage", b"\x80\x04", pickle.dumps(Reply(1))[:-3], b"\x80\x04\x8c\xff."])
def test_damaged_pickles_are_one_kind_of_error(damaged: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError):
        load_plain(damaged)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "object", "bfloat16", "int4"])
def test_arrays_arrive_as_they_were(dtype: str) -> None:
    array = np.array(["a", "b"], object) if dtype == "object" else np.array([0, 1]).astype(numpy_dtype(dtype))
    (arrived,) = load_plain(pickled([array]))
    assert arrived.dtype == array.dtype
    assert arrived.tolist() == array.tolist()
