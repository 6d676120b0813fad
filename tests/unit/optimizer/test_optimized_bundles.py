"""What was optimised once is kept by what went in, and found again."""

from dataclasses import replace
from pathlib import Path

import models
import onnx
import onnx.parser
import pytest

from irbench.core.graph_record import Agreement, OptimizerActivity
from irbench.core.record import OutputError
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.optimizer import Conversion, Recipe, optimize, optimized_bundles
from irbench.optimizer.calibration_samples import CheckInputs
from irbench.spec import RANDOM_DRAWS, Artifact, Bundle, Disagreement, Feeding
from irbench.store import bundles
from irbench.worker import WorkerDied

HARMLESS = Recipe("custom", ("fake-harmless",))


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", models.logical_inputs(artifact), (artifact,))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run what a worker would run in this process, and count."""
    from irbench.optimizer.pipeline import run_job

    made: list[str] = []

    def here(target, job, *, say, deadline_s, confinement, returns, says):
        made.append(target)
        return run_job(job, say)

    monkeypatch.setattr(optimized_bundles, "call_in_worker", here)
    return made


def silent(_activity: OptimizerActivity) -> None: ...


def test_the_result_names_the_passes_that_changed_something(bundle, calls):
    found = optimize(bundle, {}, Recipe("custom", ("fake-idle", "fake-harmless")), silent)
    assert found.artifact.passes == ("fake-harmless",)
    assert found.artifact.label == "onnx+custom"
    assert found.artifact.path.is_file()
    assert found.artifact.inputs == bundle.artifacts[0].inputs
    assert [step.name for step in found.lineage.steps] == ["original", "fake-idle", "fake-harmless"]


def test_the_same_request_is_answered_without_work(bundle, calls):
    first, second = (optimize(bundle, {}, HARMLESS, silent) for _ in range(2))
    assert first == second
    assert len(calls) == 1


@pytest.mark.parametrize(("sizes", "asked"), [({"batch": 2}, HARMLESS), ({}, Recipe("custom", ("fake-idle",)))])
def test_another_request_is_another_result(bundle, calls, sizes, asked):
    first, second = optimize(bundle, {}, HARMLESS, silent), optimize(bundle, sizes, asked, silent)
    assert first.artifact.path != second.artifact.path
    assert len(calls) == 2


def test_shapes_that_are_bound_first_are_bound_in_the_result(bundle, calls):
    found = optimize(bundle, {"batch": 2}, HARMLESS, silent)
    assert found.artifact.inputs[0].shape == (2, 3, 8, 8)
    assert found.artifact.outputs[0].shape == (2, 5)


def test_a_result_that_was_damaged_is_made_again(bundle, calls):
    first = optimize(bundle, {}, HARMLESS, silent)
    first.artifact.path.write_bytes(b"damaged")
    assert optimize(bundle, {}, HARMLESS, silent).lineage.model_sha256 == first.lineage.model_sha256
    assert len(calls) == 2


def test_a_result_that_another_process_keeps_meanwhile_stays_as_it_is(bundle, calls, monkeypatch):
    here, others = optimized_bundles.call_in_worker, []

    def overtaken(target, job, **rest):
        done = here(target, job, **rest)
        if not others:
            others.append(None)
            others.append(optimize(bundle, {}, HARMLESS, silent))
            others.append(others[1].artifact.path.stat().st_ino)
        return done

    monkeypatch.setattr(optimized_bundles, "call_in_worker", overtaken)
    found = optimize(bundle, {}, HARMLESS, silent)
    assert len(calls) == 2
    assert found == others[1]
    assert found.artifact.path.stat().st_ino == others[2]
    assert [path.name for path in found.artifact.path.parent.parent.iterdir()] == [found.artifact.path.parent.name]


@pytest.mark.ci
@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_damaged_result_that_another_process_replaces_meanwhile_is_that_of_both(bundle, calls, monkeypatch, moves):
    graph, rename, ours, others = optimize(bundle, {}, HARMLESS, silent).artifact.path, Path.rename, [], []
    graph.write_bytes(b"damaged")

    def overtaken(self, target):
        if graph.parent in (self, target):
            ours.append(self)
            if len(ours) == moves + 1:
                others.append(optimize(bundle, {}, HARMLESS, silent))
                others.append(graph.stat().st_ino)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", overtaken)
    assert [optimize(bundle, {}, HARMLESS, silent), graph.stat().st_ino] == others
    assert [path.name for path in graph.parent.parent.iterdir()] == [graph.parent.name]


def test_a_file_that_the_work_misses_is_no_lack_of_room(bundle, monkeypatch):
    def fail(*_, **__):
        raise FileNotFoundError(2, "No such file", "python")

    monkeypatch.setattr(optimized_bundles, "call_in_worker", fail)
    with pytest.raises(FileNotFoundError):
        optimize(bundle, {}, HARMLESS, silent)


def test_a_result_for_which_there_is_no_room_is_refused_with_the_way_out(bundle, calls, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(optimized_bundles, "write_lineage", fail)
    with pytest.raises(IrbenchError, match=r"cannot be stored in .*: No space left on device") as caught:
        optimize(bundle, {}, HARMLESS, silent)
    assert "Free some space" in caught.value.hint


def test_a_batch_that_stays_dynamic_is_checked_at_two_and_one_that_is_bound_at_its_size(bundle, monkeypatch):
    asked = []

    def look(target, job, *, say, deadline_s, confinement, returns, says):
        asked.append(job.sizes["batch"])
        raise WorkerDied("It crashed.")

    monkeypatch.setattr(optimized_bundles, "call_in_worker", look)
    for sizes in ({}, {"batch": 1}, {"batch": 5}):
        with pytest.raises(IrbenchError):
            optimize(bundle, sizes, HARMLESS, silent)
    assert asked == [2, 1, 5]


def test_a_vendors_operators_are_a_fact_of_the_result(bundle, calls):
    assert optimize(bundle, {}, Recipe("all", ("fake-vendors",)), silent).artifact.domains == ("com.microsoft",)


def test_results_lie_with_the_bundle_and_those_of_other_files_with_irbench(bundle, calls, tmp_path):
    assert optimize(bundle, {}, HARMLESS, silent).artifact.path.is_relative_to(bundles.home() / "optimized")
    (tmp_path / bundles.CARD).write_text("{}")
    assert optimize(bundle, {"batch": 1}, HARMLESS, silent).artifact.path.is_relative_to(tmp_path / "optimized")


def test_where_the_bundles_folder_cannot_be_written_results_lie_with_irbench(bundle, calls, tmp_path):
    (tmp_path / bundles.CARD).write_text("{}")
    (tmp_path / "optimized").touch()
    for _ in range(2):
        assert optimize(bundle, {}, HARMLESS, silent).artifact.path.is_relative_to(bundles.home() / "optimized")
    assert len(calls) == 1


def test_a_result_that_cannot_be_kept_anywhere_is_refused_with_the_way_out(bundle, calls):
    bundles.home().mkdir(parents=True)
    (bundles.home() / "optimized").touch()
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        optimize(bundle, {}, HARMLESS, silent)
    assert "IRBENCH_HOME" in caught.value.hint


def test_other_weights_in_a_file_beside_the_graph_are_another_source(bundle, calls, tmp_path):
    path = bundle.artifacts[0].path
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    first = optimize(bundle, {}, HARMLESS, silent).lineage
    weights = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "weights.bin").write_bytes(weights[4:] + weights[:4])
    assert optimize(bundle, {}, HARMLESS, silent).lineage.model_sha256 != first.model_sha256
    assert len(calls) == 2


def test_the_step_in_which_the_worker_died_is_named(bundle, monkeypatch):
    def die(target, job, *, say, deadline_s, confinement, returns, says):
        say(OptimizerActivity("pass", "fake-harmless"))
        raise WorkerDied("It crashed with SIGSEGV.")

    monkeypatch.setattr(optimized_bundles, "call_in_worker", die)
    with pytest.raises(IrbenchError, match=r"Optimising mlp failed at fake-harmless\. It crashed") as caught:
        optimize(bundle, {}, Recipe("custom", ("fake-harmless", "fake-idle")), silent)
    assert caught.value.hint == "Leave it out: `--passes fake-idle`"


def test_no_pass_is_blamed_for_a_death_in_another_activity(bundle, monkeypatch):
    def die(target, job, *, say, deadline_s, confinement, returns, says):
        say(OptimizerActivity("convert", "fp16"))
        raise WorkerDied("It crashed.", hint="Try again.")

    monkeypatch.setattr(optimized_bundles, "call_in_worker", die)
    with pytest.raises(IrbenchError, match=r"Optimising mlp failed at fp16\. It crashed") as caught:
        optimize(bundle, {}, Recipe("custom", ("fake-harmless", "fake-idle")), silent)
    assert caught.value.hint == "Try again."


def test_each_activity_is_reported_as_a_value(bundle, calls):
    heard = []
    made = optimize(bundle, {}, Recipe("none-fp16", ("fake-later",), Conversion("fp16")), heard.append).lineage
    changed = sum(step.modified for step in made.steps)
    nodes = (made.steps[0].nodes, made.steps[-1].nodes)
    assert heard == [
        OptimizerActivity("start", "none-fp16", "mlp"),
        OptimizerActivity("reference-outputs", "", "mlp"),
        OptimizerActivity("raise-opset", "20", "mlp"),
        OptimizerActivity("pass", "fake-later", "mlp"),
        OptimizerActivity("check", model="mlp"),
        OptimizerActivity("convert", "fp16", "mlp"),
        OptimizerActivity("done", "none-fp16", "mlp", steps=(len(made.steps) - 1, changed), nodes=nodes),
    ]
    heard.clear()
    optimize(bundle, {}, Recipe("none-fp16", ("fake-later",), Conversion("fp16")), heard.append)
    assert heard == []  # it was kept


def test_nothing_is_kept_of_a_pass_that_breaks_the_model(bundle, calls):
    with pytest.raises(IrbenchError):
        optimize(bundle, {}, Recipe("custom", ("fake-wrong",)), silent)
    assert not list((bundles.home() / "optimized").iterdir())


def test_a_model_without_an_onnx_graph_is_refused(bundle):
    graph = Artifact("tf-graph", Path("graph.pb"), (), ())
    with pytest.raises(IrbenchError, match="contains no ONNX graph"):
        optimize(Bundle("m", (), (graph,)), {}, HARMLESS, silent)


def int8(**settings) -> Recipe:
    return Recipe("none-int8", (), Conversion("int8", **settings))


@pytest.mark.ci
def test_other_settings_of_a_conversion_are_another_result(bundle, calls):
    asked = [int8(method="static", samples=16), int8(method="static", samples=24), int8(method="dynamic", samples=16)]
    assert len({optimize(bundle, {}, item, silent).artifact.path for item in asked}) == 3


def test_what_a_conversion_costs_is_kept_with_its_result(bundle, calls):
    first, second = (optimize(bundle, {}, int8(samples=16), silent).lineage for _ in range(2))
    assert len(calls) == 1
    assert first.agreement == second.agreement
    assert first.agreement is not None
    assert 0 < first.agreement.error.max_rel < 0.1
    assert first.agreement.samples == 64


def test_a_conversion_that_answers_otherwise_is_a_fact_of_its_artifact(bundle, calls, monkeypatch):
    poor = Agreement(64, "ort", OutputError(0.1, 0.1, 0.9, 0.5), source="generated")
    monkeypatch.setattr("irbench.optimizer.pipeline.measure_agreement", lambda *_: poor)
    assert optimize(bundle, {}, int8(samples=16), silent).artifact.disagreement == Disagreement(
        "top1-agreement", 0.5, 0.9, samples=64, source="generated"
    )
    assert optimize(bundle, {}, HARMLESS, silent).artifact.disagreement is None


def test_a_model_that_draws_random_numbers_is_refused_as_no_answers_can_be_compared(bundle: Bundle) -> None:
    drawing = replace(bundle, details={**bundle.details, RANDOM_DRAWS: "RandomUniform in noise"})
    with pytest.raises(IrbenchError, match=r"draws random numbers .* no pass can be checked") as caught:
        optimize(drawing, {}, HARMLESS, silent)
    assert "without --optimize" in caught.value.hint


@pytest.mark.parametrize(("given", "is_refused"), [(0, False), (1, True), (None, True)])
def test_an_input_that_turns_draws_on_must_be_given_as_off(
    tmp_path: Path, calls: list[str], given: int | None, is_refused: bool
) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,4] x, bool training) => (float[2,4] y) <float r = {0.5}> { y = Dropout(x, r, training) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "switched.onnx")
    drawing = from_onnx_file(tmp_path / "switched.onnx")
    inputs = CheckInputs(Feeding(values={} if given is None else {"training": (given,)}), {})
    if is_refused:
        with pytest.raises(IrbenchError, match="draws random numbers") as caught:
            optimize(drawing, {}, HARMLESS, silent, inputs)
        assert "--value training=0" in caught.value.hint
    else:
        idle = Recipe("custom", ("fake-idle",))
        assert [step.name for step in optimize(drawing, {}, idle, silent, inputs).lineage.steps] == [
            "original",
            "fake-idle",
        ]


def test_who_hears_that_an_optimisation_starts_can_prevent_it(bundle, calls):
    def refuse(activity):
        raise IrbenchError(activity.code)

    with pytest.raises(IrbenchError, match="start"):
        optimize(bundle, {}, HARMLESS, refuse)
    assert calls == []
    optimize(bundle, {}, HARMLESS, silent)
    optimize(bundle, {}, HARMLESS, refuse)
    assert len(calls) == 1
