"""Optimising graphs, against the library's optimiser, one check and one load without irbench."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import Finding
from benchmarks.workbench import Workbench, in_turn

_MODELS = ("resnet50", "mobilenet_v2", "transformer_base", "lstm_ptb_1")
_LEVELS = ("basic", "extended")
_PLAIN = "onnxscript's optimizer, onnx.checker and one load"


def measure(bench: Workbench) -> Iterator[Finding]:
    """Let whole processes take turns: ``irbench optimize`` with nothing made before, and the plain way.

    irbench also checks each step: it validates, loads and compares the answers after every pass that changed something.
    """
    for model in _MODELS:
        bundle = bench.scratch / "optimize" / model
        bench.irbench("export", model, "-o", bundle)
        for level in _LEVELS:
            ours, plain = in_turn(
                bench.repeats(3),
                lambda bundle=bundle, level=level: _irbench(bench, bundle, level),  # type: ignore[misc]
                lambda bundle=bundle: _plainly(bench, bundle),  # type: ignore[misc]
            )
            what = f"irbench optimize {model} --level {level}"
            yield Finding("optimize", what, "s", ours, plain, _PLAIN, remark="each step checked")
        shutil.rmtree(bundle)


def _irbench(bench: Workbench, bundle: Path, level: str) -> float:
    shutil.rmtree(bundle / "optimized", ignore_errors=True)
    return bench.irbench("optimize", bundle, "--level", level).seconds


def _plainly(bench: Workbench, bundle: Path) -> float:
    target = bench.scratch / "plain.onnx"
    return bench.run("python", "-m", "benchmarks.plain_optimize", bundle / "model.onnx", target).seconds
