"""What a graph is fed: ordinary numbers, and those at which rewritten graphs tend to differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from .building import NOMINAL

_MASKED = -1e9
_OTHER_SIZES = {"batch": 1, "tokens": 5, "keys": 2, "steps": 1, "5": 3, "keys + tokens": 7}
_SMALL_SIZES = {"batch": 3, "tokens": 1, "keys": 1, "steps": 2, "5": 1, "keys + tokens": 2}
_KINDS = ("seeded", "zeros", "large", "constant rows", "ones", "half", "none", "other sizes", "small sizes")


@dataclass(frozen=True)
class Feed:
    """Inputs of a graph.

    Attributes:
        kind: What is special about them.
        arrays: By the name of the input.
    """

    kind: str
    arrays: Mapping[str, Any]


def feeds(model: onnx.ModelProto, seed: int = 0) -> Iterator[Feed]:
    """Yield inputs of every kind; branches are taken both ways, and Loops run 0, 1 and 2 times, from feed to feed."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    for number, kind in enumerate(_KINDS):
        sizes = {"other sizes": _OTHER_SIZES, "small sizes": _SMALL_SIZES}.get(kind, NOMINAL)
        random = np.random.default_rng([seed, number])
        yield Feed(kind, {value.name: _array(value, kind, number, sizes, random) for value in inputs})


def _array(value: onnx.ValueInfoProto, kind: str, number: int, sizes: Mapping[str, int], random: Any) -> Any:
    tensor, name = value.type.tensor_type, value.name
    shape = [dim.dim_value or sizes.get(dim.dim_param, 2) for dim in tensor.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if name.startswith("flag"):
        return np.array(bool(number % 2) != name.endswith("dressed"))
    if name.startswith("trips"):
        return np.array([2, 0, 1][number % 3], dtype)
    if dtype.kind == "b" or name.startswith("mask"):
        kept = _kept(shape, kind, random)
        low = -np.inf if kind == "half" and number % 2 else _MASKED
        return kept if dtype.kind == "b" else np.where(kept, 0, low).astype(dtype)
    if dtype.kind in "iu":
        return _integers(name, shape, kind, random).astype(dtype)
    return _numbers(shape, kind, random).astype(dtype)


def _kept(shape: list[int], kind: str, random: Any) -> Any:
    """Return where a mask is open."""
    if kind in ("zeros", "none"):
        return np.zeros(shape, bool)
    if kind in ("ones", "large"):
        return np.ones(shape, bool)
    if kind == "half":
        count = shape[-1] if shape else 1
        return np.broadcast_to(np.arange(count) < (count + 1) // 2, shape) if shape else np.array(True)
    return random.random(shape) < 0.6


def _integers(name: str, shape: list[int], kind: str, random: Any) -> Any:
    bound = re.match(r"ids_below_(\d+)_", name)
    low, high = (-int(bound[1]), int(bound[1])) if bound else (-3, 4)
    return np.zeros(shape) if kind == "zeros" else random.integers(low, high, shape)


def _numbers(shape: list[int], kind: str, random: Any) -> Any:
    drawn = random.normal(0, 1, shape)
    if kind == "zeros":
        return np.zeros(shape)
    if kind == "large":
        return 1000 + drawn
    if kind == "constant rows":
        return np.broadcast_to(drawn[..., :1], shape) if shape else drawn
    return np.ones(shape) if kind == "ones" else drawn
