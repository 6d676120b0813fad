"""The program of a row is Python that compiles, with the settings of the row and the names that check.py needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.programs.own_program import own_program
from irbench.programs.row_program import ProgramHeading, graph_places, row_program
from irbench.spec import Artifact, Bundle, Cell, Load, Program, TensorSpec, Workload

PIXELS, SCORES = TensorSpec("pixels", "float32", (2, 3, 8, 8)), TensorSpec("scores", "float32", (2, 5))
ONNX = Artifact("onnx", Path("/measured/net.onnx"), (PIXELS,), (SCORES,))
GRAPH = replace(ONNX, kind="tf-graph", path=Path("/measured/graph.pb"))
LOAD = Load(batch=2, threads=2, precision="fp32")
HEADING = ProgramHeading("Run net.", ("Settings: two threads.",))
NAMES = {"INPUTS", "OUTPUTS", "open_model", "Caller", "call", "main"}


def program(backend: str, load: Load = LOAD, **facts: object) -> str:
    artifact = GRAPH if backend.startswith("tf") else ONNX
    cell = replace(Cell(backend, artifact, backend, "cpu", load), **facts)  # type: ignore[arg-type]
    return row_program(cell, load.batch, HEADING, [(0,), (1,)])


def names_of(code: str) -> set[str]:
    """Return the names that a program defines; of runtimes nothing is imported."""
    return set(compile(code, "infer.py", "exec").co_names)


@pytest.mark.parametrize("backend", ["ort", "openvino", "tf", "tf-xla"])
@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("instances", [1, 2])
def test_every_program_has_the_names_that_the_check_needs(backend: str, streams: int, instances: int):
    code = program(backend, replace(LOAD, streams=streams, instances=instances))
    assert names_of(code) >= NAMES
    assert ("run_all" in names_of(code)) == (streams * instances > 1)
    assert code.startswith('"""Run net.\n\nSettings: two threads.\n"""\n')
    assert "'pixels': ('float32', (2, 3, 8, 8))," in code
    assert "/measured" not in code, "it reads the graph beside it"
    assert "irbench" not in code.partition('"""\n')[2]


def test_variables_are_set_before_anything_is_imported_that_reads_them():
    code = program("tf")
    assert code.index("'OMP_NUM_THREADS': '2'") < code.index("import numpy")
    assert code.index("'ONEDNN_DEFAULT_FPMATH_MODE': 'STRICT'") < code.index("import tensorflow")
    assert "OMP_NUM_THREADS" not in program("ort", replace(LOAD, threads=None))


def test_a_row_keeps_to_its_processors():
    assert "os.sched_setaffinity(0, {1, 3})" in program("ort", replace(LOAD, cpus=(1, 3)))
    several = program("ort", replace(LOAD, cpus=(0, 1), instances=2))
    assert "PROCESSORS = [{0}, {1}]" in several
    assert "os.sched_setaffinity(0, shares.get())" in several


def test_no_name_can_end_the_docstring():
    title = 'Run """ + exit() + """ \\'
    cell = Cell("ort", ONNX, "ort", "cpu", LOAD)
    code = row_program(cell, 2, ProgramHeading(title))
    assert names_of(code) >= NAMES
    assert "exit" not in names_of(code)


def test_a_backend_without_a_template_is_refused_in_a_line(known_backends: None):
    with pytest.raises(IrbenchError, match="fake-a does not tell how its runtime is used"):
        program("fake-a")


def test_graphs_are_called_alike_whatever_they_were_called():
    assert list(graph_places(Cell("ort", ONNX, "ort", "cpu", LOAD))) == ["model/model.onnx"]
    assert list(graph_places(Cell("tf", GRAPH, "tf", "cpu", LOAD))) == ["model/graph.pb"]


@pytest.mark.parametrize(
    ("target", "imported"),
    [
        ("code/own_loop.py:infer", "from own_loop import infer"),
        ("code/check.py:infer", "from own_check import infer"),
        ("package.loop:infer", "from package.loop import infer"),
    ],
)
def test_own_code_is_imported_from_its_file_beside_the_program(target: str, imported: str):
    cell = Cell("mine", ONNX, "mine", "cpu", replace(LOAD, streams=2), program=Program("callable", target))
    code = own_program(cell, Workload(Bundle("net", (), (ONNX,)), {"batch": 2}), HEADING)
    assert imported in code.splitlines()
    assert names_of(code) >= NAMES - {"main"} | {"run_all"}


def test_a_command_is_its_own_program():
    cell = Cell("mine", ONNX, "mine", "cpu", LOAD, program=Program("command", "./my_loop --fast"))
    with pytest.raises(IrbenchError, match="my_loop --fast"):
        own_program(cell, Workload(Bundle("net", (), (ONNX,)), {"batch": 2}), HEADING)
