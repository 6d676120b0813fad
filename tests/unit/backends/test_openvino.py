"""What is OpenVINO's own: no telemetry, properties pinned and read back, errors of queued requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import backend_checks
import models
import pytest

from irbench.onnx.rewriting.bind import bind
from irbench.spec import Load
from irbench.spi import Refusal
from irbench.worker import call_in_worker
from irbench_openvino import backend
from irbench_openvino.precision import computed_precision, require
from irbench_openvino.properties import KNOWN, RESERVED, compile_properties
from irbench_openvino.runtime import plain_reasons, refusal
from irbench_openvino.session import CopySlot, FailureWatch

CPU_PROPERTIES = {
    "FULL_DEVICE_NAME": "RO",
    "NUM_STREAMS": "RW",
    "INFERENCE_NUM_THREADS": "RW",
    "INFERENCE_PRECISION_HINT": "RW",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": "RW",
    "KV_CACHE_PRECISION": "RW",
    "ENABLE_CPU_PINNING": "RW",
}


def in_worker(check: str, *arguments: Any) -> Any:
    return call_in_worker(f"backend_checks:{check}", *arguments, deadline_s=60)


def test_importing_it_starts_no_process_no_thread_and_no_connection():
    assert in_worker("what_importing_openvino_starts") == []


def test_a_signal_is_received_after_sessions_that_ended_in_any_order(tmp_path: Path):
    assert in_worker("signals_after_sessions_of_openvino", models.mlp(tmp_path).path) == 1


def test_a_missing_runtime_is_described_by_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    from importlib.metadata import PackageNotFoundError

    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("irbench_openvino.adapter.version", nothing)
    assert backend.describe().version is None
    assert backend.describe().install.startswith("pip install 'openvino>=")


def test_it_declares_each_property_that_the_runtime_lets_one_set():
    settable = in_worker("what_openvino_lets_one_set")
    assert "PERFORMANCE_HINT" in settable
    assert settable - {*KNOWN, *RESERVED} == set()


def test_a_pinned_precision_pins_quantisation_and_caches_too():
    assert compile_properties(Load(threads=4, streams=2), CPU_PROPERTIES) == {
        "NUM_STREAMS": 2,
        "INFERENCE_NUM_THREADS": 4,
        "INFERENCE_PRECISION_HINT": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        "KV_CACHE_PRECISION": "f32",
    }


def test_native_leaves_precision_and_threads_to_the_vendor():
    assert compile_properties(Load(threads=None, precision="native"), CPU_PROPERTIES) == {"NUM_STREAMS": 1}


def test_properties_a_device_does_not_have_are_not_set():
    gpu = {"NUM_STREAMS": "RW", "INFERENCE_PRECISION_HINT": "RW"}
    assert compile_properties(Load(threads=4), gpu) == {"NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("ENABLE_CPU_PINING", "no property 'ENABLE_CPU_PINING'"),
        ("FULL_DEVICE_NAME", "no property 'FULL_DEVICE_NAME'"),
        ("NUM_STREAMS", "set by irbench itself"),
        ("KV_CACHE_PRECISION", "conflicts with `--precision fp32`"),
    ],
)
def test_a_property_that_cannot_be_set_is_refused_with_a_way_out(key: str, message: str):
    with pytest.raises(Refusal, match=message) as caught:
        compile_properties(Load(options={key: "1"}), CPU_PROPERTIES)
    assert caught.value.hint


def test_a_folder_of_compiled_models_can_be_named_although_no_device_has_such_a_property():
    assert "CACHE_DIR" not in CPU_PROPERTIES
    assert compile_properties(Load(options={"CACHE_DIR": "/cache"}), CPU_PROPERTIES)["CACHE_DIR"] == "/cache"


def test_a_misspelt_property_is_answered_with_the_nearest_one():
    with pytest.raises(Refusal) as caught:
        compile_properties(Load(options={"ENABLE_CPU_PINING": "NO"}), CPU_PROPERTIES)
    assert "Did you mean ENABLE_CPU_PINNING?" in caught.value.hint


def test_the_users_properties_are_set_and_read_back(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    load = Load(options={"ENABLE_CPU_PINNING": "NO", "PERF_COUNT": "YES"})
    effective = in_worker("effective", "irbench_openvino", artifact, load)
    assert effective["ENABLE_CPU_PINNING"] is False
    assert effective["cpu_pinning"] is False
    assert effective["PERF_COUNT"] in (True, "YES")


def test_more_streams_than_threads_run_as_asked_with_the_effective_number_read_back(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    effective = in_worker("effective", "irbench_openvino", artifact, Load(threads=1, streams=4))
    assert (effective["threads"], effective["streams"]) == (1, 1)


def test_the_narrowest_layer_that_computes_names_the_precision():
    assert computed_precision([("Convolution", "f32"), ("Reorder", "bf16"), ("Softmax", "u8")], "f32") == "fp32"
    assert computed_precision([("Convolution", "bf16"), ("RNNSeq", "f32")], "bf16") == "bf16"
    assert computed_precision([("FullyConnected", "u8"), ("Convolution", "f32")], "f32") == "int8"
    assert computed_precision([("Eltwise", "f32")], "bf16") == "bf16"


@pytest.mark.parametrize(
    ("computed", "granted", "asked"),
    [("bf16", "bf16", "fp16"), ("int8", "f32", "fp32"), ("fp32", "bf16", "fp32"), ("fp32", "bf16", "bf16")],
)
def test_another_precision_than_asked_for_is_refused_with_a_way_out(computed: str, granted: str, asked: Any):
    with pytest.raises(Refusal, match=f"instead of {asked}") as caught:
        require(computed, granted, asked)
    assert "--precision" in caught.value.hint


def test_the_vendors_default_is_never_refused_where_the_same_is_when_pinned():
    def refused(asked: Any) -> bool:
        try:
            require("int8", "bf16", asked)
        except Refusal:
            return True
        return False

    assert [refused(asked) for asked in ("bf16", "native")] == [True, False]


@pytest.mark.ci
def test_a_quantised_graph_is_int8_whatever_the_hint_says(tmp_path: Path):
    artifact = backend_checks.quantised_model(tmp_path)
    assert in_worker("effective", "irbench_openvino", artifact, Load(precision="native"))["precision"] == "int8"
    assert in_worker("effective", "irbench_openvino", artifact, Load(precision="int8"))["precision"] == "int8"
    assert "computes in int8" in in_worker("effective", "irbench_openvino", artifact, Load())


def test_integers_that_were_asked_for_and_not_made_are_refused_with_a_way_out(tmp_path: Path):
    refused = in_worker("effective", "irbench_openvino", models.mlp(tmp_path), Load(precision="int8"))
    assert "computes in fp32 instead of int8" in refused


def test_an_error_of_a_queued_request_reaches_done_once_and_the_slot_lives_on():
    first, second, third = in_worker("openvino_slot_errors")
    assert first is None
    assert "mismatch" in second
    assert third is None


class BrokenRequest:
    """An infer request whose queued inferences fail; counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def set_callback(self, callback: Any, _userdata: object) -> None:
        self.callback = callback

    def start_async(self) -> None:
        """Fail, which only an inquiry brings to light."""

    def wait_for(self, timeout_ms: int) -> bool:
        self.asked += 1
        raise RuntimeError("shape mismatch")


def test_only_an_inference_that_did_not_complete_since_the_last_look_is_asked_after():
    request, received = BrokenRequest(), []
    watch = FailureWatch(interval_s=3600)
    slot = CopySlot(request, (0,), (0,), watch)
    slot.look_for_failure()
    for _ in range(3):
        slot.start(received.append)
        slot.look_for_failure()
        request.callback(None)
    assert (received, request.asked) == ([None] * 3, 0)
    slot.start(received.append)
    slot.look_for_failure()
    assert request.asked == 0
    slot.look_for_failure()
    slot.look_for_failure()
    assert request.asked == 1
    assert [str(item) for item in received[3:]] == ["OpenVINO cannot run this model: shape mismatch"]
    watch.close()


def test_a_closed_session_leaves_no_thread(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    assert in_worker("threads_left_by_openvino", artifact) == []


def test_a_failure_is_told_by_its_reasons_and_not_by_where_they_arose():
    said = (
        "Exception from src/inference/src/cpp/core.cpp:84:\n"
        "Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:\n"
        "FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted.\nSummary:\n"
        "-- No conversion rule found for operations: org.nobody.Relu\n\n"
    )
    with pytest.raises(Refusal) as caught, plain_reasons():
        raise RuntimeError(said)
    reason = "No conversion rule found for operations: org.nobody.Relu"
    assert caught.value.message == f"OpenVINO cannot run this model: {reason}"
    assert caught.value.hint
    assert refusal(RuntimeError("Exception from src/a.cpp:1:")).message.endswith("Exception from src/a.cpp:1:")
