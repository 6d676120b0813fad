"""Devices and precisions of this machine, found by compiling a tiny graph for each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from irbench.onnx.probe_graph import computed_precision, matmul
from irbench.spec import Precision
from irbench.spi import Availability, Backend
from irbench_ort.devices import CONVERTING, DEVICES

_PINNED: tuple[Precision, ...] = ("fp32", "bf16", "fp16")


def probe(backend: Backend) -> Availability:
    """Return the devices and precisions in which a tiny graph compiles."""
    import onnxruntime

    precisions: dict[str, tuple[str, ...]] = {}
    native: dict[str, str] = {}
    for device in DEVICES:
        found = tuple(asked for asked in _PINNED if _computes_in(backend, device, asked))
        default = _computed_in(backend, device, "fp32", "native")
        if default is not None:
            precisions[device] = found
            native[device] = default
    providers = ", ".join(onnxruntime.get_available_providers())
    return Availability(tuple(precisions), precisions, native, {"providers": providers})


def _computes_in(backend: Backend, device: str, asked: Precision) -> bool:
    """Whether a device computes in a precision; one that converts is given a graph of fp32."""
    graph: Precision = "fp32" if device in CONVERTING else asked
    return _computed_in(backend, device, graph, asked) == asked


def computes(backend: Backend, device: str, precision: Precision) -> bool:
    """Return whether a tiny graph of a precision is computed in it."""
    return _computed_in(backend, device, precision, precision) is not None


def _computed_in(backend: Backend, device: str, graph: str, asked: Precision) -> str | None:
    """Return the precision in which a tiny graph of precision ``graph`` is computed; ``None`` where it is refused."""
    with tempfile.TemporaryDirectory(prefix="irbench-ort-") as folder:
        return computed_precision(backend, matmul(Path(folder), graph), device, asked)
