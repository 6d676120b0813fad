"""OpenVINO as a provider of ONNX Runtime, without its wheel: what it is asked for, and what is read back of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx.reference
import pytest

from irbench.onnx.reading.graph_precision import GraphPrecision
from irbench.spec import Artifact, Load
from irbench.spi import Array, Refusal
from irbench_ort import backend
from irbench_ort.devices import providers, read_back, require
from irbench_ort.openvino_provider import PROVIDER, computed_precision, refusal_of
from irbench_ort.options import parse_options

CPU = "CPUExecutionProvider"
ARTIFACT = Artifact("onnx", Path("model.onnx"), (), ())
FP32 = GraphPrecision({"fp32": 64}, frozenset({"fp32"}), quantised=False)
INT8 = GraphPrecision({"fp32": 64}, frozenset({"fp32"}), quantised=True)


class Node:
    def __init__(self, op_type: str) -> None:
        self.op_type, self.name = op_type, ""


class Part:
    def __init__(self, ep_name: str, *op_types: str) -> None:
        self.ep_name, self._nodes = ep_name, [Node(op_type) for op_type in op_types]

    def get_nodes(self) -> list[Node]:
        return self._nodes


class Session:
    """A session that reports what it was given, as ONNX Runtime does."""

    def __init__(self, *parts: Part, active: tuple[str, ...] = (PROVIDER, CPU)) -> None:
        self._parts, self._active = parts, active

    def get_providers(self) -> list[str]:
        return list(self._active)

    def get_provider_graph_assignment_info(self) -> tuple[Part, ...]:
        return self._parts


def asked(load: Load, options: dict[str, str] | None = None) -> dict[str, Any]:
    (name, given), fallback = providers("openvino", load, options or {})
    assert (name, fallback) == (PROVIDER, CPU)
    return {**given, "load_config": json.loads(given["load_config"])}


def test_a_build_without_the_provider_is_refused_with_the_command_that_installs_one() -> None:
    class Without:
        @staticmethod
        def get_available_providers() -> list[str]:
            return [CPU]

    with pytest.raises(Refusal, match="without the OpenVINO provider") as caught:
        require(Without, "openvino")
    assert "pip uninstall onnxruntime" in caught.value.hint
    assert "onnxruntime-openvino" in caught.value.hint


def test_threads_streams_and_precision_of_the_load_are_properties_of_openvino() -> None:
    given = asked(Load(threads=2, streams=3))
    properties = given["load_config"]["CPU"]
    assert given["device_type"] == "CPU"
    assert (properties["INFERENCE_NUM_THREADS"], properties["NUM_STREAMS"]) == ("2", "3")
    assert (properties["INFERENCE_PRECISION_HINT"], properties["KV_CACHE_PRECISION"]) == ("f32", "f32")
    assert properties["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == "0"


def test_the_vendors_own_precision_and_threads_are_left_to_it() -> None:
    assert asked(Load(threads=None, precision="native"))["load_config"] == {"CPU": {"NUM_STREAMS": "1"}}


def test_options_choose_the_device_and_add_properties() -> None:
    options = parse_options({"openvino.device_type": "GPU", "openvino.PERFORMANCE_HINT": "LATENCY"}, "openvino", "fp32")
    given = asked(Load(), dict(options.provider))
    assert given["device_type"] == "GPU"
    assert given["load_config"]["GPU"]["PERFORMANCE_HINT"] == "LATENCY"
    assert "INFERENCE_NUM_THREADS" not in given["load_config"]["GPU"]


@pytest.mark.parametrize(
    ("key", "device", "other"),
    [("openvino.device_type", "cpu", "the CPU"), ("cuda.use_tf32", "openvino", "ort:openvino")],
)
def test_options_of_another_device_are_refused(key: str, device: str, other: str) -> None:
    with pytest.raises(Refusal, match=f"not of {other}"):
        parse_options({key: "1"}, device, "native")


@pytest.mark.parametrize(("kept_bits", "precision"), [(23, "fp32"), (10, "fp16"), (7, "bf16")])
def test_the_precision_is_seen_in_what_a_product_is_rounded_to(kept_bits: int, precision: str) -> None:
    def rounding(path: Path, x: Array) -> Array:
        session = onnx.reference.ReferenceEvaluator(str(path))
        kept = np.round(x.astype(np.float64) * 2**kept_bits) / 2**kept_bits
        answer: Array = session.run(None, {"x": kept.astype(np.float32)})[0]
        return answer

    assert computed_precision(FP32, rounding) == precision


def test_a_quantised_graph_is_named_by_its_integers() -> None:
    assert computed_precision(INT8, lambda path, x: pytest.fail("nothing is computed")) == "int8"


def test_nodes_that_stay_with_onnx_runtime_are_counted_and_named() -> None:
    session = Session(Part(PROVIDER, "Conv", "Relu"), Part(CPU, "NonZero", "NonZero", "Unique"))
    assert read_back(session, "openvino", ARTIFACT) == {
        "provider": PROVIDER, "nodes": 5, "nodes_elsewhere": 3, "operators_elsewhere": "NonZero,Unique",
    }  # fmt: skip


def test_a_provider_that_could_not_start_is_refused() -> None:
    with pytest.raises(Refusal, match="could not start its OpenVINO provider"):
        read_back(Session(active=(CPU,)), "openvino", ARTIFACT)


def test_a_provider_that_takes_no_node_is_refused() -> None:
    with pytest.raises(Refusal, match="does not take the 2 nodes"):
        read_back(Session(Part(CPU, "NonZero", "Unique")), "openvino", ARTIFACT)


def test_a_version_that_does_not_tell_where_nodes_run_leaves_that_unknown() -> None:
    class Older:
        def get_providers(self) -> list[str]:
            return [PROVIDER, CPU]

    assert read_back(Older(), "openvino", ARTIFACT) == {"provider": PROVIDER}


def test_a_graph_of_fp32_may_be_computed_in_bf16_there_but_not_on_the_cpu() -> None:
    backend.check_load(Load(precision="bf16"), "openvino", "fp32")  # type: ignore[attr-defined]
    with pytest.raises(Refusal, match="only if the graph was converted"):
        backend.check_load(Load(precision="bf16"), "cpu", "fp32")  # type: ignore[attr-defined]


def test_its_wheel_is_found_by_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import PackageNotFoundError

    def only_openvino(name: str) -> str:
        if name == "onnxruntime-openvino":
            return "1.24.1"
        raise PackageNotFoundError(name)

    monkeypatch.setattr("irbench_ort.adapter.version", only_openvino)
    assert (backend.describe().distribution, backend.describe().version) == ("onnxruntime-openvino", "1.24.1")


def test_what_openvino_cannot_compile_is_refused_with_its_own_reason() -> None:
    error = RuntimeError(
        "[ONNXRuntimeError] : 1 : FAIL : basic_backend.cc:136 [OpenVINO-EP] Exception while Loading Network:"
        " Exception from core.cpp:114:\nCheck '!shape' failed at node.cpp:106:\nParameter with dynamic rank: If_0\n\n"
    )
    refusal = refusal_of(error)
    assert refusal is not None
    assert refusal.message.endswith("cannot compile its part of this graph: Parameter with dynamic rank: If_0")
    assert refusal_of(RuntimeError("another error")) is None
