"""What is ONNX Runtime's own: options, threads, precision by graph, and the silent ways back to the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import backend_checks
import models
import onnx
import pytest

from irbench.onnx.reading.graph_precision import GraphPrecision
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Artifact, Load
from irbench.spi import Refusal
from irbench.worker import call_in_worker
from irbench_ort import backend, reference
from irbench_ort.adapter import require_computed, require_convertible
from irbench_ort.options import KNOWN, parse_options
from irbench_ort.session import create_session

CPU = "CPUExecutionProvider"


def in_worker(check: str, *arguments: Any) -> Any:
    return call_in_worker(f"backend_checks:{check}", *arguments, deadline_s=60)


def test_either_distribution_is_described(monkeypatch: pytest.MonkeyPatch):
    from importlib.metadata import PackageNotFoundError

    def only_gpu(name: str) -> str:
        if name == "onnxruntime-gpu":
            return "1.31.0"
        raise PackageNotFoundError(name)

    monkeypatch.setattr("irbench_ort.adapter.version", only_gpu)
    assert (backend.describe().distribution, backend.describe().version) == ("onnxruntime-gpu", "1.31.0")


def test_a_missing_runtime_is_described_by_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    from importlib.metadata import PackageNotFoundError

    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("irbench_ort.adapter.version", nothing)
    assert backend.describe().version is None
    assert backend.describe().install.startswith("pip install 'onnxruntime>=")


def test_callers_count_as_threads():
    pool_and_one_caller = {(1, 1): 1, (4, 1): 4, (4, 3): 2, (4, 4): 1, (2, 8): 1, (None, 4): 0}
    loads = [Load(threads=threads, streams=streams) for threads, streams in pool_and_one_caller]
    found = in_worker("ort_intra_op_threads", loads)
    assert dict(zip(pool_and_one_caller, found, strict=True)) == pool_and_one_caller


def test_the_threads_read_back_are_those_the_session_started_and_its_callers(tmp_path: Path):
    total = {(1, 1): 1, (3, 1): 3, (3, 2): 3, (1, 4): 4}
    artifact = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    loads = [Load(threads=threads, streams=streams) for threads, streams in total]
    found = in_worker("effective_threads", "irbench_ort", artifact, loads)
    assert dict(zip(total, found, strict=True)) == total


def test_options_reach_the_session_and_are_read_back(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    options = {
        "graph_optimization_level": "basic",
        "intra_op.allow_spinning": "off",
        "enable_mem_pattern": "0",
        "optimization.enable_gelu_approximation": "yes",
    }
    effective = in_worker("effective", "irbench_ort", artifact, Load(options=options))
    assert effective["graph_optimization_level"] == "basic"
    assert effective["session.intra_op.allow_spinning"] == "0"
    assert effective["enable_mem_pattern"] is False
    assert effective["optimization.enable_gelu_approximation"] == "1"


def test_the_reference_optimises_nothing(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path)
    assert (
        in_worker("effective", "irbench_ort", artifact, Load(), "reference")["graph_optimization_level"] == "disabled"
    )
    assert reference.name == backend.name


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("intra_op.allow_spining", "1", "no option 'intra_op.allow_spining'"),
        ("intra_op.allow_spinning", "maybe", "cannot be 'maybe'"),
        ("graph_optimization_level", "9", "cannot be '9'"),
        ("dynamic_block_base", "-4", "cannot be '-4'"),
        ("intra_op_num_threads", "4", "set by irbench itself"),
        ("cuda.prefer_nhwc", "1", "an option of ort:cuda"),
    ],
)
def test_an_option_that_means_nothing_is_refused_with_a_way_out(key: str, value: str, message: str):
    with pytest.raises(Refusal, match=message) as caught:
        parse_options({key: value}, "cpu", "fp32")
    assert caught.value.hint


def test_a_misspelt_option_is_answered_with_the_nearest_one_and_the_list():
    with pytest.raises(Refusal) as caught:
        parse_options({"intra_op.allow_spining": "1"}, "cpu", "fp32")
    assert "Did you mean intra_op.allow_spinning?" in caught.value.hint
    assert all(key in caught.value.hint for key in KNOWN)


@pytest.mark.parametrize(
    ("asked", "has_kernels", "message", "way"),
    [
        ("bf16", True, "only if the graph was converted to bf16", "--optimize bf16"),
        ("bf16", False, "no bf16 kernels on this device", "--precision fp32"),
        ("int8", False, "only if the graph was converted to int8", "--optimize int8"),
    ],
)
def test_a_graph_of_fp32_is_not_computed_in_something_else(asked: Any, has_kernels: bool, message: str, way: str):
    refusal = refusal_of("fp32", asked, has_kernels)
    assert refusal is not None
    assert message in refusal.message
    assert way in refusal.hint


@pytest.mark.parametrize("held", ["fp16", "bf16", "fp64"])
def test_what_a_graph_of_another_precision_is_computed_in_only_its_session_tells(held: str):
    assert refusal_of(held, "int8", has_kernels=False) is None


def refusal_of(held: str, asked: Any, has_kernels: bool) -> Refusal | None:
    """Return why a graph of a precision is not computed in another; None where its session decides."""
    try:
        require_convertible(GraphPrecision({held: 10}, frozenset(), quantised=False), asked, lambda _: has_kernels)
    except Refusal as refusal:
        return refusal
    return None


@pytest.mark.parametrize(
    ("computed", "asked", "way"),
    [
        ("fp32", "fp16", "`--precision fp32`"),
        ("int8", "fp32", "`--precision int8`"),
        ("fp64", "fp32", "`--precision native`"),
        ("tf32", "fp32", "`--precision native`"),
    ],
)
def test_a_refused_precision_leads_to_one_that_works(computed: str, asked: Any, way: str, tmp_path: Path):
    artifact = models.mlp(tmp_path)
    with pytest.raises(Refusal, match=f"in {computed} on cpu, not in {asked}") as caught:
        require_computed(computed, artifact, Load(precision=asked), "cpu")
    assert caught.value.hint == f"Use {way}."
    advised: Any = way.removeprefix("`--precision ").removesuffix("`")
    require_computed(computed, artifact, Load(precision=advised), "cpu")


def test_a_conversion_that_is_not_computed_is_to_be_left_out(tmp_path: Path):
    converted = replace(models.mlp(tmp_path), variant="basic-fp16")
    with pytest.raises(Refusal) as caught:
        require_computed("fp32", converted, Load(precision="fp16"), "cpu")
    assert caught.value.hint == "Leave basic-fp16 out of `--optimize`."


def test_a_precision_that_nobody_asked_for_is_not_required(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path, "float16"), {"batch": 2}, tmp_path)
    effective = in_worker("effective", "irbench_ort", artifact, Load(precision="fp16", precision_required=False))
    assert effective["precision"] in ("fp16", "fp32")


@pytest.mark.ci
def test_a_converted_graph_is_never_called_fp32_by_its_label_but_by_what_it_is_computed_in(tmp_path: Path):
    artifact = bind(models.mlp(tmp_path, "float16"), {"batch": 2}, tmp_path)
    asked = in_worker("effective", "irbench_ort", artifact, Load(precision="fp16"))
    native = in_worker("effective", "irbench_ort", artifact, Load(precision="native"))
    single = in_worker("effective", "irbench_ort", artifact, Load(precision="fp32"))
    if isinstance(asked, str):  # no kernels for fp16 here
        assert "computes this graph in fp32" in asked
        assert native["precision"] == single["precision"] == "fp32"
    else:
        assert asked["precision"] == native["precision"] == "fp16"


@pytest.mark.ci
def test_a_quantised_graph_is_int8_and_refused_under_a_pinned_precision(tmp_path: Path):
    artifact = backend_checks.quantised_model(tmp_path)
    assert in_worker("effective", "irbench_ort", artifact, Load(precision="native"))["precision"] == "int8"
    assert in_worker("effective", "irbench_ort", artifact, Load(precision="int8"))["precision"] == "int8"
    assert "int8" in in_worker("effective", "irbench_ort", artifact, Load())


def test_quantisers_around_a_product_of_floats_are_not_called_int8(tmp_path: Path):
    artifact = backend_checks.quantised_model(tmp_path)
    plain = Load(precision="native", options={"graph_optimization_level": "disabled"})
    assert in_worker("effective", "irbench_ort", artifact, plain)["precision"] == "fp32"


def test_an_opset_that_it_does_not_read_yet_is_named_with_the_one_that_it_reads(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    model = onnx.load(artifact.path)
    model.opset_import[0].version = 999
    onnx.save(model, artifact.path)
    with pytest.raises(Refusal, match=r"reads opset \d+ at most, and this graph has 999") as caught:
        create_session(artifact.path, None, [CPU], tmp_path)
    assert "convert_version(model, " in caught.value.hint


class _OldRuntime:
    """Loads a graph as a runtime does that reads no IR version above 9."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import onnxruntime

        self._session = onnxruntime.InferenceSession
        self.paths: list[str] = []
        monkeypatch.setattr(onnxruntime, "InferenceSession", self)

    def __call__(self, path: str, settings: Any, providers: list[Any], **others: Any) -> Any:
        from onnxruntime.capi.onnxruntime_pybind11_state import Fail

        version = onnx.load(path).ir_version
        if version > 9:
            raise Fail(f"Unsupported model IR version: {version}, max supported IR version: 9")
        self.paths.append(path)
        return self._session(path, settings, providers=providers)


def newer(artifact: Artifact, version: int = 11) -> Artifact:
    model = onnx.load(artifact.path)
    model.ir_version = version
    onnx.save(model, artifact.path)
    return artifact


def test_an_ir_version_that_the_runtime_cannot_read_is_lowered_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = newer(models.mlp(tmp_path)).path
    old = _OldRuntime(monkeypatch)
    session, lowered = create_session(path, None, [CPU], tmp_path)
    assert lowered == {"ir_version": 11, "lowered_ir_version": 9}
    assert [value.name for value in session.get_inputs()] == ["pixels"]
    assert old.paths != [str(path)]


def test_a_graph_that_needs_its_ir_version_is_refused_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    x, y = (
        onnx.helper.make_tensor_value_info(name, kind, [2]) for name, kind in (("x", onnx.TensorProto.INT4), ("y", 1))
    )
    graph = onnx.helper.make_graph([onnx.helper.make_node("Cast", ["x"], ["y"], to=1)], "g", [x], [y])
    onnx.save(onnx.helper.make_model(graph, ir_version=11), tmp_path / "m.onnx")
    _OldRuntime(monkeypatch)
    with pytest.raises(Refusal, match="reads IR version 9 at most, and the types of this graph need 10") as caught:
        create_session(tmp_path / "m.onnx", None, [CPU], tmp_path)
    assert "Upgrade onnxruntime" in caught.value.hint


def test_a_usual_file_is_loaded_as_it_is(tmp_path: Path):
    assert create_session(models.mlp(tmp_path).path, None, [CPU], tmp_path)[1] == {}
