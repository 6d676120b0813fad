"""ONNX Runtime in a bare loop that answers requests: ``--cell "bare-loop=python -m benchmarks.ort_loop"``."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from irbench.measure.answering import answer_requests
from irbench.measure.clock import now_ns


def timed_calls(call: Callable[[], object], calls: int) -> dict[str, float | list[int]]:
    """Return how long each of so many calls took, back to back, and how long all did together."""
    stamps = [now_ns()]
    while len(stamps) <= calls:
        call()
        stamps.append(now_ns())
    durations_ns = [after - before for before, after in pairwise(stamps)]
    return {"ns": durations_ns, "total_ns": stamps[-1] - stamps[0]}


def _main() -> None:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = int(os.environ["IRBENCH_THREADS"])
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.environ["IRBENCH_MODEL"], settings, providers=["CPUExecutionProvider"])
    feed = dict(np.load(os.environ["IRBENCH_INPUTS"]))
    names = [output.name for output in session.get_outputs()]
    answer_requests(
        run=lambda calls: timed_calls(lambda: session.run(None, feed), calls),
        outputs=lambda: dict(zip(names, session.run(None, feed), strict=True)),
        effective={"precision": "fp32", "threads": settings.intra_op_num_threads},
    )


if __name__ == "__main__":
    _main()
