"""A notebook as people run one: results are tables, progress is one line, errors are two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import nbclient
import nbformat
import onnx
import pytest
from onnx import TensorProto, helper

pytestmark = [
    pytest.mark.ci,
    pytest.mark.usefixtures("known_backends"),
    pytest.mark.filterwarnings("ignore"),  # those of the libraries that run notebooks
]

CELLS = {
    "import": "import irbench, threading\nOPTIONS = dict(quick=True, budget=0.01)",
    "rows": (
        "factor = 2\n"
        "def doubled(inputs):\n"
        "    factor * 2\n"
        'run = irbench.run("mlp.onnx", backends="fake-a", cells={"mine": doubled}, **OPTIONS)'
    ),
    "run": "run",
    "label": 'print([row.label for row in run.rows if row.state == "ok"])',
    "sizes": 'irbench.run("sequence.onnx", backends="fake-a", **OPTIONS)',
    "keyword": 'irbench.run("mlp.onnx", bach=3)',
    "lock": (
        "session = threading.Lock()\n"
        'irbench.run("mlp.onnx", backends="fake-a", cells={"mine": lambda inputs: session}, **OPTIONS)'
    ),
    "cost": 'irbench.cost("mlp.onnx", batch=2)',
    "mistake": "1 / 0",
}


def sequence(folder: Path) -> None:
    """A model with an input of unknown length."""
    shape = ["batch", "seq"]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "sequence", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "sequence.onnx")


def executed(folder: Path) -> dict[str, list[Any]]:
    """Run the cells and return the outputs of each by its name."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, kernel_name="python3", allow_errors=True, resources=resources).execute()
    return dict(zip(CELLS, (cell["outputs"] for cell in notebook["cells"]), strict=True))


def data(outputs: list[Any], kind: str) -> list[str]:
    return [output["data"][kind] for output in outputs if "data" in output]


def test_a_notebook_shows_tables_one_line_of_progress_and_errors_of_two_lines(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    models.mlp(tmp_path)
    sequence(tmp_path)
    found = executed(tmp_path)
    with subtests.test("a run is a table with its verdict, and the row of the notebook's function is in it"):
        (shown,) = data(found["run"], "text/html")
        assert shown.count("<table") == 1
        assert "mine" in shown
        assert "'mine'" in found["label"][0]["text"]
    with subtests.test("progress is one output, which is empty at the end"):
        assert data(found["rows"], "text/plain") == [""]
    with subtests.test("what a graph costs is tables"):
        assert "<table" in data(found["cost"], "text/html")[0]
    for cell, said, hint in (
        ("sizes", "needs a size for its dynamic dimension 'seq'", 'shape={"seq": '),
        ("lock", "variable session, a lock", 'cells={"mine": "my_file.py:infer"}'),
    ):
        with subtests.test(f"an error is two lines, with the way out in Python: {cell}"):
            (error,) = [output for output in found[cell] if output["output_type"] == "error"]
            first, second = error["traceback"]
            assert said in first
            assert second.startswith("hint: ")
            assert hint in second
    with subtests.test("a wrong keyword is one line"):
        (line,) = found["keyword"][0]["traceback"]
        assert "Did you mean batch?" in line
    with subtests.test("errors of others keep their tracebacks"):
        assert len(found["mistake"][0]["traceback"]) > 2
