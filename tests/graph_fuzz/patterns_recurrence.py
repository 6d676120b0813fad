"""Gated recurrent units as Loops, the way tf2onnx writes those of Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from .building import BOOL, FLOAT, INT64, Builder, Value
from .patterns import pattern
from .sources import source, swapped

_WIDTH, _UNITS = 3, 2


@pattern("loop_to_gru", opset=13)
def gated_unit_in_a_loop(b: Builder) -> list[Value]:
    """h = z * h + (1 - z) * tanh(...), over the first axis of a sequence."""
    c = b.choices
    length, batch = c.any_of("steps", 4), c.any_of("batch", 2)
    sequence = source(b, [length, batch, _WIDTH])
    if c.likely(0.2):
        sequence = _reversed(b, sequence)
    count = b.op("Shape", sequence)
    trips = b.op("Gather", count, b.constant(np.array(0, np.int64)))
    trips = c.exact(
        "trips", lambda: trips, lambda: b.op("Sub", trips, b.number(1, trips)), lambda: b.constant(np.array(3))
    )()
    start, states = c.exact(
        "start", lambda: _start(b, sequence, batch), lambda: (b.constant(np.ones((1, _UNITS), np.float32)), 1)
    )()
    condition = b.constant(np.array(c.exact("condition", True, False)))
    body = _body(b, sequence, batch if states == batch else None, trips)
    node = helper.make_node("Loop", [trips.name, condition.name, start.name], [b.name("last"), b.name("all")], "gru")
    node.attribute.append(helper.make_attribute("body", body))
    steps, states, _ = sequence.shape
    last, every = b.stated(node, [(FLOAT, (states, _UNITS)), (FLOAT, (steps, states, _UNITS))])
    return list(c.any_of([last], [every], [last, every], [_last_of(b, every)]))


def _start(b: Builder, sequence: Value, batch: int | str) -> tuple[Value, int | str]:
    """Return the first state, and how many there are: as many as sequences, or to be broadcast to them."""
    c = b.choices
    if c.likely(0.5):
        states = c.any_of("batch", 2)
        return b.input([states, _UNITS]), states
    shape = b.op("Shape", sequence)
    count = b.op("Gather", shape, b.constant(np.array([1], np.int64)))
    target = b.op("Concat", count, b.constant(np.array([_UNITS], np.int64)), axis=0)
    return b.op("Expand", b.constant(np.zeros((1, 1), np.float32)), target), batch


def _reversed(b: Builder, value: Value) -> Value:
    limits = [b.constant(np.array([number], np.int64)) for number in (-1, -(2**31), 0, -1)]
    return b.op("Slice", value, *limits)


def _last_of(b: Builder, every: Value) -> Value:
    limits = [b.constant(np.array([number], np.int64)) for number in (-1, 2**31 - 1, 0)]
    return b.op("Squeeze", b.op("Slice", every, *limits), b.constant(np.array([0], np.int64)))


def _body(b: Builder, sequence: Value, states: int | str | None, trips: Value) -> Any:
    """Return the body; it states how many states there are where all turns have as many."""
    c = b.choices
    inner = b.body()
    turn, go, state = inner.input([], INT64), inner.input([], BOOL), inner.input([states or 2, _UNITS])
    if states is None:
        inner.inputs[-1].type.tensor_type.shape.dim[0].Clear()
    step = inner.op("Gather", sequence, turn, axis=c.exact("axis of steps", 0, 0) or 0)
    update, reset = (
        inner.op(c.exact(f"activation of {gate}", "Sigmoid", "HardSigmoid"), _gate(inner, step, state)) for gate in "zr"
    )
    candidate = inner.op(c.exact("activation", "Tanh", "Relu"), _candidate(inner, step, state, reset))
    one = inner.number(c.exact("one", 1.0, 0.9), update)
    kept = swapped(inner, "Mul", *c.exact("what is kept", [update, state], [reset, state], [update, candidate]))
    new = swapped(inner, "Mul", inner.op("Sub", one, c.exact("complement", update, reset)), candidate)
    following = swapped(inner, "Add", kept, new)
    onwards = _condition(inner, turn, go, trips)
    emitted = c.exact("what is emitted", following, candidate)
    outputs = [onwards, following, inner.op("Identity", emitted)]
    return inner.graph(outputs)


def _condition(inner: Builder, turn: Value, go: Value, trips: Value) -> Value:
    c = inner.choices
    form = c.exact("condition goes on", c.any_of("same", "compared"), "early")
    if form == "same":
        return inner.op("Identity", go)
    after = inner.op("Add", turn, inner.number(1, turn))
    limit = inner.number(2, turn) if form == "early" else trips
    return inner.op("Less", after, limit)


def _gate(inner: Builder, step: Value, state: Value) -> Value:
    left = inner.op("MatMul", step, inner.weights(_WIDTH, _UNITS))
    right = inner.op("MatMul", state, inner.weights(_UNITS, _UNITS))
    if inner.choices.likely(0.5):
        left = swapped(inner, "Add", left, inner.weights(_UNITS))
    return swapped(inner, "Add", left, right)


def _candidate(inner: Builder, step: Value, state: Value, reset: Value) -> Value:
    left = inner.op("MatMul", step, inner.weights(_WIDTH, _UNITS))
    matrix = inner.weights(_UNITS, _UNITS)
    if inner.choices.likely(0.5):
        right = inner.op("MatMul", swapped(inner, "Mul", reset, state), matrix)
    else:
        right = swapped(inner, "Mul", reset, inner.op("MatMul", state, matrix))
    return swapped(inner, "Add", left, right)
