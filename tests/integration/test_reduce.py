"""``irbench reduce`` through its front door: scripted backends that are slow, wrong or crash at one operator."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import numpy as np
import onnx
import onnx.parser
import pytest
from front_door import irbench, irbench_process
from onnx import numpy_helper

import irbench as package
from irbench.features.reduce import judge
from irbench.features.verify.report import VerificationRequest
from irbench.spec import timing

pytestmark = pytest.mark.usefixtures("known_backends")

GRAPHS = {
    2: "(float[2,4] x) => (float[2,4] y) { [a] h = Neg(x)  [b] y = Tanh(h) }",
    6: """(float[2,4] x) => (float[2,4] y) {
        [a] h1 = Neg(x)  [b] h2 = Relu(h1)  [c] h3 = Tanh(h2)  [d] h4 = Abs(h3)  [e] h5 = Sin(h4)  [f] y = Add(h5, x)
    }""",
}


def saved(folder: Path, text: str, opset: int = 20) -> Path:
    path = folder / "net.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> net {text}'), path)
    return path


def operators(folder: Path) -> list[str]:
    return [node.op_type for node in onnx.load(folder / "reduced.onnx").graph.node]


def at(operator: str, **script: str) -> list[str]:
    """Return the options that make fake-a behave like this in graphs with an operator."""
    return [word for key, value in {"op": operator, **script}.items() for word in ("--set", f"fake-a.{key}={value}")]


@pytest.mark.ci
def test_wrong_outputs_are_reduced_to_the_operator_that_gives_them(tmp_path: Path) -> None:
    model, folder = saved(tmp_path, GRAPHS[2]), tmp_path / "found"
    script = at("Neg", fault="wrong")
    called = irbench("reduce", model, "--expect-wrong", "fake-a", "-o", folder, *script, "--format", "json")
    assert called.code == 0, called.err
    report = called.document
    assert report["conclusion"] == "reduced"
    assert [node["op_type"] for node in report["reduced"]["nodes"]] == ["Neg"] == operators(folder)
    assert report["full"]["backends"][0]["state"] == "mismatch"
    assert "shows it" in called.err
    assert "fake-a gives wrong outputs" in (folder / "report.md").read_text()


@pytest.mark.ci
def test_the_command_of_the_report_repeats_it_on_the_values_of_the_whole_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder = saved(tmp_path, GRAPHS[2]), tmp_path / "found"
    found = package.reduce(
        model, expect_wrong="fake-a", output=folder, set={"fake-a": {"op": "Tanh", "fault": "wrong"}}, progress=None
    )
    assert operators(folder) == ["Tanh"]
    with np.load(folder / "inputs.npz") as inputs:
        assert {name: inputs[name].shape for name in inputs.files} == {"h": (2, 4)}
        assert (inputs["h"] <= 0).all(), "the input of Tanh is what Neg makes of generated values"
        with np.load(folder / "expected.npz") as expected:
            assert np.allclose(expected["y"], np.tanh(inputs["h"]), atol=1e-6)
    assert "expected.npz" in str(found)
    monkeypatch.chdir(folder)
    again = irbench(*found.report.repeat[1:], "--quick", "--budget", "0.01s", "--format", "json")
    assert again.code == 1, again.err
    (row,) = again.document["groups"][0]["cells"]
    assert row["state"] == "mismatch"


@pytest.mark.ci
def test_a_disk_that_fills_up_while_the_graph_is_written_leaves_no_part_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out_of_room(_source: Path, target: Path) -> None:
        target.write_bytes(b"a part")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("irbench.features.reduce.search.shutil.copyfile", run_out_of_room)
    model, folder = saved(tmp_path, GRAPHS[2]), tmp_path / "found"
    called = irbench("reduce", model, "--expect-wrong", "fake-a", "-o", folder, *at("Neg", fault="wrong"))
    assert called.code == 2, called.err
    assert "cannot be written: No space left on device" in called.err
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_slow_operator_is_found_in_a_race(tmp_path: Path) -> None:
    model, folder = saved(tmp_path, GRAPHS[6]), tmp_path / "found"
    found = package.reduce(
        model,
        expect="fake-a slower than fake-b by 1.5x",
        output=folder,
        set={"fake-a": {"op": "Abs", "op_us": 900}},
        progress=None,
    )
    assert found.report.conclusion == "reduced"
    assert found.folder == folder
    assert operators(folder) == ["Abs"]
    assert found.report.reduced is not None
    assert found.report.reduced.confirmation == "shows"
    speedup = found.report.reduced.evidence.speedup
    assert speedup is not None
    assert speedup.value == pytest.approx(4, rel=0.01)
    stored = {row.run_id for row in package.results()}
    assert stored == {found.report.full.run_id, found.report.reduced.evidence.run_id}  # type: ignore[union-attr]
    assert "4.00" in (folder / "report.md").read_text()


@pytest.mark.slow
def test_a_crash_is_reduced_to_the_operator_that_crashes(tmp_path: Path) -> None:
    model = saved(tmp_path, GRAPHS[6])
    folder = tmp_path / "found"
    called = irbench(
        "reduce", model, "--expect", "fake-a crashes", "-o", folder, *at("Sin", fault="crash", at="compile"),
        "--format", "json",
    )  # fmt: skip
    assert called.code == 0, called.err
    assert operators(folder) == ["Sin"]
    assert "SIGSEGV" in called.document["reduced"]["evidence"]["backends"][0]["failure"]["message"]


@pytest.mark.ci
def test_a_backend_that_never_closes_is_waited_for_as_long_as_the_budget_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "LEAST_WAIT_S", 8.0)
    asked = ("--expect-failure", "fake-a", "-o", tmp_path / "found", "--budget", "9s", "--format", "json")
    called = irbench("reduce", saved(tmp_path, GRAPHS[2]), *asked, *at("Neg", fault="hang:deaf", at="close"))
    assert called.code == 0, called.err
    assert "no answer within 8 s" in called.document["full"]["backends"][0]["failure"]["message"]


@pytest.mark.ci
def test_the_budget_of_a_reduction_bounds_how_long_a_backend_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def planned(asked: VerificationRequest, _: Path) -> NoReturn:
        waits.append(asked.deadline_s)
        raise package.IrbenchError("enough", hint="")

    monkeypatch.setattr(judge, "trials", planned)
    for budget in ("10s", "100s", "10m", "60m"):
        with pytest.raises(package.IrbenchError, match="enough"):
            package.reduce(saved(tmp_path, GRAPHS[2]), expect_wrong="fake-a", budget=budget, progress=None)
    assert waits == [30, 50, 300, 300]


@pytest.mark.ci
def test_what_the_whole_graph_does_not_show_is_not_searched(tmp_path: Path) -> None:
    model = saved(tmp_path, GRAPHS[2])
    called = irbench("reduce", model, "--expect", "fake-a wrong", "-o", tmp_path / "found")
    assert called.code == 1, called.err
    assert "does not show" in called.out
    assert not (tmp_path / "found").exists()


@pytest.mark.slow
def test_an_interrupt_ends_it_with_what_is_known(tmp_path: Path) -> None:
    model, folder = saved(tmp_path, GRAPHS[6]), tmp_path / "found"
    script = at("Sin", fault="interrupt", at="relaunch")  # by the second worker that compiles such a graph
    called = irbench_process("reduce", model, "--expect", "fake-b slower than fake-a by 1.5x", "-o", folder, *script)
    assert called.code == 130, called.err
    assert "interrupted before" in called.out
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "No difference is expected"),
        (("--expect", "fake-a slow"), "write it like 'ort slower than openvino by 1.5x'"),
        (("--expect", "fake-a slower than fake-z by 2x"), "There is no backend 'fake-z'"),
        (("--expect-wrong", "fake-a", "--expect-failure", "fake-a"), "Several differences are expected"),
        (("--expect-wrong", "fake-a", "--threads", "1"), "--threads does not apply"),
        (("--expect", "fake-a slower than fake-b", "--threads", "1,2"), "--threads takes one value"),
        (("--expect-wrong", "tf"), "tf does not read ONNX graphs"),
        (("--expect-wrong", "fake-a", "-o", "."), "is not empty"),
        (("--expect-wrong", "fake-a", "--data", "none.npz"), "There is no file or folder none.npz"),
    ],
)
def test_a_reduction_that_cannot_be_made_says_why(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    called = irbench("reduce", saved(tmp_path, GRAPHS[2]), *arguments)
    assert called.code in (2, 5)
    assert said in called.err
    assert "hint: " in called.err or "write it like" in called.err


@pytest.mark.ci
def test_one_sample_is_reduced(tmp_path: Path) -> None:
    model, data = saved(tmp_path, GRAPHS[2]), tmp_path / "data"
    data.mkdir()
    for number in range(2):
        np.savez(data / f"{number}.npz", x=np.ones((2, 4), np.float32))
    called = irbench("reduce", model, "--expect-wrong", "fake-a", "--data", data, "-o", tmp_path / "found")
    assert called.code == 2
    assert "The data have 2 samples" in called.err


@pytest.mark.slow
def test_a_wrong_answer_of_a_real_runtime_is_reduced_to_its_operator(tmp_path: Path) -> None:
    """The largest value of a row of nothing but -inf is -inf, and not the least finite number."""
    model = saved(
        tmp_path,
        """(float[2,4] x, bool[2,4] mask) => (float[2,4] y) <float least = {0}, int64[1] last = {-1}> {
            [scale] s = Tanh(x)
            [mask] m = Where(mask, s, least)
            [max] top = ReduceMax <keepdims=1> (m, last)
            [empty] is_empty = IsInf(top)
            [negate] n = Neg(s)
            [choose] y = Where(is_empty, n, s)
        }""",
    )
    proto = onnx.load(model)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(-np.inf, np.float32), "least"))
    onnx.save(proto, model)
    data = tmp_path / "sample.npz"
    np.savez(data, x=np.ones((2, 4), np.float32), mask=np.array([[False] * 4, [True] * 4]))
    folder = tmp_path / "found"
    called = irbench("reduce", model, "--expect-wrong", "openvino", "--data", data, "-o", folder, "--format", "json")
    if called.code == 1:
        pytest.skip("this OpenVINO answers rightly")
    assert called.code == 0, called.err
    assert operators(folder) == ["ReduceMax"]
    with np.load(folder / "inputs.npz") as inputs:
        assert np.isneginf(inputs["m"][0]).all(), "the value that matters comes along"


@pytest.mark.slow
def test_two_real_runtimes_race_and_what_is_written_can_be_run(tmp_path: Path) -> None:
    """Which of them is faster depends on the machine; whatever comes out, the files are sound."""
    text = """(float[64,256] x) => (float[64,256] y) <float[1] w = {0.0}, float one = {1.0}> {
        [first] a = MatMul(x, w)  [relu] b = Relu(a)  [shift] c = Add(b, one)  [power] d = Pow(c, c)  [last] y = Tanh(d)
    }"""
    model, folder = saved(tmp_path, text), tmp_path / "found"
    proto = onnx.load(model)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full((256, 256), 0.001, np.float32), "w"))
    onnx.save(proto, model)
    called = irbench(
        "reduce", model, "--expect", "ort slower than openvino by 1%", "-o", folder, "--threads", "1",
        "--budget", "45s", "--format", "json",
    )  # fmt: skip
    report = called.document
    assert (called.code, report["conclusion"]) in {
        (0, "reduced"), (0, "stopped"), (0, "whole"), (1, "absent"), (4, "undecided"),
    }, called.err  # fmt: skip
    assert [facts["state"] for facts in report["full"]["backends"]] == ["ok", "ok"]
    if report["reduced"] is not None:
        verified = irbench("verify", folder / "reduced.onnx", "--data", folder / "inputs.npz")
        assert verified.code == 0, verified.out
