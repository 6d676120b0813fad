"""The pieces of a program that each backend declares really run its runtime, with the settings of the load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest

from irbench.core import registry
from irbench.spec import Io, Load, TensorSpec
from irbench.spi import Refusal, Usage, UsageWriter, UsedModel

BATCH = 3
SHAPE = (BATCH, 3, 8, 8)
FEED = {"pixels": np.linspace(-1, 1, num=int(np.prod(SHAPE)), dtype=np.float32).reshape(SHAPE)}
LOADS = {
    "threads": Load(batch=BATCH, threads=2, precision="fp32"),
    "native": Load(batch=BATCH, threads=None, precision="native"),
    "streams": Load(batch=BATCH, threads=2, streams=2),
}


def usage_of(name: str, load: Load, io: Io = "copy", device: str = "cpu", dtype: str = "float32") -> Usage:
    backend = registry.backend(name)
    assert isinstance(backend, UsageWriter)
    inputs, outputs = TensorSpec("pixels", dtype, SHAPE), TensorSpec("scores", dtype, (BATCH, 5))
    return backend.usage(UsedModel((inputs,), (outputs,), io), load, device)


def defined(usage: Usage) -> dict[str, Any]:
    """Execute the pieces, and return what they define."""
    variables: dict[str, Any] = {}
    exec(f"{usage.imports}\n\n{usage.load}\n\n{usage.caller}\n\n{usage.run_all}", variables)
    return variables


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with a fixed batch, as runtimes are given it."""
    import onnx

    path = models.mlp(tmp_path_factory.mktemp("model")).path
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = BATCH
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("name", ["ort", "openvino"])
@pytest.mark.parametrize("io", ["copy", "bound"])
@pytest.mark.parametrize("kind", ["threads", "native"])
def test_a_caller_runs_one_inference_at_a_time(name: str, kind: str, io: Io, mlp: Path):
    program = defined(usage_of(name, LOADS[kind], io))
    caller = program["Caller"](program["load"](mlp))
    caller.stage(FEED)
    caller.run()
    (scores,) = caller.fetch()
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
    kept = scores.copy()
    caller.stage({"pixels": -FEED["pixels"]})
    caller.run()
    assert not np.allclose(caller.fetch()[0], kept)
    np.testing.assert_array_equal(scores, kept)


def test_openvino_queues_several_inferences_itself(mlp: Path):
    program = defined(usage_of("openvino", LOADS["streams"]))
    answers = program["run_all"](program["load"](mlp), [{"pixels": FEED["pixels"] * k} for k in range(4)])
    caller = program["Caller"](program["load"](mlp))
    for factor, (scores,) in enumerate(answers):
        caller.stage({"pixels": FEED["pixels"] * factor})
        caller.run()
        np.testing.assert_allclose(scores, caller.fetch()[0], rtol=1e-5)


@pytest.mark.parametrize("calls", [0, 1, 2, 5])
def test_openvino_answers_in_order_however_many_calls_its_requests_share(calls: int, mlp: Path):
    program = defined(usage_of("openvino", LOADS["streams"]))
    model = program["load"](mlp)
    batches = [{"pixels": FEED["pixels"] * factor} for factor in range(calls)]
    together = program["run_all"](model, batches)
    alone = [program["run_all"](model, [batch])[0] for batch in batches]
    assert len(together) == calls
    for (scores,), (expected,) in zip(together, alone, strict=True):
        np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_openvino_calls_no_python_from_threads_of_its_own():
    """Now and then a program did not end: a thread that called back waited for the lock of the one that joined it."""
    assert "callback(" not in usage_of("openvino", LOADS["streams"]).run_all


def test_options_are_set_as_they_were_measured(mlp: Path):
    load = Load(batch=BATCH, threads=2, options={"intra_op.allow_spinning": "0", "graph_optimization_level": "basic"})
    options = defined(usage_of("ort", load))["load"](mlp).get_session_options()
    assert options.intra_op_num_threads == 2
    assert options.graph_optimization_level.name == "ORT_ENABLE_BASIC"
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    compiled = defined(usage_of("openvino", Load(batch=BATCH, threads=1, precision="fp32")))["load"](mlp)
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
    assert compiled.get_property("INFERENCE_PRECISION_HINT").to_string() == "f32"


def test_streams_of_onnx_runtime_compute_with_their_callers():
    text = usage_of("ort", Load(batch=BATCH, threads=4, streams=3)).load
    assert "options.intra_op_num_threads = 2" in text


def test_on_cuda_buffers_are_bound_there_and_the_cpu_is_no_substitute():
    load = Load(batch=BATCH, options={"cuda.enable_cuda_graph": "1"})
    usage = usage_of("ort", load, "bound", "cuda")
    for text in (usage.load, usage.caller):
        compile(text, "usage", "exec")
    assert "('CUDAExecutionProvider', settings), 'CPUExecutionProvider'" in usage.load
    assert "'enable_cuda_graph': '1', 'use_tf32': '0'" in usage.load
    assert "raise SystemExit" in usage.load
    assert usage.caller.count("'cuda', 0)") == 2
    copied = usage_of("ort", Load(batch=BATCH), "copy", "cuda")
    assert "io_binding" not in copied.caller


def test_onnx_runtime_with_openvino_has_the_properties_of_the_provider():
    usage = usage_of("ort", Load(batch=BATCH, threads=2), device="openvino")
    assert "OpenVINOExecutionProvider" in usage.load
    assert '"INFERENCE_NUM_THREADS": "2"' in usage.load
    assert "'session.intra_op.allow_spinning', '0'" in usage.load


@pytest.mark.parametrize("name", ["ort", "openvino"])
def test_a_type_without_arrays_of_numpy_is_refused(name: str):
    with pytest.raises(Refusal, match="pixels is bfloat16"):
        usage_of(name, Load(), dtype="bfloat16")


@pytest.mark.parametrize("name", ["tf", "tf-xla"])
def test_tensorflow_has_the_pools_and_the_environment_that_were_measured(name: str):
    usage = usage_of(name, Load(batch=BATCH, threads=4, streams=2))
    for text in (usage.imports, usage.load, usage.caller):
        compile(text, "usage", "exec")
    assert "intra_op_parallelism_threads=2, inter_op_parallelism_threads=2" in usage.load
    assert ("jit_compile=True" in usage.load) == (name == "tf-xla")
    assert usage.environment["ONEDNN_DEFAULT_FPMATH_MODE"] == "STRICT"
    assert usage_of(name, Load(threads=1)).load.count("intra_op_parallelism_threads=1") == 1, "no pool is remembered"


def test_tensorflow_narrows_as_it_was_measured():
    usage = usage_of("tf", Load(batch=BATCH, threads=2, precision="bf16", options={"onednn": "1", "grappler": "all"}))
    assert "rewriting.auto_mixed_precision_onednn_bfloat16 = rewriting.ON" in usage.load
    assert usage.environment["TF_ENABLE_ONEDNN_OPTS"] == "1"
    gpu = usage_of("tf", Load(batch=BATCH), device="gpu")
    assert "config.gpu_options.allow_growth = True" in gpu.load
    assert "CUDA_VISIBLE_DEVICES" not in gpu.environment
