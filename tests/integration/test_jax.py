"""JAX as a source and as a baseline, through the front door: ``make test-jax`` installs what this needs."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fresh_projects import exported, make_project, write
from front_door import irbench_process

from irbench.errors import ExitCode, IrbenchError
from irbench.store import bundles

pytestmark = [
    pytest.mark.jax,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("jax2onnx") is None, reason="JAX is not installed here"),
]

FUNCTIONS = Path(__file__).parents[1] / "jax_functions.py"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "results"))
    return tmp_path


def export(function: str, *options: object):
    called = irbench_process("export", f"{FUNCTIONS}:{function}", *options)
    assert called.code == 0, called.err
    return bundles.load(Path(called.out.strip().splitlines()[-1].strip()).expanduser())


def refused(*arguments: object) -> str:
    called = irbench_process(*arguments)
    assert called.code == ExitCode.USAGE, called.err
    error, hint = called.err.strip().splitlines()[-2:]
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    return error


@pytest.mark.parametrize(
    ("function", "inputs", "outputs"),
    [
        ("mlp", {"pixels": ("batch", 64)}, {"output": ("batch", 10)}),
        ("cnn", {"image": ("batch", 16, 16, 3)}, {"classes": ("batch", 10), "features": ("batch", 16)}),
        (
            "attention",
            {"queries": ("batch", 3, 8), "keys": ("batch", "length", 8)},
            {"output": ("batch", 3, 8), "weights": ("batch", 3, "length")},
        ),
        ("scan", {"steps": ("batch", 5, 8)}, {"output_0": ("batch", 8), "output_1": ("batch", 5, 8)}),
        (
            "strided",
            {"signal": ("batch", "length", 4)},
            {"output": ("batch", "floordiv(length - 3, 2) + 1", 5)},
        ),
        ("scalars", {"left": (), "right": ()}, {"output": ()}),
    ],
)
def test_a_function_becomes_a_program_and_an_onnx_graph_that_agrees(home: Path, function: str, inputs, outputs):
    bundle = export(function)
    assert [artifact.kind for artifact in bundle.artifacts] == ["onnx", "jax-export"]
    for artifact in bundle.artifacts:
        assert {spec.name: spec.shape for spec in artifact.inputs} == inputs
        assert {spec.name: spec.shape for spec in artifact.outputs} == outputs
    assert bundle.details["max_rel_error"] < 1e-4


def test_a_function_that_takes_one_batch_alone_keeps_it(home: Path):
    bundle = export("fixed_batch")
    assert bundle.defaults == {"batch": 2}
    assert bundle.artifacts[1].inputs[0].shape == (2, 24)
    assert "fixed_batch" in bundle.details


def test_a_batch_and_a_length_that_are_asked_for_are_the_bundles(home: Path):
    bundle = export("attention", "--batch", 4, "--shape", "length=7")
    assert bundle.defaults == {"batch": 4, "length": 7}
    assert bundle.artifacts[0].inputs[1].shape == (4, "length", 8)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("singular", "cannot be converted to ONNX at jax_functions.py:{line}: the primitive svd is not supported"),
        ("calling_python", "at jax_functions.py:{line}: the primitive pure_callback is not supported"),
        ("branching", "cannot be exported by JAX at jax_functions.py:{line}: Attempted boolean conversion"),
    ],
)
def test_what_cannot_be_exported_names_the_primitive_and_the_line_of_the_users_code(home: Path, function: str, words):
    lines = FUNCTIONS.read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if text.endswith(f"# refused: {function}"))
    assert words.format(line=line) in refused("export", f"{FUNCTIONS}:{function}")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("without_inputs", "without example inputs"),
        ("foreign", "with a Tensor, which is no array of JAX"),
        ("foreign_alone", "returned Module, which is no function of JAX"),
        ("too_few", "a function that does not take its inputs: missing a required argument: 'right'"),
        ("unknown_name", "names a dimension of tokens; the inputs are values"),
    ],
)
def test_what_is_no_function_with_its_inputs_is_refused(home: Path, function: str, words: str):
    assert words in refused("export", f"{FUNCTIONS}:{function}")


def test_jax_is_the_baseline_of_a_run_of_all_backends_that_read_it(home: Path):
    called = irbench_process(
        "run", f"{FUNCTIONS}:attention", "--backends", "jax,ort,openvino", "--quick", "--format", "json"
    )
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    rows = {row["backend"]: row for row in table["cells"]}
    assert set(rows) == {"jax", "ort", "openvino"}
    assert table["baseline"] == rows["jax"]["id"]
    assert all(row["speedup"]["verified"] for name, row in rows.items() if name != "jax")
    assert all(row["output_error"]["max_rel"] < 1e-4 for row in rows.values())
    effective = rows["jax"]["effective"]
    assert effective["precision"] == "fp32"
    assert effective["matmul_precision"] == "highest"
    assert effective["threads"] == rows["ort"]["effective"]["threads"]


def test_threads_are_those_of_xlas_pool_and_a_deployed_row_runs_without_irbench(home: Path):
    run = ("run", f"{FUNCTIONS}:wide", "--backends", "jax", "--threads", 1, "--streams", 2, "--quick")
    called = irbench_process(*run, "--format", "json")
    assert called.code == 0, called.err
    (row,) = called.document["groups"][0]["cells"]
    assert row["effective"]["threads"] == 1
    assert irbench_process("deploy", "latest", "-o", home / "winner").code == 0
    program = (home / "winner" / "infer.py").read_text()
    assert "'PJRT_NPROC': '1'" in program
    done = subprocess.run([sys.executable, home / "winner" / "infer.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "int64" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--backends", "jax", "--precision", "int8"), "does not convert it to int8"),
        (("--backends", "jax:cuda"), "jax has no device 'cuda'"),
        (("--backends", "jax", "--set", "jax.threads=1"), "jax has no option"),
    ],
)
def test_what_jax_cannot_do_is_refused(home: Path, options: tuple[str, ...], words: str):
    assert words in refused("run", f"{FUNCTIONS}:mlp", *options)


SEVERAL = """
def any_jax():
    from jax_functions import mlp
    return mlp()

def any_foreign():
    from jax_functions import foreign
    return foreign()
"""


def test_of_several_exporters_jax_takes_its_own_functions_and_none_takes_another_frameworks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    project = make_project(tmp_path, monkeypatch)
    write(project / "net.py", SEVERAL)
    write(project / "jax_functions.py", FUNCTIONS.read_text())
    made, _ = exported("net.py:any_jax")
    assert made.bundle.details["onnx_exporter"] == "jax2onnx"
    with pytest.raises(IrbenchError, match="returned tuple, which is no model of Fake or JAX"):
        exported("net.py:any_foreign")
