"""ONNX's backend test suite on the bare runtimes: what irbench's own handling must not lose.

    python tests/bare_suite.py ort|openvino OUTPUT.json [PATTERN]

Writes, for each case that a runtime passes without irbench, nothing but its name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

Run = Callable[[onnx.ModelProto, Sequence[Any]], Sequence[Any]]


def passed(run: Run, pattern: str) -> list[str]:
    """Return the names of the node cases with tensor inputs that pass, judged as ONNX's own runner does."""
    names = []
    for case in load_model_tests(kind="node"):
        tensors = all(tensor.type.HasField("tensor_type") for tensor in case.model.graph.input)
        if tensors and fnmatchcase(case.name, pattern) and _passes(run, case):
            names.append(case.name)
    return names


def _passes(run: Run, case: Any) -> bool:
    try:
        for inputs, expected in case.data_sets:
            outputs = run(case.model, [_array(tensor) for tensor in inputs])
            Runner.assert_similar_outputs(
                [_array(expected_output) for expected_output in expected], outputs, case.rtol, case.atol
            )
    except Exception:  # noqa: BLE001 - a runtime says no in a way of its own
        return False
    return True


def _array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return [_array(element) for element in value] if isinstance(value, list | tuple) else np.asarray(value)


def ort() -> Run:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4

    def run(model: onnx.ModelProto, inputs: Sequence[Any]) -> Sequence[Any]:
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        return session.run(None, dict(zip((tensor.name for tensor in model.graph.input), inputs, strict=True)))

    return run


def openvino() -> Run:
    sys.modules["openvino_telemetry"] = None  # it would reach for the network
    from openvino import Core

    core = Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}

    def run(model: onnx.ModelProto, inputs: Sequence[Any]) -> Sequence[Any]:
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", settings)
        answered = compiled(list(inputs))
        return [answered[port] for port in compiled.outputs]

    return run


def main() -> None:
    """Run the suite on the runtime that is named and write what it passes."""
    runtime, output, pattern = sys.argv[1], Path(sys.argv[2]), (*sys.argv[3:], "*")[0]
    output.write_text(json.dumps(passed({"ort": ort, "openvino": openvino}[runtime](), pattern)))


if __name__ == "__main__":
    main()
