"""Writing a model in an earlier version of the file format, where it uses nothing that is newer.

Newer exporters name the newest version whether a model needs it or not, and runtimes refuse those that they do not
know. What versions added since 8 are element types, and fields that say nothing of what is computed.
"""

from __future__ import annotations

from pathlib import Path

from irbench.onnx.reading import external_data
from irbench.onnx.reading.inventory import take_inventory
from irbench.onnx.reading.protobuf import Model, fields, mapped
from irbench.onnx.rewriting.bind import link_or_copy

_ADDED_IN = {
    "float8e4m3fn": 9, "float8e4m3fnuz": 9, "float8e5m2": 9, "float8e5m2fnuz": 9, "uint4": 10, "int4": 10,
    "float4e2m1": 11, "float8e8m0": 12, "uint2": 13, "int2": 13, "float6e2m3": 14, "float6e3m2": 14,
}  # fmt: skip
"""The version that added an element type: the comments of Version in onnx.proto3."""
_LEAST_VERSION = 8
_LEAST_VERSION_WITH_FUNCTIONS = 10
"""Functions may be overloaded since version 10."""


def least_ir_version(path: Path) -> int:
    """Return the least version, of 8 and later ones, that has everything a model uses."""
    with mapped(path) as data:
        has_functions = any(field.number == Model.FUNCTIONS for field in fields(data))
    inventory = take_inventory(path)
    types = {weight.dtype for weight in inventory.weights} | inventory.others
    least = _LEAST_VERSION_WITH_FUNCTIONS if has_functions else _LEAST_VERSION
    return max([least, *(_ADDED_IN.get(dtype, least) for dtype in types)])


def lower_ir_version(path: Path, version: int, folder: Path) -> Path:
    """Write a model with another version of the format into a folder, its weights beside it, and return its path."""
    external_data.require_sound(path)
    target = folder / path.name
    with mapped(path) as data, target.open("wb") as file:
        for location in external_data.files_of(data):
            link_or_copy(path.parent, folder, location)
        file.write(bytes((Model.IR_VERSION << 3, version)))  # a version below 128 takes one byte
        for field in fields(data):
            if field.number != Model.IR_VERSION:
                file.write(data[field.tag : field.end])
    return target
