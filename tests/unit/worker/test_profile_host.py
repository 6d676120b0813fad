"""What a worker makes of a cell whose runtime records its operators."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import models
import pytest
from fake_backend import FakeBackend, ProfiledFakeBackend

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Bundle, Cell, InputSpec, Load, Timing, Workload
from irbench.spi import Backend, InferenceProfile, OperatorTime, Refusal
from irbench.worker.cell import CellTask
from irbench.worker.profile_host import MOST_CALLS, ProfiledRun, ProfileHost, with_onnx_names
from irbench.worker.watchdog import MARK, worker_folder

CALL_US = 5000
NODES = ("conv", "relu", "pool", "flatten", "dense_layer", "softmax")


def host_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, backend: Backend | None = None, streams: int = 1, **options: str
) -> ProfileHost:
    """Return a host of a scripted backend; only its own clock passes."""
    found = backend or ProfiledFakeBackend("fake-a")
    monkeypatch.setattr(registry, "backend", lambda _: found)
    # the worker's own collector is switched off for good, this process' must not be
    monkeypatch.setattr("irbench.worker.cell.gc", SimpleNamespace(collect=int, freeze=int, disable=int))
    artifact = bind(models.mlp(folder), {"batch": 2}, folder)
    load = Load(batch=2, threads=1, streams=streams, options={"call_us": str(CALL_US), **options})
    cell = Cell("a", artifact, "fake-a", "cpu", load)
    inputs = tuple(InputSpec(spec) for spec in artifact.inputs)
    return ProfileHost(CellTask(cell, Workload(Bundle("mlp", inputs, (artifact,)), {"batch": 2}), Timing()))


def profiled(host: ProfileHost, inferences: int = 20) -> ProfiledRun:
    host.import_runtime()
    host.prepare(with_outputs=False)
    host.warm_up()
    return host.profile(inferences)


def gpu_host_of(folder: Path, monkeypatch: pytest.MonkeyPatch, device: str) -> ProfileHost:
    backend = ProfiledFakeBackend("fake-a", devices=("cpu", "cuda"))
    task = host_of(folder, monkeypatch, backend, copy_us="300", profile="kernels")._task
    return ProfileHost(replace(task, cell=replace(task.cell, device=device)))


def test_on_a_gpu_copies_are_timed_apart_and_are_part_of_the_latency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = profiled(gpu_host_of(tmp_path, monkeypatch, "cuda"))
    assert {(copy_in // 1000, copy_out // 1000) for copy_in, copy_out in run.copies_ns} == {(300, 300)}
    assert len(run.copies_ns) == len(run.latency_ns)
    assert {latency // 1000 for latency in run.latency_ns} == {CALL_US + 600}
    assert run.profiles[0].gpu is not None


def test_on_the_cpu_nothing_is_bound_and_no_copy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = profiled(gpu_host_of(tmp_path, monkeypatch, "cpu"))
    assert run.copies_ns == ()
    assert {latency // 1000 for latency in run.latency_ns} == {CALL_US}


def test_each_inference_is_timed_and_profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = profiled(host_of(tmp_path, monkeypatch, call_us="400000"))
    assert len(run.latency_ns) == len(run.profiles) == 20
    assert {latency // 1000 for latency in run.latency_ns} == {400000}
    operators = run.profiles[0].operators
    assert [operator.nodes for operator in operators if not operator.is_overhead] == [(name,) for name in NODES]
    assert 0.9 < sum(operator.duration_ns for operator in operators) / run.latency_ns[0] < 1.0
    assert run.effective["streams"] == 1


@pytest.mark.parametrize(("call_us", "expected"), [(5000, 60), (1, MOST_CALLS), (10**6, 20)])
def test_short_inferences_are_repeated_for_as_long_as_a_warm_up_but_not_without_end(
    call_us: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = profiled(host_of(tmp_path, monkeypatch, call_us=str(call_us)))
    assert len(run.latency_ns) == expected


def test_a_warm_up_makes_no_more_calls_than_runtimes_can_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = host_of(tmp_path, monkeypatch, call_us="1")
    host.prepare(with_outputs=False)
    host.warm_up()
    assert host._session is not None
    assert MOST_CALLS < host._session._runs < MOST_CALLS + 20  # type: ignore[attr-defined]


def test_recording_costs_time_that_no_operator_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = profiled(host_of(tmp_path, monkeypatch))
    costly = profiled(host_of(tmp_path, monkeypatch, profiling_us="1000"))
    assert costly.latency_ns[0] - plain.latency_ns[0] == pytest.approx(1_000_000, abs=10)
    assert costly.profiles[0] == plain.profiles[0]


def test_fused_operators_name_what_they_contain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = profiled(host_of(tmp_path, monkeypatch, profile="fused", weights="Conv:8"))
    fused, *others, own = run.profiles[0].operators
    assert fused.nodes == NODES[:2]
    assert [other.nodes for other in others] == [NODES[2:4], NODES[4:]]
    assert fused.duration_ns == pytest.approx(8 * others[0].duration_ns, rel=1e-5)
    assert own.is_overhead


def test_one_profile_may_be_the_mean_of_all_inferences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = profiled(host_of(tmp_path, monkeypatch, profile="averaged"))
    (mean,) = run.profiles
    assert mean.averages == len(run.latency_ns) == 60


def test_a_profile_that_lacks_an_inference_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IrbenchError, match="recorded 59 of 60 inferences"):
        profiled(host_of(tmp_path, monkeypatch, profile="lost"))


def test_a_backend_that_cannot_profile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IrbenchError, match="fake-a does not report how long operators take") as caught:
        profiled(host_of(tmp_path, monkeypatch, FakeBackend("fake-a")))
    assert "--backends" in caught.value.hint


def test_a_backend_may_refuse_to_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refusal, match="records no operators"):
        profiled(host_of(tmp_path, monkeypatch, profile="none"))


@pytest.mark.parametrize("asked", [{"streams": 2}, {"instances": 2}])
def test_several_inferences_at_a_time_cannot_be_told_apart(
    asked: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = host_of(tmp_path, monkeypatch)._task
    with pytest.raises(IrbenchError, match="one inference at a time"):
        ProfileHost(replace(task, cell=replace(task.cell, load=replace(task.cell.load, **asked))))


def test_operators_of_a_framework_are_given_the_names_of_onnx_nodes() -> None:
    exported = Inventory(
        nodes=(
            NodeEntry("MatMul__3", "MatMul", "", ("x", "w"), ("p",)),
            NodeEntry("dense/BiasAdd", "Add", "", ("p", "b"), ("dense/BiasAdd:0",)),
        )
    )
    operators = (
        OperatorTime("dense/MatMul", "MatMul", 30, ("dense/MatMul",)),
        OperatorTime("dense/BiasAdd", "BiasAdd", 10, ("dense/BiasAdd",)),
        OperatorTime("SessionRun", "SessionRun", 5, is_overhead=True),
    )
    renamed = with_onnx_names([InferenceProfile(operators), InferenceProfile(operators[:1], 7)], exported, {})
    assert [operator.nodes for operator in renamed[0].operators] == [("MatMul__3",), ("dense/BiasAdd",), ()]
    assert renamed[1] == InferenceProfile((replace(operators[0], nodes=("MatMul__3",)),), 7)


def test_runtimes_record_into_a_folder_that_goes_with_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(MARK, "profiled")
    expected = worker_folder("profiled")
    host_of(tmp_path, monkeypatch)
    assert Path(tempfile.gettempdir()) == expected
    assert expected.is_dir()
