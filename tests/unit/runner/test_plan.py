"""From a request to groups: rows, baselines, and parts of groups that are too large."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import models
import pytest
from onnx import TensorProto, helper

from irbench.errors import ExitCode, IrbenchError
from irbench.optimizer import LEVELS, Recipe
from irbench.runner import artifacts
from irbench.runner.capacity import needs_split
from irbench.runner.plan import MOST_CELLS, PlannedGroup, plan, split
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, Cell, InputSpec, Load

FAKES = (("fake-a", "cpu"), ("fake-b", "cpu"))


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))


def planned(bundle: Bundle, scratch: Path, **changes: object) -> tuple[PlannedGroup, ...]:
    return plan(replace(RunRequest((bundle,), FAKES), **changes), scratch)  # type: ignore[arg-type]


def test_every_backend_at_every_setting_is_a_row(bundle: Bundle, tmp_path: Path) -> None:
    (group,) = planned(bundle, tmp_path, streams=(1, 2, 4), threads=2)
    assert [(cell.backend, cell.load.streams, cell.load.threads) for cell in group.group.cells] == [
        (name, streams, 2) for name, _ in FAKES for streams in (1, 2, 4)
    ]


def test_every_batch_is_a_group_with_its_shapes_bound(bundle: Bundle, tmp_path: Path) -> None:
    groups = planned(bundle, tmp_path, batches=(1, 4))
    assert [group.group.batch for group in groups] == [1, 4]
    for group in groups:
        artifact = group.group.cells[0].artifact
        assert artifact is not None
        assert artifact.inputs[0].shape[0] == group.group.batch
        assert not artifact.inputs[0].dynamic_dimensions


def test_a_backend_named_twice_is_measured_against_itself(bundle: Bundle, tmp_path: Path) -> None:
    (group,) = planned(bundle, tmp_path, backends=(("fake-a", "cpu"), ("fake-a", "cpu")), streams=(2,))
    assert [cell.label for cell in group.group.cells] == ["fake-a x2", "fake-a x2 again"]
    assert group.group.baseline == group.group.cells[0].id != group.group.cells[1].id


def test_a_converted_graph_is_a_row_in_its_own_precision_once(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = replace(bundle.artifacts[0], variant="none-int8")
    monkeypatch.setattr(artifacts, "optimize", lambda *_: SimpleNamespace(artifact=artifact))
    backends, precisions = (("fake-a", "cpu"),), ("fp32", "bf16")
    (group,) = planned(bundle, tmp_path, backends=backends, precisions=precisions, variants=("none", "none-int8"))
    rows = [(cell.label, cell.load.precision) for cell in group.group.cells]
    assert rows == [("fake-a", "fp32"), ("fake-a+none-int8", "int8"), ("fake-a", "bf16")]


def test_a_graph_that_holds_another_precision_is_a_row_in_that_unless_one_is_asked_for(
    bundle: Bundle, tmp_path: Path
) -> None:
    graph = replace(bundle.artifacts[0], kind="tf-graph")
    both = replace(bundle, artifacts=(models.mlp(tmp_path, "float16", "narrow"), graph))
    backends = (("fake-a", "cpu"), ("tf", "cpu"))

    def rows(precisions: tuple[str, ...] | None) -> list[tuple[str, str]]:
        (group,) = planned(both, tmp_path, backends=backends, precisions=precisions)
        return [(cell.label, cell.load.precision) for cell in group.group.cells]

    assert rows(None) == [("fake-a", "fp16"), ("tf", "fp32")]
    assert rows(("fp32",)) == [("fake-a", "fp32"), ("tf", "fp32")]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_graph_whose_precision_cannot_be_asked_for_is_a_row_in_fp32(
    bundle: Bundle, tmp_path: Path, dtype: str
) -> None:
    (group,) = planned(replace(bundle, artifacts=(models.mlp(tmp_path, dtype, "wide"),)), tmp_path, precisions=None)
    assert {cell.load.precision for cell in group.group.cells} == {"fp32"}


def test_options_reach_only_the_backend_they_name(bundle: Bundle, tmp_path: Path) -> None:
    (group,) = planned(bundle, tmp_path, options={"fake-b": {"call_us": "7"}})
    assert [dict(cell.load.options) for cell in group.group.cells] == [{}, {"call_us": "7"}]


def test_tf_is_the_baseline_when_it_takes_part_and_the_first_row_otherwise(bundle: Bundle, tmp_path: Path) -> None:
    graph = replace(bundle.artifacts[0], kind="tf-graph")
    both = replace(bundle, artifacts=(*bundle.artifacts, graph))
    (with_tf,) = planned(both, tmp_path, backends=(("fake-a", "cpu"), ("tf", "cpu")))
    (without,) = planned(bundle, tmp_path)
    assert with_tf.group.baseline == "tf-cpu-fp32-x1"
    assert without.group.baseline == "fake-a-cpu-fp32-x1"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("fake-b", "fake-b-cpu-fp32-x1"),
        ("fake-b@streams=2", "fake-b-cpu-fp32-x2"),
        ("fake-a@streams=2,precision=fp32", "fake-a-cpu-fp32-x2"),
        ("fake-b x2", "fake-b-cpu-fp32-x2"),
    ],
)
def test_a_baseline_can_be_named_by_row_and_setting(bundle: Bundle, tmp_path: Path, asked: str, found: str) -> None:
    (group,) = planned(bundle, tmp_path, streams=(1, 2), baseline=asked)
    assert group.group.baseline == found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("tf", "none of the rows"),
        ("fake-a@streams=3", "none of the rows"),
        ("fake-a@colour=red", "not understood"),
        ("fake-a@streams", "not understood"),
    ],
)
def test_a_baseline_that_is_no_row_is_refused(bundle: Bundle, tmp_path: Path, asked: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said) as caught:
        planned(bundle, tmp_path, baseline=asked)
    assert caught.value.hint


def test_a_backend_that_reads_nothing_the_model_has_is_absent_with_a_reason(bundle: Bundle, tmp_path: Path) -> None:
    (group,) = planned(bundle, tmp_path, backends=(("tf", "cpu"), ("fake-a", "cpu")))
    assert set(group.absent) == {"tf-cpu-fp32-x1"}
    assert "tf-graph" in group.absent["tf-cpu-fp32-x1"].message
    assert group.group.baseline == "fake-a-cpu-fp32-x1"


def test_a_model_that_no_backend_can_run_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="None of the backends can run mlp"):
        planned(bundle, tmp_path, backends=(("tf", "cpu"),))


def test_a_model_that_no_backend_can_run_does_not_keep_another_from_being_measured(
    bundle: Bundle, tmp_path: Path
) -> None:
    unreadable = replace(bundle, name="unreadable", artifacts=(replace(bundle.artifacts[0], kind="pickle"),))
    first, second = plan(RunRequest((unreadable, bundle), FAKES), tmp_path)
    assert not first.can_run
    assert {failure.stage for failure in first.absent.values()} == {"plan"}
    assert second.can_run


def test_a_baseline_that_cannot_run_stays_the_one_that_was_asked_for(bundle: Bundle, tmp_path: Path) -> None:
    (group,) = planned(bundle, tmp_path, backends=(("tf", "cpu"), *FAKES), baseline="tf")
    assert group.group.baseline == "tf-cpu-fp32-x1"
    assert "tf-cpu-fp32-x1" in group.absent


def test_where_the_baseline_cannot_run_the_parts_of_a_split_share_another(bundle: Bundle, tmp_path: Path) -> None:
    first, second = planned(
        bundle, tmp_path, backends=(("tf", "cpu"), *FAKES), streams=(1, 2, 3, 4), baseline="tf@streams=1"
    )
    assert first.group.baseline == "tf-cpu-fp32-x1"
    assert second.group.baseline == "fake-a-cpu-fp32-x1"
    assert all("fake-a-cpu-fp32-x1" in {cell.id for cell in part.group.cells} for part in (first, second))


def test_a_group_with_too_many_cells_is_split_with_the_baseline_in_each_part(bundle: Bundle, tmp_path: Path) -> None:
    parts = planned(bundle, tmp_path, streams=(1, 2, 3, 4, 5), baseline="fake-b@streams=3")
    assert all(len(part.group.cells) <= MOST_CELLS for part in parts)
    assert all("fake-b-cpu-fp32-x3" in {cell.id for cell in part.group.cells} for part in parts)
    assert {cell.id for part in parts for cell in part.group.cells} == {
        f"{name}-cpu-fp32-x{streams}" for name, _ in FAKES for streams in range(1, 6)
    }


def test_a_split_is_explained_by_the_rows_that_one_table_can_hold(bundle: Bundle, tmp_path: Path) -> None:
    said: list[str] = []
    plan(RunRequest((bundle,), FAKES, streams=(1, 2, 3, 4)), tmp_path, said.append)
    assert said == ["8 rows make 2 tables (6 rows at most in one), each with the baseline"]


def test_cells_that_cannot_run_do_not_count_towards_a_split(bundle: Bundle, tmp_path: Path) -> None:
    (group,) = planned(bundle, tmp_path, backends=(*FAKES, ("tf", "cpu")), streams=(1, 2, 3))
    assert len(group.group.cells) == 9
    (first, second) = split(group, 4)
    assert len(first.absent) == 3
    assert not second.absent


def test_a_cell_that_does_not_fit_beside_two_others_asks_for_a_split(bundle: Bundle) -> None:
    cell = Cell("third", bundle.artifacts[0], "fake-a", "cpu", Load())
    assert needs_split(cell, [4_000_000_000, 1_000_000_000], 3_000_000_000)
    assert not needs_split(cell, [4_000_000_000, 1_000_000_000], 5_000_000_000)
    assert not needs_split(cell, [4_000_000_000], 1)


def test_weights_outside_a_graph_count_towards_what_a_cell_will_need(bundle: Bundle, tmp_path: Path) -> None:
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=(250_000_000,))
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="weights.bin")
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [], [weights])
    path = tmp_path / "outside.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    cell = Cell("third", replace(bundle.artifacts[0], path=path), "fake-a", "cpu", Load())
    assert needs_split(cell, [1, 1], 3_000_000_000)
    assert not needs_split(cell, [1, 1], 4_000_000_000)


def test_every_level_of_optimisation_is_a_row(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, int]]] = []

    def optimized(_bundle: Bundle, sizes: dict[str, int], recipe: Recipe, _say: object) -> SimpleNamespace:
        asked.append((recipe.name, dict(sizes)))
        return SimpleNamespace(artifact=replace(bundle.artifacts[0], variant=recipe.name, domains=("com.microsoft",)))

    monkeypatch.setattr(artifacts, "optimize", optimized)
    (group,) = planned(bundle, tmp_path, variants=("none", "all"))
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-a+all", "fake-b", "fake-b+all"]
    assert asked == [("all", {"batch": 1})]
    refused = [failure.message for failure in group.absent.values()]
    assert refused == ["it does not read the operators of com.microsoft that all writes"] * 2


def test_an_optimisation_that_fails_is_the_failure_of_its_rows_alone(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEVELS, "basic", ("fake-harmless", "fake-failing"))
    (group,) = planned(bundle, tmp_path, variants=("none", "basic"))
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-a+basic", "fake-b", "fake-b+basic"]
    assert [cell.label for cell in group.group.cells if cell.id in group.absent] == ["fake-a+basic", "fake-b+basic"]
    first, second = group.absent.values()
    assert first == second
    assert first.stage == "optimize"
    assert first.message.startswith("The pass fake-failing breaks mlp: KeyError")
    assert "--passes" not in (first.hint or "")
    assert group.group.baseline == "fake-a-cpu-fp32-x1"


def test_a_tool_of_the_optimiser_that_is_missing_is_told_before_anything_is_measured(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise IrbenchError("Optimising needs onnx-ir.", exit_code=ExitCode.NOT_INSTALLED)

    monkeypatch.setattr(artifacts, "optimize", missing)
    with pytest.raises(IrbenchError, match="needs onnx-ir"):
        planned(bundle, tmp_path, variants=("none", "basic"))
