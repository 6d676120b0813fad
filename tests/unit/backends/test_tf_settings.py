"""What the TensorFlow backends decide before TensorFlow is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import irbench_tf
from irbench.spec import Artifact, Load
from irbench.spi import Refusal
from irbench_tf import compiler, options, precision, probe
from irbench_tf.options import TensorFlowOptions, parse_options


@pytest.fixture(autouse=True)
def fresh_pool(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiler, "pool_of_process", {})


def plan(wanted: int | None, streams: int = 1, **options: str) -> compiler.ThreadPlan:
    load = Load(threads=wanted, streams=streams)
    return compiler.plan_threads(load, parse_options(options, "tf"), compiler.pool_of_process)


def test_importing_the_backends_imports_no_tensorflow():
    code = (
        "import irbench_tf, sys; irbench_tf.graph.describe();"
        "print([name for name in sys.modules if name.startswith(('tensorflow', 'keras'))])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


@pytest.mark.ci
def test_what_a_constant_claims_is_known_without_the_whole_of_tensorflow():
    code = """if True:
        import sys
        from irbench_tf import session, pure_operators
        session.import_lean()
        from tensorflow.core.framework.node_def_pb2 import NodeDef
        node = NodeDef(op="Const")
        tensor = node.attr["value"].tensor
        tensor.dtype = 1
        tensor.tensor_shape.dim.add(size=1000)
        print(pure_operators.claimed_bytes([node]) > 3900, "tensorflow.python.keras" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_both_backends_describe_the_same_distribution_and_how_to_install_it():
    for backend, name in ((irbench_tf.graph, "tf"), (irbench_tf.xla, "tf-xla")):
        description = backend.describe()
        assert description.name == backend.name == name
        assert description.distribution == "tensorflow"
        assert description.devices == ("cpu", "gpu")
        assert description.install.startswith("pip install 'tensorflow<")
        assert " 'tf2onnx<" in description.install
        assert backend.consumes == ("tf-graph",)


def test_one_stream_gives_all_threads_to_the_pool_that_shares_an_operation():
    assert plan(4) == compiler.ThreadPlan(4, 1, on_caller=True, total=4)


@pytest.mark.parametrize(
    ("wanted", "streams", "pool", "total"), [(2, 2, 1, 2), (4, 2, 2, 4), (8, 2, 6, 8), (3, 2, 1, 2), (1, 3, 1, 3)]
)
def test_callers_of_several_streams_come_out_of_the_total(wanted: int, streams: int, pool: int, total: int):
    planned = plan(wanted, streams)
    assert (planned.intra_op, planned.total) == (pool, total)
    assert total <= max(wanted, streams)


def test_native_threads_are_left_to_tensorflow_and_read_back_as_the_allowance():
    planned = plan(None)
    assert (planned.intra_op, planned.inter_op, planned.on_caller) == (0, 0, False)
    assert planned.total == len(os.sched_getaffinity(0))


def test_a_second_session_of_a_process_tells_the_pool_it_really_gets():
    assert plan(2).intra_op == 2
    assert plan(8).intra_op == 2


def test_operations_run_on_a_pool_only_where_that_was_asked_for():
    planned = plan(4, inter_op_threads="2")
    assert (planned.inter_op, planned.on_caller, planned.total) == (2, False, 4)


def test_an_unknown_option_is_refused_with_those_that_are_known():
    with pytest.raises(Refusal, match="no_such_option") as refused:
        parse_options({"no_such_option": "1"}, "tf")
    for known in ("grappler", "gpu_thread_mode", "inter_op_threads", "loops", "onednn"):
        assert known in refused.value.hint


@pytest.mark.parametrize(
    ("key", "value"), [("onednn", "yes"), ("grappler", "some"), ("inter_op_threads", "0"), ("gpu_thread_mode", "mine")]
)
def test_an_impossible_value_is_refused_with_the_possible_ones(key: str, value: str):
    with pytest.raises(Refusal, match=f"{key}={value}") as refused:
        parse_options({key: value}, "tf")
    assert refused.value.hint.startswith(f"Write {key}=")


def test_options_mean_what_they_say():
    words = {"onednn": "0", "grappler": "all", "loops": "functional"}
    words |= {"inter_op_threads": "3", "gpu_thread_mode": "gpu_private"}
    assert parse_options(words, "tf") == TensorFlowOptions(False, "all", 3, "functional", "gpu_private")


def test_the_cpu_hides_cuda_and_never_trades_precision():
    variables = options.environment_for(Load(), TensorFlowOptions(), "cpu")
    assert variables["CUDA_VISIBLE_DEVICES"] == "-1"
    assert variables["ONEDNN_DEFAULT_FPMATH_MODE"] == "STRICT"


def test_a_gpu_sees_cuda_and_loses_tf32_only_where_fp32_is_pinned():
    pinned = options.environment_for(Load(precision="fp32"), TensorFlowOptions(), "gpu")
    native = options.environment_for(Load(precision="native"), TensorFlowOptions(), "gpu")
    assert "CUDA_VISIBLE_DEVICES" not in pinned
    assert pinned["NVIDIA_TF32_OVERRIDE"] == "0"
    assert "NVIDIA_TF32_OVERRIDE" not in native


@pytest.mark.parametrize("asked", ["fp32", "native"])
def test_a_row_on_a_gpu_leaves_memory_to_the_rows_beside_it(asked):
    gpu, cpu = (options.environment_for(Load(precision=asked), TensorFlowOptions(), on) for on in ("gpu", "cpu"))
    assert gpu["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in cpu


@pytest.mark.parametrize(
    ("asked", "device", "jit", "told"),
    [
        ({}, "cpu", False, "remap"),
        ({}, "gpu", False, "all"),
        ({"grappler": "remap"}, "gpu", False, "all"),
        ({"grappler": "off"}, "gpu", False, "off"),
        ({}, "gpu", True, "off"),
    ],
)
def test_the_rewriting_that_is_told_is_the_one_that_runs(asked: dict[str, str], device: str, jit: bool, told: str):
    job = compiler.Job(Artifact("tf-graph", Path(), (), ()), Load(options=asked), device, jit)
    assert job.rewriting == told


class Devices:
    """The parts of TensorFlow that tell of a GPU, as one of compute capability 8.6 answers."""

    def __init__(self, capability: str = "8.6", *, allows: bool = True) -> None:
        description = f"device: 0, name: NVIDIA A10G, pci bus id: 0000:00:1e.0, compute capability: {capability}"
        self.gpu = SimpleNamespace(device_type="GPU", physical_device_desc=description)
        self.allows = allows

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = SimpleNamespace(tensor_float_32_execution_enabled=lambda: self.allows)
        settings = SimpleNamespace(ConfigProto=lambda: SimpleNamespace(gpu_options=SimpleNamespace()))
        lister = SimpleNamespace(
            list_local_devices=lambda _: [SimpleNamespace(device_type="CPU", physical_device_desc=""), self.gpu]
        )
        for package, names in {
            "tensorflow.python.framework": {"config": config},
            "tensorflow.python.client": {"device_lib": lister},
            "tensorflow.core.protobuf": {"config_pb2": settings},
        }.items():
            monkeypatch.setitem(sys.modules, package, SimpleNamespace(**names))


@pytest.mark.parametrize(
    ("capability", "allows", "override", "told"),
    [
        ("8.6", True, None, "tf32"),
        ("12.0", True, None, "tf32"),
        ("7.5", True, None, "fp32"),
        ("8.6", False, None, "fp32"),
        ("8.6", True, "0", "fp32"),
        ("8.6", True, "1", "tf32"),
    ],
)
def test_tf32_is_told_where_the_gpu_has_it_and_nothing_forbids_it(
    monkeypatch: pytest.MonkeyPatch, capability: str, allows: bool, override: str | None, told: str
):
    Devices(capability, allows=allows).install(monkeypatch)
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    if override is not None:
        monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", override)
    assert probe.native_gpu_precision() == told
    assert probe.gpu_settings() == {"compute_capability": float(capability), "tf32_override": override}


def test_tensorflow_without_a_gpu_is_refused_where_one_was_asked_for():
    with pytest.raises(Refusal, match="finds no GPU"):
        probe.require_gpu([SimpleNamespace(device_type="CPU")])
    probe.require_gpu([SimpleNamespace(device_type="CPU"), Devices().gpu])


@pytest.mark.parametrize(
    ("asked", "device", "jit"),
    [
        ("fp16", "cpu", False),
        ("bf16", "gpu", False),
        ("bf16", "cpu", True),
        ("fp16", "gpu", True),
        ("int8", "cpu", False),
    ],
)
def test_a_precision_that_does_not_exist_there_is_refused_with_a_way_out(asked, device: str, jit: bool):
    with pytest.raises(Refusal, match=asked) as refused:
        precision.refuse_impossible(Load(precision=asked), device, jit=jit)
    assert refused.value.hint


def test_narrowing_without_the_rewriter_is_refused():
    with pytest.raises(Refusal, match="rewriter"):
        precision.refuse_impossible(Load(precision="bf16", options={"grappler": "off"}), "cpu", jit=False)


@pytest.mark.parametrize("asked", ["fp32", "native"])
def test_plain_precisions_are_never_refused_before_loading(asked):
    for device in ("cpu", "gpu"):
        for jit in (False, True):
            precision.refuse_impossible(Load(precision=asked), device, jit=jit)
    assert precision.rewriters(asked) == ()
