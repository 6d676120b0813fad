"""What is made of ONNX Runtime's profiles: runs, times without those of what lies inside, and the nodes in a kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import models
import onnx
import pytest
from onnx import helper

from irbench.onnx.reading.inventory import NodeEntry
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Load
from irbench.spi import InferenceProfile, OperatorTime, Refusal, TensorShape
from irbench_ort import backend
from irbench_ort.profile_events import inferences_of, read_events
from irbench_ort.profiling import contained_nodes, unnamed_node

CPU = "CPUExecutionProvider"


def session_event(name: str, start_us: int, duration_us: int, thread: int = 7) -> dict[str, Any]:
    times = {"ts": start_us, "dur": duration_us, "tid": thread}
    return {"cat": "Session", "ph": "X", "name": name, "args": {}, **times}


def kernel(
    name: str, op_name: str, start_us: int, duration_us: int, provider: str = CPU, **told: Any
) -> dict[str, Any]:
    arguments = {"op_name": op_name, "provider": provider, "node_index": "1", **told}
    times = {"ts": start_us, "dur": duration_us, "tid": 7}
    return {"cat": "Node", "ph": "X", "name": f"{name}_kernel_time", "args": arguments, **times}


def run(start_us: int) -> list[dict[str, Any]]:
    """One inference of 100 us: two kernels of 40 and 30 us, in the order in which ONNX Runtime writes them."""
    shapes = {"input_type_shape": [{"float": [2, 3]}, {"int64": [1]}], "output_type_shape": [{"float16": [2]}]}
    return [
        kernel("conv", "Conv", start_us + 10, 40, **shapes),
        kernel("relu", "Relu", start_us + 55, 30),
        session_event("SequentialExecutor::Execute", start_us + 5, 90),
        session_event("model_run", start_us, 100),
    ]


COMPILED = [session_event("model_loading_uri", 0, 50), session_event("session_initialization", 50, 40)]


def itself(name: str, _: Mapping[str, Any]) -> tuple[str, ...]:
    return (name,)


def profiles(events: list[dict[str, Any]], count: int = 1) -> tuple[InferenceProfile, ...]:
    found = inferences_of(events, count, itself)
    assert found is not None
    return found


def by_name(profile: InferenceProfile) -> dict[str, OperatorTime]:
    return {operator.name: operator for operator in profile.operators}


def test_only_the_last_runs_are_told():
    events = [*COMPILED, *run(100), *run(300), *run(500)]
    assert len(profiles(events, 2)) == 2
    assert inferences_of(events, 4, itself) is None


def test_a_run_is_its_kernels_and_what_the_runtime_does_around_them():
    (profile,) = profiles([*COMPILED, *run(100)])
    times = {name: operator.duration_ns for name, operator in by_name(profile).items()}
    assert times == {"model_run": 10_000, "SequentialExecutor::Execute": 20_000, "conv": 40_000, "relu": 30_000}
    assert sum(times.values()) == 100_000
    assert [operator.name for operator in profile.operators if operator.is_overhead] == [
        "model_run",
        "SequentialExecutor::Execute",
    ]


def test_a_kernel_tells_its_tensors_its_start_and_where_it_ran():
    conv = by_name(profiles([*COMPILED, *run(100)])[0])["conv"]
    assert conv.kind == "Conv"
    assert conv.nodes == ("conv",)
    assert conv.inputs == (TensorShape("float32", (2, 3)), TensorShape("int64", (1,)))
    assert conv.outputs == (TensorShape("float16", (2,)),)
    assert (conv.start_ns, conv.thread, conv.device) == (10_000, 0, "cpu")


def test_a_loop_has_the_time_that_its_body_has_not():
    body = [kernel("inner", "Add", 120, 10), session_event("SequentialExecutor::Execute", 115, 20)]
    body += [kernel("inner", "Add", 140, 10), session_event("SequentialExecutor::Execute", 136, 20)]
    around = [kernel("loop", "Loop", 110, 60), session_event("SequentialExecutor::Execute", 105, 70)]
    (profile,) = profiles([*COMPILED, *body, *around, session_event("model_run", 100, 80)])
    inner = [operator for operator in profile.operators if operator.name == "inner"]
    assert [operator.duration_ns for operator in inner] == [10_000, 10_000]
    assert by_name(profile)["loop"].duration_ns == 20_000
    assert sum(operator.duration_ns for operator in profile.operators) == 80_000


def test_providers_that_are_no_device_keep_their_names():
    events = [
        kernel("shape", "Shape", 150, 1, CPU),
        kernel("part", "Subgraph", 152, 1, "OpenVINOExecutionProvider"),
        session_event("SequentialExecutor::Execute", 105, 70),
        session_event("model_run", 100, 80),
    ]
    operators = by_name(profiles(events)[0])
    devices = {name: operator.device for name, operator in operators.items() if not operator.is_overhead}
    assert devices == {"shape": "cpu", "part": "OpenVINOExecutionProvider"}


def test_events_without_arguments_or_shapes_are_read(tmp_path: Path):
    events = [{**kernel("conv", "Conv", 110, 5), "args": None}, session_event("model_run", 100, 20)]
    (tmp_path / "profile.json").write_text(json.dumps(events))
    conv = by_name(profiles(read_events(tmp_path / "profile.json"))[0])["conv"]
    assert (conv.kind, conv.inputs) == ("", ())


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return bind(models.layers(tmp_path), {"batch": 2}, tmp_path).path


def optimised(folder: Path, *nodes: onnx.NodeProto) -> Path:
    graph = helper.make_graph(list(nodes), "optimised", [], [])
    path = folder / "optimised.onnx"
    onnx.save(helper.make_model(graph), path)
    return path


def test_a_blocked_convolution_contains_the_addition_and_the_activation_that_it_absorbed(original: Path):
    fused = helper.make_node(
        "Conv",
        ["reorder_token_1", "reorder_token_2", "residual_bias", "reorder_token_1"],
        ["reorder_token_3"],
        "convolved_again_nchwc_token_4",
        activation="Relu",
    )
    written = optimised(
        original.parent,
        helper.make_node("ReorderInput", ["image"], ["reorder_token_0"], "ReorderInput"),
        helper.make_node(
            "Conv",
            ["reorder_token_0", "reorder", "kernel_bias"],
            ["reorder_token_1"],
            "positive_nchwc",
            activation="Relu",
        ),
        fused,
        helper.make_node("GlobalAveragePool", ["reorder_token_3"], ["reorder_token_5"], "pooled_nchwc"),
        helper.make_node("ReorderOutput", ["reorder_token_5"], ["pooled"], "ReorderOutput"),
    )
    found = contained_nodes(original, written)
    assert found["positive_nchwc"] == ("conv", "relu")
    assert found["convolved_again_nchwc_token_4"] == ("residual_conv", "residual_add", "Relu of positive_sum")
    assert found["pooled_nchwc"] == ("pool",)
    assert found["ReorderInput"] == found["ReorderOutput"] == ()


def test_an_activation_that_is_executed_itself_is_not_in_the_convolution(original: Path):
    written = optimised(
        original.parent,
        helper.make_node("Conv", ["image", "kernel"], ["convolved"], "conv"),
        helper.make_node("Relu", ["convolved"], ["positive"], "relu"),
    )
    assert contained_nodes(original, written) == {"conv": ("conv",), "relu": ("relu",)}


def test_a_product_with_its_bias_is_found_by_its_output(original: Path):
    written = optimised(
        original.parent,
        helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "dense", "dense_bias"], ["biased"], "product/MatMulAddFusion"),
    )
    assert contained_nodes(original, written)["product/MatMulAddFusion"] == ("product", "bias")


def test_a_transposition_that_was_moved_leaves_the_node_before_it_its_name(original: Path):
    written = optimised(
        original.parent,
        helper.make_node("Transpose", ["normal"], ["turned"], "Transpose_token_1"),
        helper.make_node("Softmax", ["turned"], ["scores"], "softmax"),
    )
    found = contained_nodes(original, written)
    assert {"softmax", "transposition"} <= set(found["softmax"])
    assert found["Transpose_token_1"] == ()


def test_a_node_without_a_name_is_found_by_its_number_or_as_the_only_one_of_a_body():
    main = (NodeEntry("abs", "Abs", "", ("x",), ("a",)), NodeEntry("", "Relu", "", ("a",), ("b",)))
    inner = (
        NodeEntry("", "Relu", "", ("c",), ("d",), inner=True),
        NodeEntry("", "Tanh", "", ("d",), ("e",), inner=True),
    )
    nodes = (main[0], inner[0], inner[1], main[1])
    assert unnamed_node(nodes, "Relu", 1) == main[1]
    assert unnamed_node(nodes, "Relu", 0) == inner[0]
    assert unnamed_node(nodes, "Tanh", 1) == inner[1]
    assert unnamed_node(nodes, "Abs", 0) is None
    assert unnamed_node((*nodes, inner[1]), "Tanh", 5) is None


def test_what_openvino_computes_for_onnx_runtime_is_not_profiled(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="OpenVINO computes") as caught:
        backend.compile_profiled(  # type: ignore[attr-defined]
            models.layers(tmp_path), Load(), "openvino", lambda _: None
        )
    assert caught.value.hint
