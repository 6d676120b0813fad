"""OpenVINO's ``benchmark_app`` as a row: it sets up and calls as it always does, and irbench says when and how often.

irbench run model.onnx --backends openvino --io bound --cell "benchmark_app=python docs/examples/benchmark_app_cell.py
-m {model} -d CPU -api sync -hint none -nthreads {threads} -nstreams {streams} -infer_precision f32 -ip f32"
"""

import os
import sys

from openvino.tools.benchmark import main as benchmark_app
from openvino.tools.benchmark.benchmark import Benchmark

import irbench

PRECISIONS = {"f32": "fp32", "f16": "fp16", "bf16": "bf16"}


def answer(benchmark, requests, data_queue, *_):
    """Take the place of the loop that runs for a time or a number of calls, and start it for each request."""

    def run(calls):
        benchmark.niter, benchmark.duration_seconds = calls, None
        if benchmark.api_type == "sync":
            found = benchmark.sync_inference(requests[0], data_queue)
        elif benchmark.inference_only:
            found = benchmark.async_inference_only(requests, data_queue)
        else:
            found = benchmark.async_inference_full_mode(requests, data_queue, False)
        return {"ms": found[0], "total_ms": found[1] * 1000}

    irbench.answer_requests(run=run, effective=effective(requests[0].get_compiled_model()), replies=replies)
    sys.exit(0)


def effective(compiled):
    """Return what the compiled model says that it uses."""
    precision = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    return {
        "precision": PRECISIONS.get(precision, precision),
        "threads": compiled.get_property("INFERENCE_NUM_THREADS"),
        "num_streams": compiled.get_property("NUM_STREAMS"),
    }


# benchmark_app prints its steps to standard output: from here on they go to standard error, which is the row's log
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
Benchmark.main_loop = answer
benchmark_app.main()
