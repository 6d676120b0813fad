"""Other optimisers, as their documentation calls them: ``... .others MODEL FROM NAME TO [NAME TO ...]``.

Each is called in a fork, whose imports are made once for all, and prints a line of JSON.

Runs in the environment of ``requirements-optimizers.lock``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn

import onnx
import onnx_ir
import onnxruntime
import onnxscript.optimizer
import onnxscript.rewriter
import onnxslim
from onnxruntime.transformers import optimizer as ort_transformers
from onnxscript.rewriter import ort_fusions

from benchmarks.optimizers.subjects import SUBJECTS, Subject

_LONGEST = 300


def optimize(model: str, source: str, *pairs: str) -> None:
    """Write what optimisers of :data:`benchmarks.optimizers.subjects.OTHERS` make of a file.

    Args:
        model: One of :data:`benchmarks.optimizers.subjects.SUBJECTS`.
        source: The exported graph.
        pairs: Names of optimisers, each with the file that it writes.
    """
    (subject,) = (item for item in SUBJECTS if item.name == model)
    for name, target in zip(pairs[::2], pairs[1::2], strict=True):
        process = os.fork()
        if not process:
            _call(name, subject, source, target)
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            _tell(name, f"crashed with signal {os.WTERMSIG(status)}")


def _call(name: str, subject: Subject, source: str, target: str) -> NoReturn:
    failure = ""
    try:
        _CALLS[name](subject, source, target)
    except Exception as error:  # noqa: BLE001 - each optimiser fails in a way of its own
        failure = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
    _tell(name, failure)
    os._exit(0)


def _tell(name: str, failure: str) -> None:
    os.write(sys.stdout.fileno(), b"\n" + json.dumps({"name": name, "failure": failure}).encode() + b"\n")


def _onnxslim(_: Subject, source: str, target: str) -> None:
    onnxslim.slim(source, target)


def _onnxscript(_: Subject, source: str, target: str) -> None:
    onnx.save(onnxscript.rewriter.rewrite(onnxscript.optimizer.optimize(onnx.load(source))), target)


def _ort_fusions(_: Subject, source: str, target: str) -> None:
    model, _counts = ort_fusions.optimize_for_ort(onnx_ir.load(source))
    onnx_ir.save(model, target)


def _ort_level(level: str) -> Callable[[Subject, str, str], None]:
    def call(_: Subject, source: str, target: str) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = target
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    return call


def _ort_transformers(subject: Subject, source: str, target: str) -> None:
    heads, width = subject.dimensions
    made = ort_transformers.optimize_model(source, subject.transformers_type, num_heads=heads, hidden_size=width)
    made.save_model_to_file(target)


_CALLS: Mapping[str, Callable[[Subject, str, str], None]] = {
    "onnxslim": _onnxslim,
    "onnxscript": _onnxscript,
    "onnxscript ort_fusions": _ort_fusions,
    "ORT basic": _ort_level("BASIC"),
    "ORT extended": _ort_level("EXTENDED"),
    "ORT all": _ort_level("ALL"),
    "ORT transformers": _ort_transformers,
}


if __name__ == "__main__":
    optimize(*sys.argv[1:])
