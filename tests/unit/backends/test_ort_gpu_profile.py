"""What is made of ONNX Runtime's profiles of inferences on CUDA.

The traces are constructed. How events are written is from ONNX Runtime's sources: ``core/common/profiler.cc`` for all
of them, ``core/providers/cuda/cupti_manager.cc`` for the names, streams and times of kernels and copies, and
``MergeEvents`` in ``core/common/gpu_profiler_common.h`` for their places behind the event that asked for them and for
``parent_name``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irbench.spi import GpuActivity, InferenceProfile, OperatorTime
from irbench_ort.profile_events import gpu_inferences_of, inferences_of

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
Event = dict[str, Any]


def session_event(name: str, start_us: int, duration_us: int) -> Event:
    return {
        "cat": "Session",
        "pid": 9,
        "tid": 7,
        "ph": "X",
        "name": name,
        "ts": start_us,
        "dur": duration_us,
        "args": {},
    }


def node(name: str, op_name: str, start_us: int, duration_us: int, provider: str = CUDA) -> Event:
    told = {"op_name": op_name, "provider": provider, "node_index": "1", "output_type_shape": [{"float": [2, 3]}]}
    times = {"ts": start_us, "dur": duration_us}
    return {"cat": "Node", "pid": 9, "tid": 7, "ph": "X", "name": f"{name}_kernel_time", "args": told, **times}


def on_gpu(name: str, start_us: int, duration_us: int, parent: str | None, stream: str = "13") -> Event:
    told = {"stream": stream, "grid_x": "1", "block_x": "256"}
    told |= {} if parent is None else {"parent_name": f"{parent}_kernel_time", "op_name": "Conv"}
    times = {"ts": start_us, "dur": duration_us}
    return {"cat": "Kernel", "pid": -1, "tid": -1, "ph": "X", "name": name, "args": told, **times}


def run(start_us: int = 1000) -> list[Event]:
    """One inference of 500 us, sorted by starts: the host hands work over for 100 us, the GPU takes 380 us for it."""
    return [
        session_event("model_run", start_us, 500),
        session_event("SequentialExecutor::Execute", start_us + 10, 100),
        node("Memcpy_token_0", "MemcpyFromHost", start_us + 12, 5),
        on_gpu("MemcpyHostToDevice", start_us + 20, 30, "Memcpy_token_0"),
        node("shape", "Shape", start_us + 18, 8, CPU),
        node("conv", "Conv", start_us + 30, 20),
        on_gpu("implicit_gemm", start_us + 60, 250, "conv"),
        on_gpu("add_bias", start_us + 310, 50, "conv"),
        node("flat", "Reshape", start_us + 55, 2),
        node("Memcpy_token_1", "MemcpyToHost", start_us + 60, 30),
        on_gpu("MemcpyDeviceToHost", start_us + 370, 50, "Memcpy_token_1"),
    ]


COMPILED = [session_event("session_initialization", 0, 900)]


def itself(name: str, _: Mapping[str, Any]) -> tuple[str, ...]:
    return (name,)


def profiles(events: list[Event], count: int = 1) -> tuple[InferenceProfile, ...]:
    found = gpu_inferences_of(events, count, itself)
    assert found is not None
    return found


def by_name(profile: InferenceProfile) -> dict[str, OperatorTime]:
    return {operator.name: operator for operator in profile.operators}


def without_gpu(events: list[Event]) -> list[Event]:
    return [event for event in events if event["cat"] != "Kernel"]


def test_an_operator_has_the_time_of_its_kernels_and_not_that_of_the_host() -> None:
    operators = by_name(profiles([*COMPILED, *run()])[0])
    assert {name: operator.duration_ns for name, operator in operators.items()} == {
        "Memcpy_token_0": 30_000,
        "shape": 8_000,
        "conv": 300_000,
        "flat": 0,
        "Memcpy_token_1": 50_000,
    }
    conv = operators["conv"]
    assert (conv.kind, conv.nodes, conv.device, conv.implementation) == ("Conv", ("conv",), "cuda", "implicit_gemm")
    assert conv.start_ns == 60_000
    assert conv.outputs[0].shape == (2, 3)
    assert operators["shape"].device == "cpu"
    assert not any(operator.is_overhead for operator in operators.values())


def test_kernels_and_copies_are_apart_and_what_the_host_did_beside_them() -> None:
    (profile,) = profiles([*COMPILED, *run()])
    assert profile.gpu == GpuActivity(
        kernels_ns=300_000,
        copy_in_ns=30_000,
        copy_out_ns=50_000,
        rounding_ns=4_000,
        issuing_ns=100_000,
        on_cpu_ns=8_000,
    )
    assert profile.uncertainty_ns == 2_000


def test_without_events_of_the_gpu_no_operator_has_a_time() -> None:
    (profile,) = profiles([*COMPILED, *without_gpu(run())])
    assert profile.operators == ()
    assert profile.gpu == GpuActivity(issuing_ns=100_000, on_cpu_ns=8_000)


def test_runs_are_told_apart_and_only_the_last_ones_count() -> None:
    events = [*COMPILED, *run(1000), *run(2000), *without_gpu(run(3000))]
    *_, second, third = profiles(events, 3)
    assert second.gpu is not None
    assert second.gpu.kernels_ns == 300_000
    assert third.operators == ()
    assert gpu_inferences_of(events, 4, itself) is None


def test_events_may_be_in_the_order_of_their_ends() -> None:
    hosts = sorted(without_gpu(run()), key=lambda event: event["ts"] + event["dur"])
    (profile,) = inferences_of([*COMPILED, *hosts], 1, itself) or ()
    again = inferences_of([*COMPILED, *without_gpu(run())], 1, itself)
    assert again == (profile,)


def test_a_kernel_that_nobody_is_known_to_have_asked_for_is_an_operator_without_nodes() -> None:
    events = [*run(), on_gpu("stray", 1430, 20, None)]
    (profile,) = profiles(events)
    stray = by_name(profile)["stray"]
    assert (stray.nodes, stray.duration_ns, stray.device) == ((), 20_000, "cuda")
    assert profile.gpu is not None
    assert profile.gpu.kernels_ns == 320_000


def test_copies_within_an_operator_are_copies() -> None:
    events = run()
    events.insert(8, on_gpu("MemcpyHostToDevice", 1361, 5, "conv"))
    (profile,) = profiles(events)
    assert by_name(profile)["conv"].duration_ns == 305_000
    assert profile.gpu is not None
    assert (profile.gpu.kernels_ns, profile.gpu.copy_in_ns) == (300_000, 35_000)


def test_kernels_of_several_streams_that_run_at_the_same_time_count_once() -> None:
    events = run()
    events.insert(8, on_gpu("beside", 1100, 100, "conv", stream="14"))
    (profile,) = profiles(events)
    assert by_name(profile)["conv"].duration_ns == 400_000
    assert profile.gpu is not None
    assert profile.gpu.kernels_ns == 300_000
    assert len({operator.thread for operator in profile.operators if operator.duration_ns}) == 2


def test_starts_are_unknown_where_the_clock_of_the_gpu_is_not_that_of_the_host() -> None:
    events = [{**event, "ts": event["ts"] + 5_000_000} if event["cat"] == "Kernel" else event for event in run()]
    (profile,) = profiles(events)
    conv = by_name(profile)["conv"]
    assert (conv.duration_ns, conv.start_ns) == (300_000, None)
    assert profile.gpu is not None
    assert profile.gpu.kernels_ns == 300_000


def test_a_node_of_a_loop_has_its_own_kernels_in_each_iteration() -> None:
    body = [
        node("inner", "Add", 1020, 5), on_gpu("add_1", 1100, 10, "inner"),
        node("inner", "Add", 1040, 5), on_gpu("add_2", 1120, 30, "inner"),
    ]  # fmt: skip
    events = [session_event("model_run", 1000, 300), session_event("SequentialExecutor::Execute", 1005, 90)]
    events += [node("loop", "Loop", 1010, 80), session_event("SequentialExecutor::Execute", 1015, 60), *body]
    (profile,) = profiles(events)
    inner = [operator.duration_ns for operator in profile.operators if operator.name == "inner"]
    assert inner == [10_000, 30_000]
    assert by_name(profile)["loop"].duration_ns == 0
    assert profile.gpu is not None
    assert profile.gpu.issuing_ns == 90_000
