"""Rows on a GPU settle by time, have long rounds, and are told with what the GPU did, as a scripted NVML answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import launches
import pytest
from scripted_crew import CALL_NS, CALLS_PER_SAMPLE, DEADLINE_S, NOTHING, ScriptedCrew, all_of, install
from scripted_nvml import Script, ScriptedNvml, put_in_place

from irbench.core.record import CellLaunch, GpuReading
from irbench.measure.core_to_core import CoreLink
from irbench.runner.launch import Launch
from irbench.runner.launch_state import GroupTooLarge, LaunchInputs, LaunchPlan, needs_split_on_gpu
from irbench.spec import Artifact, Cell, Goal, Load, Objective, Program, Timing
from irbench.stats.launch_planning import Room


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedCrew]:
    return install(monkeypatch)


def gpu(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    put_in_place(monkeypatch, ScriptedNvml(answers))


def measured(folder: Path, device: str, backend: str = "ort") -> CellLaunch:
    return launched(folder, backend=backend, device=device).measure()[0].cells[0]


def launched(folder: Path, objective: Objective = "latency", **changes: Any) -> Launch:
    group = launches.group("short")
    group = replace(group, goal=Goal(objective), cells=(replace(group.cells[0], **changes),))
    timing = Timing(deadline=DEADLINE_S)
    plan = LaunchPlan(group, 0, timing, seed=0, logs=folder, expected=(NOTHING,), cpus=(0,))
    inputs = LaunchInputs(0, group.cells, Room(timing.budget, timing.min_launches), new=all_of(group))
    return Launch(plan, inputs, CoreLink((0,)), lambda _: None)


def rounds_of(crew: ScriptedCrew) -> list[tuple[int, int]]:
    """Return the samples and the settle calls of each round."""
    return [(args[1], args[2]) for _, method, args in crew.asked if method == "take_round"]


@pytest.mark.parametrize(("backend", "device"), [("ort", "cuda"), ("tf", "gpu"), ("openvino", "gpu")])
def test_a_row_on_a_gpu_settles_for_0_3_s_and_has_rounds_of_0_1_s(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch, backend: str, device: str
) -> None:
    gpu(monkeypatch)
    measured(tmp_path, device, backend)
    for samples, settle_calls in rounds_of(crews[0]):
        assert samples * 10 * 5e-6 >= 0.1
        assert settle_calls * 5e-6 >= 0.3


def test_a_row_on_the_cpu_settles_and_lasts_as_before(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch)
    own = measured(tmp_path, "cpu")
    assert all(samples * 10 * 5e-6 < 0.1 and calls * 5e-6 <= 0.02 for samples, calls in rounds_of(crews[0]))
    assert {round_.gpu for round_ in own.rounds} == {None}


def test_what_a_gpu_tells_before_and_after_each_round_is_kept(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch, nvmlDeviceGetClockInfo=Script(345, 1_980, 345, 1_755))
    first, second, *_ = measured(tmp_path, "cuda").rounds
    quiet = GpuReading(345, 70_000, (), 0)
    assert first.gpu == (quiet, replace(quiet, sm_mhz=1_980))
    assert second.gpu == (quiet, replace(quiet, sm_mhz=1_755))


def test_what_a_row_takes_of_a_gpu_s_memory_is_what_is_in_use_after_its_turns_less_what_was_before(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    used = (1_000, 1_000, 5_000, 5_000, 6_000, 9_000, 8_500)  # between two of its turns others took 3,000
    gpu(monkeypatch, nvmlDeviceGetMemoryInfo=Script(*(SimpleNamespace(used=used, free=10_000) for used in used)))
    assert measured(tmp_path, "cuda").peak_memory_bytes["gpu"] == 5_000


def test_a_row_on_the_cpu_takes_nothing_of_a_gpu(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch)
    assert "gpu" not in measured(tmp_path, "cpu").peak_memory_bytes


def test_rows_that_do_not_fit_into_a_gpu_together_are_launched_in_parts(tmp_path: Path) -> None:
    graph = tmp_path / "model.onnx"
    graph.write_bytes(bytes(3_000))
    cell = Cell("c", Artifact("onnx", graph, (), ()), "ort", "cuda", Load())
    assert needs_split_on_gpu(cell, [0, 5_000], 5_000)
    assert needs_split_on_gpu(cell, [0, 1_000], 3_100)
    assert not needs_split_on_gpu(cell, [0, 5_000], 6_000)
    assert not needs_split_on_gpu(cell, [5_000], 1)  # a comparison needs two
    assert not needs_split_on_gpu(cell, [0, 5_000], None)


def test_a_launch_tells_which_rows_fit_into_the_gpu(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tmp_path / "model.onnx"
    graph.write_bytes(bytes(3_000))
    group = launches.group("short", "slow", "third")
    cells = tuple(
        replace(cell, backend="ort", device="cuda", artifact=Artifact("onnx", graph, (), ())) for cell in group.cells
    )
    group = replace(group, cells=cells)
    gpu(monkeypatch, nvmlDeviceGetMemoryInfo=SimpleNamespace(used=1_000, free=2_000))
    plan = LaunchPlan(group, 0, Timing(), seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    inputs = LaunchInputs(0, cells, Room(90.0, 4), new=all_of(group))
    monkeypatch.setitem(CALL_NS, "third", 5_000.0)
    monkeypatch.setitem(CALLS_PER_SAMPLE, "third", 10)
    with pytest.raises(GroupTooLarge) as refused:
        Launch(plan, inputs, CoreLink((0,)), lambda _: None).measure()
    assert len(refused.value.fitting) == 2


def test_own_code_that_uses_cuda_is_timed_and_told_as_a_row_on_a_gpu(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch)
    launch = launched(tmp_path, backend="torch", program=Program("callable", "torch_model.py:load"))
    crews[0].effective = {"uses_cuda": True}
    own = launch.measure()[0].cells[0]
    assert all(samples * 10 * 5e-6 >= 0.1 and calls * 5e-6 >= 0.3 for samples, calls in rounds_of(crews[0]))
    assert all(round_.gpu is not None for round_ in own.rounds)
    assert (own.effective["gpu"], "gpu" in own.peak_memory_bytes) == ("NVIDIA H100 80GB HBM3", True)


def test_own_code_on_the_cpu_is_timed_as_any_row_on_the_cpu(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch)
    own = launched(tmp_path, backend="mine", program=Program("callable", "mine.py:load")).measure()[0].cells[0]
    assert all(calls * 5e-6 <= 0.02 for _, calls in rounds_of(crews[0]))
    assert "gpu" not in own.effective


def test_several_cards_are_counted(tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, ScriptedNvml({}, {}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert measured(tmp_path, "cuda").effective["gpu"] == "2 x NVIDIA H100 80GB HBM3"


def test_a_row_whose_gpu_cannot_be_read_keeps_the_reason(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(monkeypatch, ScriptedNvml({}, {"nvmlDeviceGetName": "NVIDIA T4"}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert measured(tmp_path, "cuda").effective["gpu_unread"] == "unknown-order"


def test_a_row_on_a_gpu_is_asked_at_the_end_where_it_ran(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch)
    measured(tmp_path, "cuda")
    methods = [method for _, method, _ in crews[0].asked]
    assert methods.index("require_same_device") > max(at for at, name in enumerate(methods) if name == "take_round")
    measured(tmp_path, "cpu")
    assert "require_same_device" not in [method for _, method, _ in crews[1].asked]


def test_own_code_on_a_gpu_has_no_cost(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch)
    launch = launched(tmp_path, objective="cost", backend="torch", program=Program("callable", "torch_model.py:load"))
    crews[0].effective = {"uses_cuda": True}
    assert launch.measure()[0].failures["short"].message.endswith("the row would look free")
