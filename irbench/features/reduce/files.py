"""The files of a part of a graph: a model, and what it is given."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irbench.features.reduce.report import Criterion, TensorFacts
from irbench.spi import Array, Usage

if TYPE_CHECKING:
    import onnx


MODEL_FILE = "reduced.onnx"
INPUTS_FILE = "inputs.npz"
EXPECTED_FILE = "expected.npz"
REPORT_FILE = "report.md"
"""What the reference answers; not written where an output is of a type that NumPy cannot store."""
_LARGEST_MESSAGE_BYTES = 2**31 - 2**20
"""What one protobuf message holds at most, with room for the graph's structure."""


def save_model(model: onnx.ModelProto, path: Path) -> None:
    """Write a model; large weights go to a file beside it."""
    import onnx

    weights = sum(map(size_of_weights, model.graph.initializer))
    beside = f"{path.name}.data" if weights > _LARGEST_MESSAGE_BYTES else None
    (path.parent / f"{path.name}.data").unlink(missing_ok=True)
    onnx.save_model(model, path, save_as_external_data=beside is not None, location=beside)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an archive as ``numpy.savez`` does, which takes no array called ``file``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def size_of_weights(tensor: onnx.TensorProto) -> int:
    """Return how many bytes an initializer takes in a file."""
    return len(tensor.raw_data) or tensor.ByteSize()


_TIMED_S = 5.0
_FEWEST_CALLS, _MOST_CALLS = 11, 200


def script(usage: Usage, criterion: Criterion, outputs: Sequence[TensorFacts] = (), p50_ms: float | None = None) -> str:
    """Return a program for the folder of a reduced graph.

    It prints the median time of a call, or how far each output is from the expected one. Where the runtime fails, it
    fails as it did.

    Args:
        usage: What a backend says of how its runtime is called, one call at a time.
        criterion: What the graph shows.
        outputs: Of the graph, where the expected ones are stored.
        p50_ms: How long a call takes; decides how many are timed.
    """
    head = [*(["import timeit", ""] if criterion == "slower" else []), "import numpy", ""]
    given = [f'inputs = dict(numpy.load("{INPUTS_FILE}"))', ""]
    if criterion == "slower":
        shown = _timing(usage.call, p50_ms)
    elif criterion == "wrong" and outputs:
        shown = [usage.call, *_difference(outputs)]
    else:
        shown = [usage.call]
    return "\n".join((*head, *given, usage.setup, *shown))


def _timing(call: str, p50_ms: float | None) -> list[str]:
    calls = _MOST_CALLS if not p50_ms else min(_MOST_CALLS, max(_FEWEST_CALLS, round(1e3 * _TIMED_S / p50_ms)))
    return [
        f"seconds = timeit.repeat({call!r}, number=1, repeat={calls}, globals=globals())",
        f'print(f"median of {calls} calls: {{1e3 * numpy.median(seconds):.4g}} ms")',
    ]


def _difference(outputs: Sequence[TensorFacts]) -> list[str]:
    """Return lines that compare what was answered, a sequence or a mapping in the order of outputs."""
    are_numbers = all(tensor.dtype != "string" for tensor in outputs)
    shown = (
        """\
        off = numpy.where(value == right, 0, abs(value - 1.0 * right)).max(initial=0)
        print(f"{name}: off by {off} of {abs(1.0 * right).max(initial=0)}")"""
        if are_numbers
        else """\
        print(f"{name}: {(value != right).sum()} of {right.size} values differ")"""
    )
    return [
        'answers = outputs.values() if hasattr(outputs, "values") else outputs',
        f'for (name, right), value in zip(numpy.load("{EXPECTED_FILE}").items(), map(numpy.asarray, answers)):',
        "    if value.shape != right.shape:",
        '        print(f"{name}: shape {value.shape} instead of {right.shape}")',
        "    else:",
        shown,
    ]
