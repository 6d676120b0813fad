"""What ONNX Runtime, as it comes, and OpenVINO in float32 answer; runtimes are imported, so call it in a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def answers(path: Path, feed: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the outputs of both for a model and its inputs by name."""
    import numpy as np
    import onnxruntime

    from irbench_openvino import runtime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    core = runtime.core()
    compiled = core.compile_model(core.read_model(str(path)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled(feed)
    return {
        "ort": session.run(None, feed),
        "openvino": [np.array(found[output]) for output in compiled.outputs],
    }
