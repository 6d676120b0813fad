"""Exporting ResNet-50, against building and converting it without irbench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.rows import Finding
from benchmarks.workbench import Finished, Workbench, in_turn

_MIB = 1 << 20
_PLAIN = "keras and tf2onnx alone"


def measure(bench: Workbench) -> Iterator[Finding]:
    """Let whole processes take turns: ``irbench export resnet50`` into an empty home, and the plain way.

    irbench also draws weights that keep activations alive, freezes a TensorFlow graph, and verifies the export.
    """
    ours, plain = in_turn(bench.repeats(3), lambda: _irbench(bench), lambda: _plainly(bench))
    yield Finding(
        "export",
        "irbench export resnet50, wall time",
        "s",
        tuple(item.seconds for item in ours),
        tuple(item.seconds for item in plain),
        _PLAIN,
        remark="verification included",
    )
    yield Finding(
        "export",
        "irbench export resnet50, resident peak",
        "MiB",
        tuple(item.peak_bytes / _MIB for item in ours),
        tuple(item.peak_bytes / _MIB for item in plain),
        _PLAIN,
        remark="of the largest process",
    )


def _irbench(bench: Workbench) -> Finished:
    with TemporaryDirectory(dir=bench.scratch) as home:
        return bench.irbench("export", "resnet50", home=Path(home), watch_memory=True)


def _plainly(bench: Workbench) -> Finished:
    with TemporaryDirectory(dir=bench.scratch) as folder:
        return bench.run("python", "-m", "benchmarks.plain_export", Path(folder) / "plain.onnx", watch_memory=True)
