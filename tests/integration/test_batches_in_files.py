"""Batch sizes that exporters wrote into files, through the front door."""

from __future__ import annotations

from pathlib import Path

import fake_runs
import onnx
import onnx.parser
import pytest
from front_door import irbench

pytestmark = pytest.mark.usefixtures("known_backends")

IMPOSSIBLE = "(float[N,4,6] x) => (float[N,24] y) <int64[2] t = {1, 24}> { [flat] y = Reshape(x, t) }"
APPENDING = """(float[N,4,6] x) => (float[N,5,6] y) <float[1,1,6] first = {0, 0, 0, 0, 0, 0}> {
    y = Concat<axis = 1>(first, x)
}"""
MIXING = """(float[N,4,6] x) => (float[N,4,6] y) <int64[3] t = {1, -1, 6}, int64[3] u = {-1, 4, 6}> {
    [fold] f = Reshape(x, t)  m = ReduceMean<axes = [1]>(f)  s = Sub(f, m)  y = Reshape(s, u)
}"""
PLAIN = "(float[N,4,6] x) => (float[N,4,6] y) { y = Tanh(x) }"


def saved(folder: Path, graph: str) -> Path:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> net {graph}')
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


@pytest.mark.ci
def test_rows_of_a_batch_that_the_file_excludes_name_the_node_and_are_not_started(tmp_path: Path) -> None:
    called = fake_runs.run(saved(tmp_path, IMPOSSIBLE), "--batch", "1,8")
    (table,) = called.document["groups"]
    by_batch = {1: [], 8: []}
    for cell in table["cells"]:
        by_batch[cell["batch"]].append(cell)
    assert {cell["state"] for cell in by_batch[1]} == {"ok"}
    for cell in by_batch[8]:
        assert cell["failure"]["stage"] == "compile"
        said = "flat reshapes 8 x 4 x 6 to 1 x 24 at batch 8"
        assert cell["failure"]["message"] == f"the file has a batch of 1 written into it: {said}"
    assert "unverified" not in {warning["code"] for warning in table["warnings"]}


@pytest.mark.parametrize(("graph", "said"), [
    (IMPOSSIBLE, "flat reshapes 8 x 4 x 6 to 1 x 24 at batch 8"),
    (APPENDING, "the shapes 1 x 1 x 6 and 8 x 4 x 6 do not fit in Concat of y at batch 8"),
])  # fmt: skip
def test_a_batch_that_no_row_can_have_is_refused(tmp_path: Path, graph: str, said: str) -> None:
    called = irbench("run", saved(tmp_path, graph), "--backends", "fake-a", "--batch", "8")
    assert called.code == 2
    assert f"a batch of 1 written into it: {said}" in " ".join(called.err.split())
    assert "--batch 1" in called.err


@pytest.mark.ci
@pytest.mark.parametrize(("graph", "batches", "is_mixing"), [
    (MIXING, "8", True), (MIXING, "1,8", True), (PLAIN, "1,8", False), (MIXING, "1", False),
])  # fmt: skip
def test_samples_that_a_batch_mixes_are_reported(tmp_path: Path, graph: str, batches: str, is_mixing: bool) -> None:
    called = fake_runs.run(saved(tmp_path, graph), "--batch", batches)
    assert called.code == 0, called.err
    warnings = [warning for table in called.document["groups"] for warning in table["warnings"]]
    mixing = [warning for warning in warnings if warning["code"] == "mixes-samples"]
    assert bool(mixing) == is_mixing
    assert all(warning["facts"]["batch"] == 8 for warning in mixing)
