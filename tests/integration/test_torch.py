"""PyTorch as a source and as a baseline, through the front door: ``make test-torch`` installs what this needs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from front_door import irbench_process

from irbench.errors import ExitCode
from irbench.store import bundles

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed here"),
]
needs_transformers = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed here")

MODULES = Path(__file__).parents[1] / "torch_modules.py"
FOLDERS = """
import sys
import torch, transformers
torch.manual_seed(0)
small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
makers = {
    "bert": lambda: transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=99, **small)),
    "vit": lambda: transformers.ViTForImageClassification(transformers.ViTConfig(image_size=32, patch_size=8, **small)),
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=99, num_key_value_heads=2, **small)
    ),
}
makers[sys.argv[1]]().save_pretrained(sys.argv[2])
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "results"))
    return tmp_path


def export(source: object, *options: object):
    called = irbench_process("export", source, *options)
    assert called.code == 0, called.err
    return bundles.load(Path(called.out.strip().splitlines()[-1].strip()).expanduser())


def refused(*arguments: object) -> str:
    called = irbench_process(*arguments)
    assert called.code == ExitCode.USAGE, called.err
    return called.err


@pytest.mark.parametrize(
    ("function", "inputs", "outputs"),
    [
        ("two_heads", {"image": ("batch", 3, 16, 16)}, {"classes": ("batch", 10), "boxes": ("batch", 4)}),
        (
            "encoder",
            {"tokens": ("batch", "length"), "scale": ("batch", 1, 1)},
            {"output": ("batch", "length", 32)},
        ),
        ("recurrent", {"steps": ("batch", 5, 8)}, {"output_0": ("batch", 5, 16), "output_1": ("batch", 1, 16)}),
        (
            "cached_decoder",
            {"token": ("batch", 1), "past_0": ("batch", "past_length", 16), "past_1": ("batch", "past_length", 16)},
            {
                "output_0": ("batch", 1, 40),
                "output_1_0": ("batch", "past_length + 1", 16),
                "output_1_1": ("batch", "past_length + 1", 16),
            },
        ),
        ("grouped", {"input": ("batch", 8, 12, 12)}, {"output": ("batch", 8, 12, 12)}),
        ("resized", {"image": ("batch", 3, 8, 8)}, {"output": ("batch", 16, 16)}),
        (
            "three_inputs",
            {"user": ("batch",), "item": ("batch",), "weight": ("batch", 1)},
            {"output": ("batch", 20)},
        ),
        ("half", {"input": ("batch", 16)}, {"output": ("batch", 4)}),
        ("with_attribute", {"input": ("batch", 4)}, {"output": ("batch", 3)}),
        ("NAMED", {"input": ("batch", 4)}, {"output": ("batch", 3)}),
    ],
)
def test_a_module_becomes_a_program_and_an_onnx_graph_that_agrees(home: Path, function: str, inputs, outputs):
    bundle = export(f"{MODULES}:{function}")
    assert [artifact.kind for artifact in bundle.artifacts] == ["onnx", "torch-export"]
    for artifact in bundle.artifacts:
        assert {spec.name: spec.shape for spec in artifact.inputs} == inputs
        assert {spec.name: spec.shape for spec in artifact.outputs} == outputs
    assert bundle.details["onnx_exporter"] == "dynamo"
    assert bundle.details["max_rel_error"] < (1e-2 if function == "half" else 1e-4)


def test_a_module_that_takes_one_batch_alone_keeps_it(home: Path):
    bundle = export(f"{MODULES}:fixed_batch")
    assert bundle.defaults == {"batch": 2}
    assert bundle.artifacts[1].inputs[0].shape == (2, 8, 3)
    assert "fixed_batch" in bundle.details


def test_a_batch_that_is_asked_for_is_fixed(home: Path):
    bundle = export(f"{MODULES}:two_heads", "--batch", 4)
    assert bundle.defaults == {"batch": 4}
    assert bundle.artifacts[0].inputs[0].shape == (4, 3, 16, 16)


def test_what_cannot_be_exported_names_the_line_of_the_users_code(home: Path):
    words = refused("export", f"{MODULES}:branching")
    assert "torch_modules.py:" in words
    assert "if values.sum() > 0" in words


def test_what_onnx_has_no_operator_for_is_named_with_its_line(home: Path):
    words = refused("export", f"{MODULES}:no_counterpart")
    assert "aten.special_airy_ai" in words
    assert "torch_modules.py:" in words


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("counting", "changes its buffer calls"),
        ("in_place", "changes its input values"),
        ("unchanged", "returns its input values unchanged"),
        ("fourier", "output is complex64"),
        ("batch_second", "cannot have the dimension batch at axis 1"),
        ("script", "which torch.export does not take"),
    ],
)
def test_a_module_that_cannot_be_compared_is_refused_with_the_reason(home: Path, function: str, words: str):
    said = refused("export", f"{MODULES}:{function}")
    assert words in said
    assert "hint: " in said


def test_outputs_have_names_of_their_own_and_examples_of_zeros_stand_for_any_values(home: Path):
    bundle = export(f"{MODULES}:same_names")
    assert [spec.name for spec in bundle.outputs] == ["values_1", "a_b", "a_b_1"]
    assert (bundle.inputs[0].low, bundle.inputs[0].high) == (0.0, 1.0)


def test_the_older_exporter_takes_over_where_the_other_fails(home: Path, tmp_path: Path):
    code = f"""
import sys; sys.path.insert(0, {str(MODULES.parent)!r})
from pathlib import Path
import torch, torch_modules
from irbench_torch import conversion, sources, tracing
whole = torch.onnx.export
def failing(*arguments, dynamo, **options):
    if dynamo:
        raise RuntimeError("no such operator")
    return whole(*arguments, dynamo=False, **options)
torch.onnx.export = failing
loaded = sources.loaded_of(torch_modules.two_heads(), "net", "net")
traced = tracing.trace(loaded, None)
model, facts = conversion.write_onnx(traced, loaded, Path({str(tmp_path / "old.onnx")!r}), 18)
print(facts, [dim.dim_param for dim in model.graph.input[0].type.tensor_type.shape.dim])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "'onnx_exporter': 'torchscript'" in done.stdout, done.stderr
    assert "no such operator" in done.stdout
    assert "['batch', '', '', '']" in done.stdout


def test_a_saved_program_keeps_a_fixed_batch(home: Path):
    path = export(f"{MODULES}:fixed_batch").artifacts[1].path
    (home / "fixed.pt2").write_bytes(path.read_bytes())
    assert "takes no other" in refused("export", home / "fixed.pt2", "--batch", 4)


def test_a_module_that_fails_by_itself_is_told_from_one_that_cannot_be_exported(home: Path):
    words = refused("export", f"{MODULES}:broken")
    assert "broken fails when it is called with its example inputs at torch_modules.py:" in words
    assert "calling it in Python shows where" in words


def test_a_module_without_inputs_is_told_how_to_give_them(home: Path):
    assert "Give (module, example_inputs)" in refused("export", f"{MODULES}:without_inputs")


def test_a_pickle_is_refused_with_what_to_do(home: Path):
    (home / "net.pt").write_bytes(b"PK")
    assert "is a PyTorch pickle" in refused("run", home / "net.pt")


def test_the_module_is_the_baseline_of_a_run_of_all_backends_that_read_it(home: Path):
    called = irbench_process("run", f"{MODULES}:two_heads", "--quick", "--format", "json")
    assert called.code == 0, called.err
    rows = {row["backend"]: row for row in called.document["groups"][0]["cells"]}
    assert set(rows) >= {"torch", "torch-compile", "ort", "openvino"}
    assert all(row["state"] == "ok" for row in rows.values()), rows
    assert called.document["groups"][0]["baseline"] == rows["torch"]["id"]


@pytest.mark.parametrize("decoder", ["cached_decoder", "prompted_decoder"])
def test_a_decoder_generates_the_same_tokens_on_every_backend(home: Path, decoder: str):
    asked = ("--generate", "6", "--prompt", "4", "--backends", "torch,torch-compile,ort")
    called = irbench_process("run", f"{MODULES}:{decoder}", *asked, "--quick", "--format", "json")
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    assert {row["backend"]: row["state"] for row in table["cells"]} == dict.fromkeys(
        ("torch", "torch-compile", "ort"), "ok"
    )
    assert table["verified_against"] is not None
    assert all(row["generation"]["new_tokens"] == 6 for row in table["cells"])


def test_a_saved_program_is_a_model(home: Path):
    bundle = export(f"{MODULES}:encoder")
    (artifact,) = (artifact for artifact in bundle.artifacts if artifact.kind == "torch-export")
    (home / "saved.pt2").write_bytes(artifact.path.read_bytes())
    again = export(home / "saved.pt2")
    assert again.name == "saved"
    assert again.inputs[0].tensor.shape[0] == "batch"
    left, right = (np.load(one.reference)["arr_0"] for one in (bundle, again))
    assert left.shape == right.shape


@needs_transformers
@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("bert", ["input_ids", "attention_mask"]),
        ("vit", ["pixel_values"]),
        ("llama", ["input_ids", "attention_mask"]),
    ],
)
def test_a_folder_of_hugging_face_is_a_model(home: Path, kind: str, inputs: list[str]):
    subprocess.run([sys.executable, "-c", FOLDERS, kind, str(home / kind)], check=True)
    bundle = export(home / kind)
    assert [spec.tensor.name for spec in bundle.inputs] == inputs
    called = irbench_process("run", home / kind, "--backends", "torch", "--quick", "--format", "json")
    assert called.code == 0, called.err
    assert [row["state"] for row in called.document["groups"][0]["cells"]] == ["ok"]
    assert bundle.outputs[0].name == "logits"
    assert bundle.outputs[0].shape[0] == "batch"


@needs_transformers
def test_a_folder_of_pickles_is_refused_with_the_command_that_converts_them(home: Path):
    folder = home / "pickled"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertModel"]}))
    (folder / "pytorch_model.bin").write_bytes(b"PK")
    words = refused("export", folder)
    assert "are a pickle" in words
    assert "save_file" in words


def test_a_module_in_memory_is_a_model_with_its_inputs(home: Path):
    code = (
        f"import sys; sys.path.insert(0, {str(MODULES.parent)!r})\n"
        "import irbench, torch_modules\n"
        "module, *inputs = torch_modules.three_inputs()\n"
        "run = irbench.run((module, inputs[0]), backends=['torch', 'ort'], quick=True)\n"
        "print(sorted(row.backend for row in run.rows), module.training)\n"
        "larger = tuple(torch_modules.torch.cat([leaf, leaf]) for leaf in inputs[0])\n"
        "named = irbench.export((module, larger)), irbench.export((module, inputs[0]))\n"
        "print(len({one.folder for one in named}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "['ort', 'torch'] True\n2\n" in done.stdout


def test_torch_compile_says_that_there_is_no_compiler(home: Path, monkeypatch: pytest.MonkeyPatch):
    bundle = export(f"{MODULES}:two_heads")
    monkeypatch.setenv("CXX", "/nowhere/g++")
    called = irbench_process("run", bundle.name, "--backends", "torch-compile", "--quick")
    assert "needs a C++ compiler, and there is none" in called.out + called.err
