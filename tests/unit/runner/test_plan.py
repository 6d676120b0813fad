"""From a request and what was prepared to groups: which rows there are, in which tables, and which cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from planned_groups import FAKES, GRAPH, INPUT, MLP, QUANTISED, planned, prepared, rows

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.runner.plan import plan
from irbench.runner.prepare import compared_together, same_inputs
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import SizedModel
from irbench.spec import Bundle, Feeding, InputSpec, Program, Workload


def test_every_backend_at_every_setting_is_a_row() -> None:
    (group,) = planned(streams=(1, 2, 4), threads=(2,))
    assert [(cell.backend, cell.load.streams, cell.load.threads) for cell in group.group.cells] == [
        (name, streams, 2) for name, _ in FAKES for streams in (1, 2, 4)
    ]


def test_batches_and_thread_counts_are_rows_of_one_table() -> None:
    (group,) = planned(batches=(1, 4), threads=(1, None))
    loads = [(cell.load.batch, cell.backend, cell.load.threads) for cell in group.group.cells]
    assert loads == [(batch, name, threads) for batch in (1, 4) for name, _ in FAKES for threads in (1, None)]
    assert [group.group.workload_of(cell).batch for cell in group.group.cells] == [batch for batch, *_ in loads]
    assert len({cell.id for cell in group.group.cells}) == 8
    assert group.group.objective == "fps"


def test_every_batch_has_a_table_of_its_own_where_that_is_asked_for() -> None:
    groups = planned(batches=(1, 4), apart=True)
    assert [group.group.main.batch for group in groups] == [1, 4]
    assert [group.group.cells[0].load.batch for group in groups] == [1, 4]


def test_models_with_equal_inputs_are_rows_of_one_table() -> None:
    (group,) = planned(bundles=(MLP, QUANTISED), batches=(1, 2))
    ran = [(group.group.workload_of(cell).bundle.name, cell.load.batch) for cell in group.group.cells]
    assert ran == [(name, batch) for name in ("mlp", "quantised") for batch in (1, 2) for _ in FAKES]
    assert len({cell.id for cell in group.group.cells}) == 8


@pytest.mark.parametrize(
    "other",
    [
        replace(QUANTISED, inputs=(InputSpec(replace(INPUT, shape=("batch", 4))),)),
        replace(QUANTISED, inputs=(InputSpec(replace(INPUT, dtype="int32")),)),
        replace(QUANTISED, inputs=(InputSpec(INPUT, high=255.0),)),
        replace(QUANTISED, artifacts=(replace(GRAPH, outputs=(INPUT,)),)),
    ],
    ids=["shape", "dtype", "range", "outputs"],
)
def test_models_with_other_inputs_or_outputs_have_tables_of_their_own(other: Bundle) -> None:
    assert len(planned(bundles=(MLP, other))) == 2


def test_two_networks_of_the_zoo_have_tables_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", lambda _: ["mlp", "quantised"])
    named = tuple(replace(bundle, source=bundle.name) for bundle in (MLP, QUANTISED))
    assert len(planned(bundles=named)) == 2


def test_models_that_are_fed_the_same_samples_share_their_expected_outputs() -> None:
    def fed(folder: str, digest: str) -> Workload:
        feeding = Feeding(samples=(Path(folder) / "sample.npz",), source="data", sha256={"x": digest})
        return Workload(MLP, {"batch": 1}, feeding)

    assert same_inputs(fed("0", "abc"), fed("1", "abc"))
    assert not same_inputs(fed("0", "abc"), fed("1", "def"))
    assert not same_inputs(fed("0", "abc"), Workload(MLP, {"batch": 1}))


def test_samples_that_take_turns_keep_batches_apart() -> None:
    request = replace(RunRequest((MLP,), FAKES))
    feeding = Feeding(samples=(Path("0.npz"), Path("1.npz")))
    models = [SizedModel(Workload(MLP, {"batch": batch}, feeding), "fp32") for batch in (1, 2)]
    assert len(compared_together(request, models)) == 2


def test_a_backend_named_twice_is_measured_against_itself() -> None:
    (group,) = planned(backends=(("fake-a", "cpu"), ("fake-a", "cpu")), streams=(2,))
    assert [cell.label for cell in group.group.cells] == ["fake-a x2", "fake-a x2 again"]
    assert group.group.baseline == group.group.cells[0].id != group.group.cells[1].id


def test_the_users_own_code_is_a_row_after_the_backends_at_every_setting() -> None:
    code = Program("callable", "loop:infer")
    (group,) = planned(streams=(1, 2), programs={"mine": code}, baseline="mine x2")
    assert [cell.label for cell in group.group.cells] == [
        "fake-a",
        "fake-a x2",
        "fake-b",
        "fake-b x2",
        "mine",
        "mine x2",
    ]
    assert [cell.program for cell in group.group.cells] == [None] * 4 + [code] * 2
    assert group.group.baseline == "mine-cpu-fp32-x2"


def test_the_users_own_code_may_be_all_that_is_measured() -> None:
    (group,) = planned(backends=(), programs={"mine": Program("command", "./loop")})
    assert rows(group) == [("mine", "fp32")]


def test_options_reach_only_the_backend_they_name() -> None:
    (group,) = planned(options={"fake-b": {"call_us": "7"}})
    assert [dict(cell.load.options) for cell in group.group.cells] == [{}, {"call_us": "7"}]


def test_a_backend_that_reads_nothing_the_model_has_is_absent_with_a_reason() -> None:
    (group,) = planned(backends=(("original", "cpu"), ("fake-a", "cpu")))
    assert set(group.absent) == {"original-cpu-fp32-x1"}
    assert "framework-graph" in group.absent["original-cpu-fp32-x1"].message
    assert group.group.baseline == "fake-a-cpu-fp32-x1"


def test_a_model_that_no_backend_can_run_is_refused() -> None:
    with pytest.raises(IrbenchError, match="None of the backends can run mlp"):
        planned(backends=(("original", "cpu"),))


def test_a_model_that_no_backend_can_run_does_not_keep_another_from_being_measured() -> None:
    unreadable = replace(MLP, name="unreadable", artifacts=(replace(GRAPH, kind="pickle"),))
    request = RunRequest((unreadable, MLP), FAKES)
    first, second = plan(replace(request, apart=True), prepared(replace(request, apart=True), {}, "fp32"))
    assert not first.can_run
    assert {failure.stage for failure in first.absent.values()} == {"plan"}
    assert second.can_run


def test_a_table_has_any_number_of_rows_and_the_weight_of_the_launches_that_show_each_once() -> None:
    (group,) = planned(streams=(1, 2, 3, 4, 5, 6), baseline="fake-b@streams=3")
    assert len(group.group.cells) == 12
    assert group.weight == 3
    assert group.group.baseline == "fake-b-cpu-fp32-x3"


def test_cells_that_cannot_run_weigh_nothing() -> None:
    (group,) = planned(backends=(*FAKES, ("original", "cpu")), streams=(1, 2, 3))
    assert len(group.group.cells) == 9
    assert group.weight == 1


def test_rows_that_must_run_whole_on_their_device_say_so() -> None:
    for asked in (False, True):
        (group,) = planned(require_full=asked)
        assert {cell.load.require_full for cell in group.group.cells} == {asked}
