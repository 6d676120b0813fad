import json
import subprocess
import sys
import warnings

import pytest
from click.testing import CliRunner

import irbench_zoo
from irbench.core import registry
from irbench.core.feeds import generate
from irbench.errors import IrbenchError
from irbench.features.models.command import command
from irbench.spec import BATCH, is_named_as_mask

ASKED_FOR = {
    "alexnet",
    "cnn_cifar10",
    "densenet121",
    "efficientnet_b0",
    "inception_v3",
    "lstm_ptb_1",
    "lstm_ptb_2",
    "lstm_ptb_4",
    "mobilenet_v2",
    "resnet50",
    "resnet152",
    "transformer_base",
    "vgg16",
}
SOURCES = tuple(irbench_zoo.models())


def test_the_first_part_of_the_zoo_is_complete_and_each_name_stands_once():
    names = [source.name for source in SOURCES]
    assert len(names) == len(set(names))
    assert set(names) >= ASKED_FOR


def test_a_source_is_found_by_its_name_and_says_what_it_is(subtests):
    for source in SOURCES:
        with subtests.test(source=source.name):
            assert registry.model(source.name) is source
            assert source.family
            assert source.summary
            assert source.parameters
            assert source.macs


def test_the_inputs_of_a_source_can_be_generated_from_its_defaults(subtests):
    for source in SOURCES:
        with subtests.test(source=source.name):
            arrays = generate(source.inputs, {BATCH: 2, **source.defaults}, seed=0)
            for spec, array in zip(source.inputs, arrays, strict=True):
                assert spec.tensor.shape[0] == BATCH
                assert array.shape[0] == 2
                assert array.dtype == spec.tensor.dtype
                assert spec.low <= array.min() < array.max() <= spec.high
                assert spec.is_mask == is_named_as_mask(spec.tensor.name)


def test_listing_imports_no_runtime():
    program = (
        "import sys\n"
        "from irbench.features.models.command import command\n"
        "command(['--format', 'json'], standalone_mode=False)\n"
        "heavy = {'tensorflow', 'keras', 'onnx', 'onnxruntime', 'openvino', 'tf2onnx'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {entry["name"] for entry in json.loads(done.stdout)["models"]} >= ASKED_FOR


def test_the_json_list_says_what_a_caller_needs_to_feed_a_model():
    document = json.loads(CliRunner().invoke(command, ["--format", "json"]).stdout)
    listed = {entry["name"]: entry for entry in document["models"]}
    assert listed["transformer_base"]["defaults"] == {"sequence": 128}
    assert listed["transformer_base"]["classifier"] is False
    assert listed["resnet50"]["family"] == "residual CNN"
    assert listed["resnet50"]["parameters"] == 25_636_712
    assert listed["resnet50"]["macs"] == 3_857_973_248
    assert listed["cnn_cifar10"]["inputs"] == [
        {"name": "image", "dtype": "float32", "shape": ["batch", 32, 32, 3], "low": 0.0, "high": 1.0}
    ]


def test_a_broken_plugin_is_a_warning_beside_the_list(monkeypatch):
    def load_all(group):
        warnings.warn("gone wrong", registry.PluginWarning, stacklevel=2)
        return {}

    monkeypatch.setattr(registry, "load_all", load_all)
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "warning: gone wrong" in result.stderr


def listing(monkeypatch, *arguments, columns=None):
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    return CliRunner().invoke(command, arguments).stdout.splitlines()


def test_the_table_keeps_each_model_on_one_line_in_a_pipe(monkeypatch):
    lines = listing(monkeypatch)
    assert len(lines) == 1 + len(SOURCES)
    (line,) = [line for line in lines if line.startswith("cnn_cifar10")]
    assert line.split()[:6] == ["cnn_cifar10", "plain", "CNN", "0.123", "0.0045", "image"]
    assert "3 convolutions, 2 poolings and 2 dense layers" in line


def test_the_table_fits_a_narrow_terminal(monkeypatch):
    lines = listing(monkeypatch, columns=80)
    assert max(map(len, lines)) <= 80
    assert any(line.split() == ["resnet50", "residual", "CNN", "25.6", "3.86", "image", "224x224x3"] for line in lines)


def test_numbers_in_names_are_ordered_as_numbers(monkeypatch):
    names = [line.split()[0] for line in listing(monkeypatch)]
    assert names.index("resnet50") < names.index("resnet101") < names.index("resnet152")


def test_a_family_is_asked_for_by_a_part_of_its_name(monkeypatch):
    _, *lines = listing(monkeypatch, "--family", "RESIDUAL")
    assert {line.split()[1] for line in lines} == {"residual"}
    assert any(line.startswith("resnet50") for line in lines)


def test_a_family_that_nobody_knows_is_answered_with_those_there_are():
    with pytest.raises(IrbenchError, match="No model family contains 'plane CNN'") as caught:
        command(["--family", "plane CNN"], standalone_mode=False)
    assert "Did you mean plain CNN?" in caught.value.hint
    assert "densely connected CNN" in caught.value.hint
