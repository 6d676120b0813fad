"""What is made of TensorFlow's traces and of XLA's modules."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irbench.spi import InferenceProfile, TensorShape
from irbench_tf.profiling import Instruction, inferences_of, read_instructions

US = 1_000_000
"""Picoseconds."""

Event = tuple[str, str, int, int] | tuple[str, str, int, int, str]


def trace(*lines: list[Event]) -> Any:
    """Return a trace; events are (name, operator, start, duration) in microseconds, and an instruction's module."""
    metadata: dict[int, Any] = {}
    names = ("hlo_op", "hlo_module", "id", "_p", "_c")
    stats = {place: SimpleNamespace(name=name) for place, name in enumerate(names, start=1)}
    flows = {event[0]: place for place, event in enumerate(event for events in lines for event in events)}
    written = []
    for events in lines:
        own = []
        for name, operator, start, duration, *module in events:
            number = len(metadata)
            metadata[number] = SimpleNamespace(name=f"{name}:{operator}" if operator else name, display_name=operator)
            told = [stat(1, name), stat(2, module[0]), stat(4, number=flows[name])] if module else [stat(3, "")]
            if name.startswith("end: "):
                told = [stat(5, number=flows[name.removeprefix("end: ")])]
            own.append(SimpleNamespace(metadata_id=number, offset_ps=start * US, duration_ps=duration * US, stats=told))
        written.append(SimpleNamespace(timestamp_ns=5000, events=own))
    plane = SimpleNamespace(name="/host:CPU", lines=written, event_metadata=metadata, stat_metadata=stats)
    return SimpleNamespace(planes=[plane, SimpleNamespace(name="/host:metadata", lines=[], event_metadata={})])


def stat(key: int, text: str = "", number: int = 0) -> Any:
    values = {"str_value": text, "ref_value": 0, "uint64_value": number, "int64_value": 0}
    return SimpleNamespace(metadata_id=key, WhichOneof=lambda _: "str_value", **values)


def profiles(space: Any, count: int = 1) -> tuple[InferenceProfile, ...]:
    found = inferences_of(space, count, lambda name: (name,))
    assert found is not None
    return found


RUN: list[Event] = [
    ("SessionRun", "", 0, 100),
    ("ExecutorState::Process", "", 5, 90),
    ("model/conv", "_FusedConv2D", 10, 40),
    ("model/dense", "MatMul", 60, 20),
]


def test_a_run_is_its_operators_and_what_lies_outside_them():
    (profile,) = profiles(trace(RUN))
    assert [(each.name, each.kind, each.duration_ns, each.start_ns) for each in profile.operators] == [
        ("model/conv", "_FusedConv2D", 40_000, 10_000),
        ("model/dense", "MatMul", 20_000, 60_000),
        ("SessionRun", "SessionRun", 40_000, 0),
    ]
    assert [each.is_overhead for each in profile.operators] == [False, False, True]
    assert profile.operators[0].nodes == ("model/conv",)


def test_runs_are_told_apart_and_must_all_be_there():
    later = [(name, kind, start + 200, duration) for name, kind, start, duration, *_ in RUN]
    space = trace([*RUN, *later])
    first, second = profiles(space, 2)
    assert first == second
    assert inferences_of(space, 3, lambda name: (name,)) is None


def test_operators_of_other_threads_are_counted_and_their_time_is_not_overhead():
    (profile,) = profiles(trace(RUN, [("model/side", "Softmax", 30, 60), ("wait", "", 0, 100)]))
    side = next(each for each in profile.operators if each.name == "model/side")
    assert (side.duration_ns, side.thread) == (60_000, 1)
    assert profile.operators[-1].duration_ns == 20_000


def test_an_operator_has_no_time_of_those_within_it():
    (profile,) = profiles(trace([*RUN, ("model/while", "While", 15, 30)]))
    durations = {each.name: each.duration_ns for each in profile.operators}
    assert durations["model/conv"] == 10_000
    assert durations["model/while"] == 30_000


def test_instructions_of_xla_are_operators_and_the_ends_of_thunks_are_not():
    instructions: list[Event] = [
        ("SessionRun", "", 0, 100),
        ("dot.4", "", 10, 50, "module"),
        ("end: dot.4", "", 55, 1),
    ]
    (profile,) = profiles(trace(instructions))
    assert [each.name for each in profile.operators] == ["dot.4", "SessionRun"]


def test_an_instruction_that_goes_on_beside_its_thread_lasts_until_it_is_done():
    instructions: list[Event] = [
        ("SessionRun", "", 0, 100),
        ("convolution.1", "", 10, 5, "module"),
        ("wait", "", 20, 70),
    ]
    (profile,) = profiles(trace(instructions, [("end: convolution.1", "", 60, 1)]))
    assert [(each.name, each.duration_ns) for each in profile.operators] == [
        ("convolution.1", 50_000),
        ("SessionRun", 50_000),
    ]


def test_an_instruction_is_done_when_the_next_one_reads_it(monkeypatch: pytest.MonkeyPatch):
    convolution = Instruction("convolution", (), (), ())
    relu = Instruction("fusion", (), (), (), operands=("convolution.1",))
    modules = {"module": {"convolution.1": convolution, "relu": relu}}
    monkeypatch.setattr("irbench_tf.profiling.modules_of", lambda _: modules.items())
    events: list[Event] = [("SessionRun", "", 0, 100), ("convolution.1", "", 10, 5, "module")]
    others: list[Event] = [("relu", "", 40, 10, "module"), ("end: convolution.1", "", 60, 1)]
    (profile,) = profiles(trace(events, others))
    assert [(each.name, each.duration_ns) for each in profile.operators] == [
        ("convolution.1", 30_000),
        ("relu", 10_000),
        ("SessionRun", 60_000),
    ]


def instruction(name: str, opcode: str, number: int, *operands: int, op: str = "", **more: Any) -> Any:
    facts = {
        "id": number,
        "name": name,
        "opcode": opcode,
        "operand_ids": operands,
        "called_computation_ids": (),
        "custom_call_target": "",
        "shape": SimpleNamespace(element_type=11, dimensions=(2, 16), tuple_shapes=()),
        "metadata": SimpleNamespace(op_type="Op" if op else "", op_name=op),
    }
    return SimpleNamespace(**{**facts, **more})


def test_a_fusion_names_the_nodes_of_what_it_computes_and_a_loop_not_those_of_its_body():
    pair = SimpleNamespace(element_type=13, dimensions=(), tuple_shapes=(shape(1, 4), shape(10)))
    inner = SimpleNamespace(
        id=1,
        instructions=[
            instruction("p", "parameter", 1, op="model/input"),
            instruction("add", "add", 2, 1, op="model/bias"),
            instruction("zero", "constant", 3, op="model/constant"),
            instruction("max", "maximum", 4, 2, 3, op="model/relu"),
        ],
    )
    entry = SimpleNamespace(
        id=2,
        instructions=[
            instruction("dot", "dot", 5, op="model/dense"),
            instruction("fusion", "fusion", 6, 5, op="model/relu", called_computation_ids=(1,)),
            instruction("again", "fusion", 9, 5, op="model/relu", called_computation_ids=(1,)),
            instruction("reduce", "reduce", 10, 11),
            instruction("scale", "constant", 11, op="model/mean"),
            instruction("while", "while", 7, 6, op="model/while", called_computation_ids=(1,), shape=pair),
            instruction("call", "custom-call", 8, 6, custom_call_target="__onednn$matmul"),
        ],
    )
    names = {11: "F32", 10: "BF16", 1: "PRED", 13: "TUPLE"}
    found = read_instructions(SimpleNamespace(computations=[inner, entry]), names.__getitem__)
    assert found["fusion"].nodes == ("model/bias", "model/relu")
    assert found["fusion"].inputs == found["fusion"].outputs == (TensorShape("float32", (2, 16)),)
    assert found["again"].nodes == ("model/relu",)
    assert found["reduce"].nodes == ("model/mean",)
    assert found["while"].nodes == ("model/while",)
    assert found["while"].outputs == (TensorShape("bool", (4,)), TensorShape("bfloat16", ()))
    assert found["fusion"].operands == ("dot",)
    assert (found["call"].kind, found["call"].nodes) == ("__onednn$matmul", ())


def shape(element_type: int, *sizes: int) -> Any:
    return SimpleNamespace(element_type=element_type, dimensions=sizes, tuple_shapes=())
