"""Fourier transforms that OpenVINO misreads are refused, and the others run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from irbench.onnx.reading import signature
from irbench.spec import Artifact, Load
from irbench.spi import Refusal
from irbench.worker.inference import OpenSession
from irbench_openvino import backend, fourier

SIGNAL, HALF = "float[2,4,6,1] x", "float[2,4,4,2]"
AXIS = "axis = 2, onesided = 1"
BRANCHES = """
    y = If (taken) <
        then_branch = then () => (t) { t = DFT <axis = 2, onesided = 1> (x) },
        else_branch = other () => (e) { e = Concat <axis = 3> (u, u) }
    >
"""


def artifact(graph: str, opset: int, folder: Path, functions: str = "") -> Artifact:
    path = folder / "graph.onnx"
    text = f'<ir_version: 9, opset_import: ["": {opset}, "own": 1]> g {graph}\n{functions}'
    onnx.save(parser.parse_model(text), path)
    specs = signature.read(path)
    return Artifact("onnx", path, specs.inputs, specs.outputs)


MISREAD: Mapping[str, tuple[str, int, str]] = {
    "half of the frequencies": (
        f"({SIGNAL}) => (float[2,4,4,2] y) {{ y = DFT <axis = 2, onesided = 1> (x) }}",
        17,
        r"\(DFT of y\): it adds an axis to the output of DFT with onesided=1",
    ),
    "behind which an operator fails": (
        f"({SIGNAL}, {HALF} z) => (float[2,4,4,4] y) {{ s = DFT <{AXIS}> (x)  y = Concat <axis = 3> (s, z) }}",
        17,
        "adds an axis",
    ),
    "real numbers from half of the frequencies": (
        f"({HALF} x) => (float[2,4,6,1] y) {{ y = DFT <axis = 2, inverse = 1, onesided = 1> (x) }}",
        17,
        "drops the last axis",
    ),
    "another axis": (
        f"({SIGNAL}) => (float[2,4,6,2] y) <int64 a = {{2}}> {{ y = DFT (x, , a) }}",
        20,
        "transforms axis 1 where DFT takes its axis as an input, from opset 20 on",
    ),
    "the default axis of matrices": (f"({SIGNAL}) => (float[2,4,6,2] y) {{ y = DFT (x) }}", 20, "transforms axis 1"),
    "an axis that is computed": (
        f"({SIGNAL}, int64[1] n) => (float[2,b,c,2] y) <int64 i = {{0}}> {{ a = Gather (n, i)  y = DFT (x, , a) }}",
        20,
        "transforms axis 1",
    ),
    "a branch": (
        f"(bool taken, {SIGNAL}, float[2,4,4,1] u) => (float[2,4,4,2] y) {{ {BRANCHES} }}",
        17,
        r"\(DFT of t\): it adds an axis",
    ),
}
READ = {
    "all frequencies": f"({SIGNAL}) => (float[2,4,6,2] y) {{ y = DFT <axis = 2> (x) }}",
    "rows, along the default axis of opset 20": "(float[2,6,1] x) => (float[2,6,2] y) { y = DFT (x) }",
    "axis 1 of opset 20": f"({SIGNAL}) => (float[2,4,6,2] y) <int64 a = {{1}}> {{ y = DFT (x, , a) }}",
    "an axis in a node": (f"({SIGNAL}) => (float[2,4,6,2] y) {{ a = Constant <value_int = -3> ()  y = DFT (x, , a) }}"),
}


@pytest.mark.parametrize("case", MISREAD)
def test_a_form_that_openvino_misreads_is_refused_with_a_way_out(case: str, tmp_path: Path):
    graph, opset, message = MISREAD[case]
    with pytest.raises(Refusal, match=f"OpenVINO misreads a Fourier transform of this model .*{message}") as caught:
        OpenSession(backend, artifact(graph, opset, tmp_path), Load())
    assert caught.value.hint


def test_a_form_inside_a_function_is_refused(tmp_path: Path):
    function = '<domain: "own", opset_import: ["": 17]> Half (x) => (y) { y = DFT <axis = 2, onesided = 1> (x) }'
    graph = f"({SIGNAL}) => (float[2,4,4,2] y) {{ y = own.Half (x) }}"
    with pytest.raises(Refusal, match="adds an axis"):
        OpenSession(backend, artifact(graph, 17, tmp_path, function), Load())


@pytest.mark.parametrize("case", READ)
def test_another_form_is_computed_as_onnx_defines_it(case: str, tmp_path: Path):
    source = artifact(READ[case], 17 if case == "all frequencies" else 20, tmp_path)
    signal = np.random.default_rng(0).normal(size=source.inputs[0].shape).astype(np.float32)
    with OpenSession(backend, source, Load()) as session:
        (answer,) = session.answer([signal])
    np.testing.assert_allclose(answer, ReferenceEvaluator(str(source.path)).run(None, {"x": signal})[0], atol=1e-5)


def test_a_form_is_not_refused_by_an_openvino_that_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def reads(_core: Any, _form: Any) -> bool:
        return True

    source = artifact(MISREAD["half of the frequencies"][0], 17, tmp_path)
    with pytest.raises(Refusal):
        OpenSession(backend, source, Load())
    monkeypatch.setattr(fourier, "reads_as_defined", reads)
    with OpenSession(backend, source, Load()) as session:
        assert session.effective["precision"] == "fp32"
