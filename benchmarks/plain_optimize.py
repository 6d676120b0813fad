"""A better graph without irbench: ``python -m benchmarks.plain_optimize FILE TARGET`` optimises and checks one."""

from __future__ import annotations

import sys
from pathlib import Path


def optimize(source: Path, target: Path) -> None:
    """Let onnxscript's optimiser make the graph better, ONNX check it and ONNX Runtime load it."""
    import onnx
    import onnxruntime
    from onnxscript import optimizer

    model: onnx.ModelProto = optimizer.optimize(onnx.load(source))
    onnx.save(model, target)
    onnx.checker.check_model(str(target), full_check=True)
    onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    optimize(*map(Path, sys.argv[1:]))
