from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from export_checks import LAYERS_FILE, MODELS_FILE, TRAINED_FILE

from irbench.core import feeds
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.build import export
from irbench.features.export.command import command
from irbench.options.export import ExportOptions
from irbench.spec import TensorSpec
from irbench.store import bundles
from irbench.worker import call_in_worker

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
NCHW = (0, 3, 1, 2)


@pytest.fixture
def models_file(tmp_path: Path) -> Path:
    path = tmp_path / "nets.py"
    path.write_text(MODELS_FILE)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def refused(*arguments: object) -> IrbenchError:
    result = call(*arguments)
    assert isinstance(result.exception, IrbenchError), result.output or result.exception
    assert result.exception.exit_code == ExitCode.USAGE
    assert "\n" not in result.exception.message
    assert result.exception.hint
    return result.exception


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["resnet5"], "no model called resnet5", "resnet50"),
        (["qqqq"], "no model called qqqq", "irbench models"),
        (["none.keras"], "no file none.keras", "path"),
        (["none.py:build"], "no file none.py", "path"),
        (["no/such/folder"], "no file or folder", "path"),
        (["net.onnx"], "already an ONNX model", "irbench run net.onnx"),
        (["net.h5"], "HDF5", "save"),
        (["."], "not an ONNX file (.onnx), a .keras file or a SavedModel", "saved_model.pb"),
        (["resnet50", "--opset", "12"], "Opset 12", "13 to 23"),
        (["resnet50", "--opset", "24"], "Opset 24", "13 to 23"),
        (["resnet50", "--weights", "none.h5"], "no weights file", ".keras"),
        (["resnet50", "vgg16", "-o", "here"], "folder of a single bundle", "one model"),
        (["resnet50", "resnet5"], "no model called resnet5", "resnet50"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_call_is_refused_at_once_with_a_remedy(arguments, message, hint):
    error = refused(*arguments)
    assert message in error.message
    assert hint in error.hint
    assert not bundles.home().exists(), "nothing was started"


def test_data_that_are_not_there_are_refused_before_any_work():
    error = refused("resnet50", "--data", "nowhere")
    assert "no file or folder nowhere" in error.message
    assert not bundles.home().exists(), "nothing was started"


@pytest.mark.slow
def test_an_export_is_compared_with_the_original_on_given_samples(models_file, tmp_path):
    np.savez(tmp_path / "right.npz", image=np.ones((2, 12, 12, 3), np.float32))
    np.savez(tmp_path / "wrong.npz", image=np.ones((2, 5), np.float32))
    source = f"{models_file}:image_net"
    error = refused(source, "--weights", "random", "--data", tmp_path / "wrong.npz")
    assert "takes batch x 12 x 12 x 3" in error.message
    assert bundles.latest() is None, "nothing was kept"
    right = call(source, "--weights", "random", "--data", tmp_path / "right.npz")
    assert right.exit_code == 0, right.output or right.exception


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
def test_a_folder_that_holds_other_files_is_refused_before_any_work(force, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    error = refused("resnet50", "-o", tmp_path, *force)
    assert "holds thesis.tex" in error.message
    assert "new or empty folder" in error.hint
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert not bundles.home().exists(), "nothing was started"


@pytest.mark.parametrize("batch", ["0", "-1", "many", "1.5"])
def test_a_batch_that_is_no_number_is_a_wrong_call(batch):
    assert call("resnet50", "--batch", batch).exit_code == ExitCode.USAGE


@pytest.mark.ci
def test_a_function_in_a_file_becomes_a_bundle_that_is_not_built_twice(models_file):
    source = f"{models_file}:image_net"
    result = call(source, "--weights", "random")
    assert result.exit_code == 0, result.output or result.exception
    place = bundles.latest()
    assert place is not None
    assert str(place) in result.output
    assert "image_net" in result.output

    bundle = bundles.load(place)
    assert bundles.load_intact(place) == bundle
    graph, frozen = bundle.artifact(("onnx",)), bundle.artifact(("tf-graph",))
    assert graph is not None
    assert frozen is not None
    assert bundle.name == "image_net"
    assert bundle.classifier
    assert bundle.inputs[0].tensor == TensorSpec("image", "float32", ("batch", 12, 12, 3))
    assert graph.inputs == (TensorSpec("image", "float32", ("batch", 3, 12, 12), NCHW),)
    assert graph.outputs == frozen.outputs == (TensorSpec("scores", "float32", ("batch", 5)),)
    assert frozen.inputs == (bundle.inputs[0].tensor,)
    assert bundle.details["layout"] == "nchw"
    assert {"tensorflow", "tf2onnx", "onnx", "irbench"} <= set(bundle.versions)

    model = onnx.load(graph.path)
    names = [
        dimension.dim_param
        for value in (*model.graph.input, *model.graph.output)
        for dimension in value.type.tensor_type.shape.dim[:1]
    ]
    assert names == ["batch", "batch"]
    assert "BatchNormalization" not in {node.op_type for node in model.graph.node}
    reference = bundles.reference_outputs(bundle)
    assert reference is not None
    assert reference[0].shape == (feeds.POOL, 5)

    again = call(source, "--weights", "random")
    assert "already there" in again.output
    assert bundles.latest() == place


@pytest.mark.ci
def test_a_fixed_batch_a_kept_layout_and_a_later_opset_are_honoured(models_file, tmp_path):
    folder = export(
        f"{models_file}:image_net",
        ExportOptions(opset=21, batch=3, layout="keep", weights="random", output=tmp_path / "out"),
        lambda _: None,
    )
    bundle = bundles.load(folder)
    graph = bundle.artifact(("onnx",))
    assert folder == tmp_path / "out"
    assert graph is not None
    assert graph.opset == 21
    assert graph.inputs == (TensorSpec("image", "float32", (3, 12, 12, 3)),)
    assert bundle.inputs[0].tensor.shape == ("batch", 12, 12, 3)
    assert bundle.defaults == {"batch": 3}
    reference = bundles.reference_outputs(bundle)
    assert reference is not None
    assert reference[0].shape == (feeds.POOL, 5)
    assert bundles.all() == ()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("not_a_model", "returned list, which is not a Keras model"),
        ("fails", "the data set is gone"),
        ("nothing", "has no function nothing"),
        ("shapeless", "does not know the shapes of its inputs"),
        ("stateful", "keeps state: a call changes a variable"),
        ("mixes_samples", "mixes the samples of a batch: in TensorFlow, "),
    ],
)
def test_a_function_that_gives_no_usable_model_is_named_with_the_reason(function, message, models_file):
    assert message in refused(f"{models_file}:{function}").message
    assert bundles.all() == ()
    assert not list((bundles.home() / "bundles").glob(".irbench-making-*")), "nothing half made is left"


@pytest.mark.ci
def test_a_subclassed_model_that_was_built_has_inputs_of_the_shapes_that_it_was_built_for(models_file):
    bundle = bundles.load(export(f"{models_file}:subclassed", ExportOptions(), lambda _: None))
    assert bundle.name == "subclassed"
    assert [spec.tensor.shape for spec in bundle.inputs] == [("batch", 4)]


@pytest.mark.slow
def test_a_file_that_cannot_be_imported_is_named_with_the_reason(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_module_at_all\n\n\ndef build(): ...\n")
    assert "no_such_module_at_all" in refused(f"{tmp_path / 'broken.py'}:build").message


@pytest.mark.ci
@pytest.mark.parametrize(
    ("function", "names", "class_axes"),
    [("detector", ["box", "label"], (None, 1)), ("regression", ["output"], ()), ("logits", ["output"], (1,))],
)
def test_outputs_with_scores_of_classes_are_known_by_their_operators_and_losses(
    models_file, function, names, class_axes
):
    bundle = bundles.load(export(f"{models_file}:{function}", ExportOptions(), lambda _: None))
    assert len(bundle.outputs) == len(names)
    assert bundle.class_axes == class_axes
    if len(names) > 1:  # Keras sorts them
        assert [spec.name for spec in bundle.outputs] == names
        assert bundle.classifier


@pytest.mark.ci
def test_a_keras_file_keeps_its_weights_and_its_vocabulary(tmp_path):
    path = tmp_path / "words.keras"
    call_in_worker("export_checks:save_keras_file", path, False, deadline_s=120, environment=QUIET)
    bundle = bundles.load(export(str(path), ExportOptions(), lambda _: None))
    assert bundle.name == "words"
    assert (bundle.inputs[0].low, bundle.inputs[0].high) == (0.0, 50.0)
    assert bundle.details["weights"] == "own"
    assert not bundle.classifier


@pytest.mark.ci
def test_code_inside_a_keras_file_is_not_run(tmp_path):
    path = tmp_path / "lambda.keras"
    call_in_worker("export_checks:save_keras_file", path, True, deadline_s=120, environment=QUIET)
    assert "which irbench does not run" in refused(path).message


@pytest.mark.slow
def test_a_custom_layer_needs_the_module_that_registers_it(tmp_path, monkeypatch):
    (tmp_path / "gains.py").write_text("GAIN = 2.0\n")
    (tmp_path / "own_layers.py").write_text(LAYERS_FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    call_in_worker("export_checks:save_custom_layer", tmp_path / "own.keras", deadline_s=120, environment=QUIET)
    error = refused("own.keras")
    assert "own.keras needs Gain of the module own_layers" in error.message
    assert "--import own_layers" in error.hint
    result = call("own.keras", "--import", "own_layers", "--name", "mine")
    assert result.exit_code == 0, result.output or result.exception
    origin = bundles.load_card(bundles.find("mine")).origin
    assert {Path(name).name for name in origin.files} >= {"own.keras", "own_layers.py", "gains.py"}
    (tmp_path / "own_layers.py").write_text("")
    assert "own.keras needs Gain" in refused("own.keras", "--import", "own_layers").message


@pytest.mark.slow
def test_weights_that_hdf5_and_tensorflow_read_belong_to_the_model(tmp_path, monkeypatch):
    (tmp_path / "trained.py").write_text(TRAINED_FILE)
    monkeypatch.chdir(tmp_path)
    call_in_worker("export_checks:save_weights", tmp_path, deadline_s=120, environment=QUIET)
    place = export("trained:build", ExportOptions(), lambda _: None)
    origin = bundles.load_card(place).origin
    names = {Path(name).name for name in origin.files}
    assert names >= {"trained.py", "net.weights.h5", "checkpoint-1.index", "saved_model.pb"}
    assert bundles.load(place).name == "trained_net"


@pytest.mark.ci
def test_a_saved_model_is_exported_with_all_its_inputs_and_outputs(tmp_path):
    path = tmp_path / "two"
    call_in_worker("export_checks:save_saved_model", path, ("serving_default",), deadline_s=120, environment=QUIET)
    bundle = bundles.load(export(str(path), ExportOptions(), lambda _: None))
    assert {tensor.tensor.name: tensor.tensor.shape for tensor in bundle.inputs} == {
        "left": ("batch", 4),
        "right": ("batch", 3),
    }
    assert [spec.name for spec in bundle.artifacts[0].outputs] == ["difference", "total"]


@pytest.mark.slow
@pytest.mark.parametrize(("signatures", "message"), [((), "no signature"), (("first", "second"), "first, second")])
def test_a_saved_model_without_one_signature_is_refused(signatures, message, tmp_path):
    path = tmp_path / "two"
    call_in_worker("export_checks:save_saved_model", path, signatures, deadline_s=120, environment=QUIET)
    assert message in refused(path).message


@pytest.mark.ci
def test_weights_of_another_shape_are_refused(models_file, tmp_path):
    path = tmp_path / "words.keras"
    call_in_worker("export_checks:save_keras_file", path, False, deadline_s=120, environment=QUIET)
    assert "do not fit" in refused(f"{models_file}:image_net", "--weights", path).message
