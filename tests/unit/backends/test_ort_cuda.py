"""ONNX Runtime on CUDA, without a device: what is refused, and the silent ways back to the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx.parser
import onnxruntime
import pytest

from irbench.spec import Artifact, Io, Load, TensorSpec
from irbench.spi import Refusal, extra_command
from irbench_ort import backend, devices
from irbench_ort.devices import libraries_hint, providers, read_back, require, uses_tf32
from irbench_ort.options import parse_options
from irbench_ort.session import OrtSession, create_session

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def test_cuda_is_refused_by_a_build_without_it():
    class WithoutCuda:
        @staticmethod
        def get_available_providers() -> list[str]:
            return [CPU]

    with pytest.raises(Refusal, match="without CUDA") as caught:
        require(WithoutCuda, "cuda")
    assert extra_command("ort-gpu") in caught.value.hint


# as the metadata of onnxruntime-gpu 1.26 and 1.31 have them
FOR_CUDA_12 = ("numpy>=1.21.6", 'nvidia-cufft-cu12~=11.0; extra == "cuda"', 'nvidia-cudnn-cu12~=9.0; extra == "cudnn"')
FOR_CUDA_13 = ("numpy>=1.21.6", 'nvidia-cufft~=12.0; extra == "cuda"', 'nvidia-cudnn-cu13~=9.0; extra == "cudnn"')


@pytest.mark.parametrize(
    ("version", "requirements", "installed", "wheels"),
    [
        ("12.8", FOR_CUDA_12, [], "CUDA 12.8, for which it is built: pip install nvidia-cufft-cu12 nvidia-cudnn-cu12"),
        ("13.0", FOR_CUDA_13, [], "CUDA 13.0, for which it is built: pip install nvidia-cufft nvidia-cudnn-cu13"),
        ("13.0", FOR_CUDA_13, ["nvidia-cudnn-cu13"], "pip install nvidia-cufft nvidia-cudnn-cu13"),
        ("13.0", (), [], "CUDA 13.0 and cuDNN 9"),
    ],
)
def test_missing_libraries_are_those_of_the_cuda_that_the_build_is_for(
    version: str, requirements: tuple[str, ...], installed: list[str], wheels: str
):
    assert wheels in libraries_hint(version, requirements, installed)


def test_a_second_cudnn_belongs_in_an_environment_of_its_own():
    hint = libraries_hint("13.0", FOR_CUDA_13, ["nvidia-cudnn-cu12"])
    assert "would overwrite files of nvidia-cudnn-cu12" in hint
    assert "python -m venv" in hint
    assert extra_command("all-gpu") in hint
    assert "nvidia-cudnn-cu13" not in hint


def test_tf32_is_pinned_off_on_cuda_unless_the_vendors_default_is_asked_for():
    (name, options), fallback = providers("cuda", Load(), {"prefer_nhwc": "1"})
    assert (name, fallback) == (CUDA, CPU)
    assert options == {"prefer_nhwc": "1", "use_tf32": "0"}
    assert providers("cuda", Load(precision="native"), {}) == [(CUDA, {}), CPU]
    assert providers("cpu", Load(), {}) == [CPU]


def test_tf32_cannot_be_switched_on_behind_a_pinned_precision():
    with pytest.raises(Refusal, match="conflicts with `--precision fp32`"):
        parse_options({"cuda.use_tf32": "1"}, "cuda", "fp32")
    assert parse_options({"cuda.use_tf32": "1"}, "cuda", "native").provider == {"use_tf32": "1"}


class FakeNode:
    """A node by its name, which begins with its operator; an operator alone is that of a node without a name."""

    def __init__(self, name: str) -> None:
        self.op_type, self.name = name.split(maxsplit=1)[0], name if " " in name else ""


class FakeSubgraph:
    def __init__(self, ep_name: str, *names: str) -> None:
        self.ep_name = ep_name
        self._nodes = [FakeNode(name) for name in names]

    def get_nodes(self) -> list[FakeNode]:
        return self._nodes


class FakeSession:
    """A session that reports providers, options and node assignment as ONNX Runtime does."""

    def __init__(self, active: list[str], *parts: FakeSubgraph, tf32: str = "0") -> None:
        self._active, self._parts, self._tf32 = active, parts, tf32

    def get_providers(self) -> list[str]:
        return self._active

    def set_providers(self, active: list[str]) -> None:
        self._active = active

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {CUDA: {"use_tf32": self._tf32}}

    def get_provider_graph_assignment_info(self) -> tuple[FakeSubgraph, ...]:
        return self._parts


def test_a_whole_session_that_fell_back_to_the_cpu_is_refused():
    with pytest.raises(Refusal, match="fell back to the CPU") as caught:
        read_back(FakeSession([CPU]), "cuda", Artifact("onnx", Path(), (), ()))
    assert caught.value.hint


PLACE = (
    "/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:122 std::conditional_t<THRW, void,"
    " onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, const char*, int) [with ERRTYPE = cudaError;"
    " std::conditional_t<THRW, void, common::Status> = void] "
)
OLD_DRIVER = (
    f"{PLACE}{PLACE}CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=-1 ;"
    " hostname=h ; file=/onnxruntime_src/x.cc ; line=336 ; expr=cudaSetDevice(info_.device_id); \n\n"
)
BAD_OPTION = (
    "/onnxruntime_src/onnxruntime/core/providers/cuda/info.cc:60 static onnxruntime::Info onnxruntime::Info::From("
    "const onnxruntime::ProviderOptions&) [ONNXRuntimeError] : 1 : FAIL : provider_options_utils.h:187 Parse"
    ' Failed to parse provider option "prefer_nhwc": provider_options_utils.h:56 NameToEnum No such value: WRONG\n'
)
ALLOCATION = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:376 void*"
    " onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to allocate memory for"
    " requested buffer of size 1073741824"
)
ALLOCATION_FAILED = "ONNX Runtime failed: Failed to allocate memory for requested buffer of size 1073741824"


@pytest.mark.parametrize(
    ("raised", "message", "hint"),
    [
        (
            OLD_DRIVER,
            "ONNX Runtime failed: CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version",
            "nvidia-smi",
        ),
        (
            BAD_OPTION,
            'ONNX Runtime failed: Failed to parse provider option "prefer_nhwc": No such value: WRONG',
            "--set",
        ),
        (ALLOCATION, ALLOCATION_FAILED, "--batch"),
        (f"{PLACE}another", "ONNX Runtime could not make a session on CUDA: another", "log"),
    ],
    ids=["driver", "option", "memory", "another"],
)
def test_an_error_while_a_session_is_made_is_a_refusal_that_blames_no_library(
    raised: str, message: str, hint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def fail(session: object, *_given: object) -> None:
        raise RuntimeError(raised)

    monkeypatch.setattr(onnxruntime.InferenceSession, "_create_inference_session", fail)
    with pytest.raises(Refusal) as caught:
        create_session(tmp_path / "model.onnx", None, [(CUDA, {}), CPU], tmp_path)
    assert caught.value.message == message
    assert hint in caught.value.hint


@pytest.mark.parametrize("io", ["copy", "bound"])
def test_a_gpu_that_fails_while_it_is_measured_is_told_in_one_line(io: Io):
    class Failing:
        def fail(self, *_given: object) -> None:
            raise RuntimeError(ALLOCATION)

        run = run_with_iobinding = fail

        def io_binding(self) -> None: ...

        def get_provider_options(self) -> dict[str, dict[str, str]]:
            return {}

    (slot,) = OrtSession(Failing(), Artifact("onnx", Path(), (), ()), "cuda", {}).open_slots(1, io)
    with pytest.raises(Refusal, match=ALLOCATION_FAILED):
        slot.run()


def test_a_session_that_left_its_device_tells_so():
    session = FakeSession([CUDA, CPU])
    opened = OrtSession(session, Artifact("onnx", Path(), (), ()), "cuda", {"provider": CUDA, "device": "cuda"})
    assert opened.effective == {"provider": CUDA, "device": "cuda"}
    session.set_providers([CPU])
    assert opened.effective == {"provider": CPU, "device": "cpu"}


def written(folder: Path, text: str, *, named: bool = True) -> Artifact:
    """Write a graph of one input x, whose nodes are called by their operators and places where they have names."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}')
    for place, node in enumerate(model.graph.node):
        node.name = f"{node.op_type} {place}" if named else ""
    onnx.save(model, folder / "model.onnx")
    return Artifact("onnx", folder / "model.onnx", (TensorSpec("x", "float32", (2, 2048)),), ())


# the scale of a dynamic attention, as PyTorch exports it
SCALED = """(float[B, 2048] x) => (float[B, 2048] y) {
    shape = Shape(x)
    index = Constant<value = int64 {1}>()
    size = Gather(shape, index)
    number = Cast<to = 1>(size)
    root = Sqrt(number)
    one = Constant<value = float {1}>()
    scale = Div(one, root)
    y = Mul(x, scale)
}"""
ON_CPU = ("Shape 0", "Gather 2", "Cast 3", "Sqrt 4", "Div 6")


@pytest.mark.parametrize("named", [True, False])
def test_nodes_that_compute_shapes_may_stay_on_the_cpu_and_are_counted(tmp_path: Path, named: bool):
    artifact = written(tmp_path, SCALED, named=named)
    on_cpu = ON_CPU if named else tuple(name.split()[0] for name in ON_CPU)
    session = FakeSession([CUDA, CPU], FakeSubgraph(CUDA, "Mul 7"), FakeSubgraph(CPU, *on_cpu))
    assert read_back(session, "cuda", artifact) == {
        "provider": CUDA, "nodes": 6, "nodes_elsewhere": 5, "operators_elsewhere": "Shape,Gather,Cast,Sqrt,Div",
    }  # fmt: skip


@pytest.mark.parametrize("names", [("Mul 7",), ("Mul", "Mul"), ("Sqrt", "Sqrt")])
def test_the_same_operators_are_refused_on_the_cpu_where_they_compute_with_tensors(
    tmp_path: Path, names: tuple[str, ...]
):
    artifact = written(tmp_path, SCALED, named=" " in names[0])
    session = FakeSession([CUDA, CPU], FakeSubgraph(CPU, *ON_CPU[:2], *names))
    with pytest.raises(Refusal, match=names[0].split()[0]):
        read_back(session, "cuda", artifact)


@pytest.mark.parametrize(
    ("body", "heavy"),
    [
        ("k = Constant<value = int64 {1}>() y = CumSum(x, k)", "CumSum"),  # two rows of 2048 are no shape
        ("few = ReduceMax<axes = [1], keepdims = 1>(x) y = Sqrt(few)", "ReduceMax"),
        ("s = Constant<value_ints = [64, 2048]>() y = ConstantOfShape(s)", "ConstantOfShape"),
        ("s = Shape(x) f = Cast<to = 1>(s) y = Softmax(f)", "Softmax"),
        ("s = Shape(x) f = Cast<to = 1>(s) y = MatMul(f, f)", "MatMul"),
    ],
)
def test_large_tensors_products_and_normalisations_are_refused_on_the_cpu(tmp_path: Path, body: str, heavy: str):
    artifact = written(tmp_path, f"(float[2, 2048] x) => (y) {{ {body} }}")
    everything = [node.name for node in onnx.load(artifact.path).graph.node if node.op_type != "Constant"]
    with pytest.raises(Refusal, match=rf"1 nodes \(1 {heavy}\)"):
        read_back(FakeSession([CUDA, CPU], FakeSubgraph(CPU, *everything)), "cuda", artifact)


def test_tf32_is_read_back_from_the_session(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    assert uses_tf32(FakeSession([CUDA], tf32="1"))
    assert not uses_tf32(FakeSession([CUDA], tf32="0"))


def test_what_nvidias_libraries_or_the_gpu_do_not_round_is_no_tf32(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    assert not uses_tf32(FakeSession([CUDA], tf32="1"))
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE")
    monkeypatch.setattr(devices, "_capability_major", lambda: 7)
    assert not uses_tf32(FakeSession([CUDA], tf32="1"))


GRAPH = {"cuda.enable_cuda_graph": "1"}


def test_a_cuda_graph_is_refused_where_inferences_run_side_by_side():
    backend.check_load(Load(options=GRAPH), "cuda", "fp32")
    with pytest.raises(Refusal, match="2 are to be in flight") as caught:
        backend.check_load(Load(options=GRAPH, streams=2), "cuda", "fp32")
    assert "--streams 1" in caught.value.hint


@pytest.mark.parametrize(
    ("io", "slots", "shape", "reason"),
    [("copy", 1, (2,), "same memory"), ("bound", 2, (2,), "same memory"), ("bound", 1, ("found",), "fixed shapes")],
)
def test_a_cuda_graph_is_refused_where_it_would_answer_with_other_memory(
    io: Io, slots: int, shape: tuple[int | str, ...], reason: str
):
    artifact = Artifact("onnx", Path(), (), (TensorSpec("y", "float32", shape),))
    session = OrtSession(Replaying([CUDA, CPU]), artifact, "cuda", {})
    with pytest.raises(Refusal, match=reason) as caught:
        session.open_slots(slots, io)
    assert "ort.cuda.enable_cuda_graph" in caught.value.hint


class Replaying(FakeSession):
    """A session that repeats a CUDA graph."""

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {CUDA: {"enable_cuda_graph": "1"}}


def test_a_cuda_graph_is_refused_where_the_cpu_computes_with_values_of_inputs(tmp_path: Path):
    """It repeats what the GPU did: what a node on the CPU made of an input of the first run stays for ever."""
    graph = "(float[4] x, int64 a) => (float[4] y, int64[1] s) { s = Shape(x) y = CumSum(x, a) }"
    artifact = replace(
        written(tmp_path, graph), inputs=(TensorSpec("x", "float32", (4,)), TensorSpec("a", "int64", ()))
    )
    shape, cumulative = [node.name for node in onnx.load(artifact.path).graph.node]
    with pytest.raises(Refusal, match=r"values of inputs \(CumSum\)") as caught:
        read_back(Replaying([CUDA, CPU], FakeSubgraph(CPU, cumulative)), "cuda", artifact)
    assert "ort.cuda.enable_cuda_graph" in caught.value.hint
    assert read_back(Replaying([CUDA, CPU], FakeSubgraph(CPU, shape)), "cuda", artifact)["nodes_elsewhere"] == 1
