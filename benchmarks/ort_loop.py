"""ONNX Runtime without irbench: ``python -m benchmarks.ort_loop MODEL.onnx THREADS SECONDS`` prints its FPS."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from irbench.measure.clock import now_ns

__all__ = ["frames_per_second"]

_WARM_UP_S = 1.0


def frames_per_second(call: Callable[[], object], seconds: float) -> float:
    """Return how often a call completes in a second, back to back, from the first issue to the last completion."""
    stamps = [now_ns()]
    while stamps[-1] - stamps[0] < seconds * 1e9:
        call()
        stamps.append(now_ns())
    return (len(stamps) - 1) / ((stamps[-1] - stamps[0]) / 1e9)


def _main(path: str, threads: str, seconds: str) -> None:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = int(threads)
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feed = {tensor.name: generator.random(tensor.shape, dtype=np.float32) for tensor in session.get_inputs()}
    frames_per_second(lambda: session.run(None, feed), _WARM_UP_S)
    sys.stdout.write(f"{frames_per_second(lambda: session.run(None, feed), float(seconds))}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
