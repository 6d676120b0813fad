"""From a request and what was prepared to groups: which rows there are, in which tables, and which cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import pytest
from planned_groups import BOTH, FAKES, GRAPH, INPUT, MLP, QUANTISED, planned, prepared, rows
from run_requests import run_request

from irbench.core import registry
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.notices.notes import GraphUnbound
from irbench.runner.plan import Forms, alike, plan
from irbench.runner.prepare import compared_together, same_inputs
from irbench.runner.requested_cells import BackendInfo, SizedModel
from irbench.spec import Artifact, Bundle, Feeding, InputSpec, Program, TensorSpec, Workload
from irbench.spi import Description


def test_every_backend_at_every_setting_is_a_row() -> None:
    (group,) = planned(streams=(1, 2, 4), threads=(2,))
    assert [(cell.backend, cell.load.streams, cell.load.threads) for cell in group.group.cells] == [
        (name, streams, 2) for name, _ in FAKES for streams in (1, 2, 4)
    ]


def test_batches_and_thread_counts_are_rows_of_one_table() -> None:
    (group,) = planned(batch=(1, 4), threads=(1, None))
    loads = [(cell.load.batch, cell.backend, cell.load.threads) for cell in group.group.cells]
    assert loads == [(batch, name, threads) for batch in (1, 4) for name, _ in FAKES for threads in (1, None)]
    assert [group.group.workload_of(cell).batch for cell in group.group.cells] == [batch for batch, *_ in loads]
    assert len({cell.id for cell in group.group.cells}) == 8
    assert group.group.objective == "fps"


def test_every_batch_has_a_table_of_its_own_where_that_is_asked_for() -> None:
    groups = planned(batch=(1, 4), apart=True)
    assert [group.group.main.batch for group in groups] == [1, 4]
    assert [group.group.cells[0].load.batch for group in groups] == [1, 4]


def test_models_with_equal_inputs_are_rows_of_one_table() -> None:
    (group,) = planned(bundles=(MLP, QUANTISED), batch=(1, 2))
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
    request = run_request((MLP,), FAKES)
    feeding = Feeding(samples=(Path("0.npz"), Path("1.npz")))
    models = [SizedModel(Workload(MLP, {"batch": batch}, feeding), "fp32") for batch in (1, 2)]
    assert len(compared_together(request, models)) == 2


def test_a_backend_named_twice_is_measured_against_itself() -> None:
    (group,) = planned(backends=(("fake-a", "cpu"), ("fake-a", "cpu")), streams=(2,))
    assert [cell.label for cell in group.group.cells] == ["fake-a x2", "fake-a x2 again"]
    assert group.group.baseline == group.group.cells[0].id != group.group.cells[1].id


def test_the_users_own_code_is_a_row_after_the_backends_at_every_setting() -> None:
    code = Program("callable", "loop:infer")
    (group,) = planned(streams=(1, 2), cells={"mine": code}, baseline="mine x2")
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
    (group,) = planned(backends=(), cells={"mine": Program("command", "./loop")})
    assert rows(group) == [("mine", "fp32")]


def test_options_reach_only_the_backend_they_name() -> None:
    (group,) = planned(set={"fake-b": {"call_us": "7"}})
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
    request = run_request((unreadable, MLP), FAKES, apart=True)
    first, second = plan(request, prepared(request, {}, "fp32"))
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


def test_a_converted_graph_is_a_row_in_its_own_precision_once() -> None:
    backends, precisions = (("fake-a", "cpu"),), ("fp32", "bf16")
    (group,) = planned(backends=backends, precisions=precisions, variants=("none", "none-int8"))
    assert rows(group) == [("fake-a", "fp32"), ("fake-a+none-int8", "int8"), ("fake-a", "bf16")]


def test_a_graph_that_holds_another_precision_is_a_row_in_that_unless_one_is_asked_for() -> None:
    backends = (("fake-a", "cpu"), ("original", "cpu"))
    (own,) = planned(BOTH, precision="fp16", backends=backends, precisions=None)
    assert rows(own) == [("fake-a", "fp16"), ("original", "fp32")]
    (pinned,) = planned(BOTH, precision="fp16", backends=backends, precisions=("fp32",))
    assert rows(pinned) == [("fake-a", "fp32"), ("original", "fp32")]


@pytest.mark.parametrize(
    ("held", "asked", "variants", "required"),
    [
        ("fp32", None, ("none",), [True]),
        ("fp16", None, ("none", "basic"), [False, False]),
        ("native", None, ("none",), [False]),
        ("fp16", ("fp16",), ("none",), [True]),
        ("fp32", None, ("none", "none-int8"), [True, True]),
        ("fp16", None, ("none", "none-int8"), [False, True]),
    ],
)
def test_a_precision_is_required_unless_it_is_only_that_of_a_narrow_graph(
    held: str, asked: Any, variants: tuple[str, ...], required: list[bool]
) -> None:
    (group,) = planned(precision=held, backends=(("fake-a", "cpu"),), precisions=asked, variants=variants)
    assert [cell.load.precision_required for cell in group.group.cells] == required


def test_operators_of_a_vendor_keep_a_backend_from_a_graph_and_not_the_users_own_code() -> None:
    foreign = replace(GRAPH, variant="all", domains=("com.vendor",))
    code = Program("callable", "loop:infer")
    (group,) = planned(made={"all": foreign}, variants=("all",), backends=FAKES[:1], cells={"mine": code})
    assert set(group.absent) == {"fake-a-cpu-fp32-x1-all"}


def test_code_that_does_not_read_the_model_is_one_row_for_all_levels() -> None:
    info = BackendInfo(("onnx",), Description("mine", "", None), Program("callable", "loop:infer"), reads_model=False)
    assert info.levels(GRAPH, ("none", "all")) == ("none",)
    assert replace(info, reads_model=True).levels(GRAPH, ("none", "all")) == ("none", "all")


def test_every_level_of_optimisation_is_a_row_of_the_backends_that_read_what_it_writes() -> None:
    written = replace(GRAPH, variant="all", domains=("com.vendor",))
    (group,) = planned(variants=("none", "all"), made={"all": written})
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-a+all", "fake-b", "fake-b+all"]
    refused = [failure.message for failure in group.absent.values()]
    assert refused == ["it does not read the operators of com.vendor that all writes"] * 2


def test_an_artifact_that_could_not_be_made_is_the_failure_of_its_rows_alone() -> None:
    broken = Failure("optimize", "The pass breaks mlp")
    (group,) = planned(variants=("none", "basic"), made={"basic": broken})
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-a+basic", "fake-b", "fake-b+basic"]
    assert [cell.label for cell in group.group.cells if cell.id in group.absent] == ["fake-a+basic", "fake-b+basic"]
    assert set(group.absent.values()) == {broken}
    assert group.group.baseline == "fake-a-cpu-fp32-x1"


def test_a_graph_whose_shapes_were_bound_can_also_run_as_the_file_has_it() -> None:
    (group,) = planned(variants=("none", "basic"))
    plain = {cell.id for cell in group.group.cells if cell.artifact is not None and not cell.artifact.variant}
    assert set(group.others) == plain
    for other in group.others.values():
        assert other.path == GRAPH.path
        assert other.inputs[0].shape == (1, 3)


def test_a_graph_without_dynamic_dimensions_has_no_other_form() -> None:
    fixed = replace(GRAPH, inputs=(TensorSpec("x", "float32", (1, 3)),))
    (group,) = planned(replace(MLP, artifacts=(fixed,)))
    assert group.others == {}


def test_several_shapes_alone_are_run_fixed() -> None:
    (group,) = planned(shapes=("x", ((2, 3), (4, 3))))
    assert [cell.label for cell in group.group.cells] == ["fake-a", "fake-b"]


def test_dynamic_shapes_are_rows_beside_those_with_bound_ones_where_they_are_asked_for() -> None:
    (group,) = planned(shapes=("x", ((2, 3), (4, 3))), dynamic=True, variants=("none", "basic"))
    rows = {cell.label: cell for cell in group.group.cells}
    assert list(rows) == [
        *("fake-a", "fake-a dynamic", "fake-a+basic"),
        *("fake-b", "fake-b dynamic", "fake-b+basic"),
    ]
    assert len({cell.id for cell in group.group.cells}) == 6
    dynamic = rows["fake-a dynamic"].artifact
    assert dynamic is not None
    assert (dynamic.path, dynamic.inputs[0].shape) == (GRAPH.path, (1, 3))
    assert group.others == {}
    assert group.group.baseline == rows["fake-a"].id


def test_the_original_framework_is_the_baseline_when_it_takes_part_and_the_first_row_otherwise() -> None:
    (with_original,) = planned(BOTH, backends=(("fake-a", "cpu"), ("original", "cpu")))
    (without,) = planned()
    assert with_original.group.baseline == "original-cpu-fp32-x1"
    assert without.group.baseline == "fake-a-cpu-fp32-x1"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("fake-b", "fake-b-cpu-fp32-x1"),
        ("fake-b@streams=2", "fake-b-cpu-fp32-x2"),
        ("fake-a@streams=2,precision=fp32", "fake-a-cpu-fp32-x2"),
        ("fake-b x2", "fake-b-cpu-fp32-x2"),
        ("fake-b@batch=1,threads=1", "fake-b-cpu-fp32-x1"),
    ],
)
def test_a_baseline_can_be_named_by_row_and_setting(asked: str, found: str) -> None:
    (group,) = planned(streams=(1, 2), baseline=asked)
    assert group.group.baseline == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("fake-b", "fake-b-cpu-fp32-x1-m0"),
        ("fake-b@model=quantised", "fake-b-cpu-fp32-x1-m1"),
        ("fake-a@model=quantised.onnx", "fake-a-cpu-fp32-x1-m1"),
        ("fake-a@model=/models/quantised.onnx,optimize=basic", "fake-a-cpu-fp32-x1-basic-m1"),
        ("fake-a@optimize=none,model=quantised", "fake-a-cpu-fp32-x1-m1"),
        ("fake-b+basic@model=mlp", "fake-b-cpu-fp32-x1-basic-m0"),
    ],
)
def test_a_baseline_can_be_named_by_its_model_and_its_level(asked: str, found: str) -> None:
    bundles = (MLP, replace(QUANTISED, source="/models/quantised.onnx"))
    (group,) = planned(bundles=bundles, variants=("none", "basic"), baseline=asked)
    assert group.group.baseline == found


def test_a_baseline_of_int8_is_found_where_the_graph_was_quantised_statically() -> None:
    (group,) = planned(variants=("none", "basic-int8-static"), baseline="fake-b@optimize=int8")
    assert group.group.baseline == "fake-b-cpu-int8-x1-basic-int8-static"


@pytest.mark.parametrize("asked", ["fake-c", "fake-a@model=other", "fake-a@optimize=all"])
def test_the_rows_that_a_baseline_may_be_are_named_by_what_tells_them_apart(asked: str) -> None:
    with pytest.raises(IrbenchError, match="not match any row") as caught:
        planned(bundles=(MLP, QUANTISED), backends=FAKES[:1], variants=("none", "basic"), baseline=asked)
    assert caught.value.hint == (
        "The rows are: fake-a@optimize=none,model=mlp, fake-a@optimize=basic,model=mlp,"
        " fake-a@optimize=none,model=quantised, fake-a@optimize=basic,model=quantised"
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("original", "not match any row"),
        ("fake-a@streams=3", "not match any row"),
        ("fake-a@colour=red", "not a valid row"),
        ("fake-a@streams", "not a valid row"),
        ("fake-a@optimize=some", "no level 'some'"),
    ],
)
def test_a_baseline_that_is_no_row_is_refused(asked: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said) as caught:
        planned(baseline=asked)
    assert caught.value.hint


def test_a_baseline_that_cannot_run_stays_the_one_that_was_asked_for() -> None:
    (group,) = planned(backends=(("original", "cpu"), *FAKES), baseline="original")
    assert group.group.baseline == "original-cpu-fp32-x1"
    assert "original-cpu-fp32-x1" in group.absent


BOUND = Artifact("onnx", Path("/scratch/bound/m.onnx"), (), ())
DYNAMIC = replace(BOUND, path=Path("/models/m.onnx"))
OPTIMISED = replace(BOUND, path=Path("/optimized/m.onnx"), variant="basic")


def forms() -> Forms:
    """Return a row with a bound graph, one with an optimised dynamic graph, and one that cannot be bound."""
    plain, optimised, framework = launches.group("plain", "optimised", "framework").cells
    cells = (replace(plain, artifact=BOUND), replace(optimised, artifact=OPTIMISED, dynamic=True), framework)
    return Forms(cells, {"plain": DYNAMIC})


def test_all_rows_that_can_run_dynamic_shapes() -> None:
    found = alike(forms(), {"basic": "ShapeInferenceError"})
    assert [(cell.artifact, cell.dynamic) for cell in found.cells] == [
        (DYNAMIC, True),
        (OPTIMISED, True),
        (None, False),
    ]
    assert found.others == {"plain": BOUND}


def test_a_note_says_which_level_fails_and_why() -> None:
    (note,) = alike(forms(), {"basic": "ShapeInferenceError"}).notes
    assert note == GraphUnbound(variant="basic", reason="ShapeInferenceError")


def test_without_such_a_graph_rows_stay_as_they_are() -> None:
    assert alike(forms(), {}) == forms()
