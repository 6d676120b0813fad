"""ONNX files that irbench did not write: everything that parses them runs in a worker."""

from __future__ import annotations

from pathlib import Path

from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import STRING
from irbench.onnx.reading.protobuf import require_model_file
from irbench.spec import BATCH_IN_FILE, Artifact, Bundle, InputSpec, TensorSpec, is_named_as_mask
from irbench.system import host
from irbench.worker.model_files import examine_file


def from_onnx_file(path: Path) -> Bundle:
    """Return a bundle around an ONNX file of unknown origin, which is examined in a process of its own.

    Floating-point inputs are drawn from [0, 1), integers from [0, 2), strings are such integers in digits; what is
    called a mask has rows of ones followed by zeros. There are no reference outputs.
    """
    path = path.absolute()
    require_model_file(path)
    free_bytes = host.available_memory_bytes()
    _require_memory(path, 0, free_bytes)
    found, outside_bytes = examine_file(path)
    _require_memory(path, outside_bytes, free_bytes)
    return Bundle(
        name=name_of_file(path),
        inputs=tuple(InputSpec(spec, 0.0, _high(spec), _is_mask(spec)) for spec in found.inputs),
        artifacts=(Artifact("onnx", path, found.inputs, found.outputs, opset=found.opset),),
        source=str(path),
        details={"nodes": found.nodes, **({BATCH_IN_FILE: found.batch_in_file} if found.batch_in_file else {})},
    )


def name_of_file(path: Path) -> str:
    """Return what tables call the model of a file; the folder says more where it is one of many ``model.onnx``."""
    path = path.absolute()
    return f"{path.parent.name}/{path.stem}" if path.stem == "model" else path.stem


def _require_memory(path: Path, outside_bytes: int, free_bytes: int) -> None:
    size = path.stat().st_size + outside_bytes
    if size > free_bytes:
        raise IrbenchError(
            f"{path} has {size / 1e9:.1f} GB with its weights, and {free_bytes / 1e9:.1f} GB of memory are available.",
            hint="Use a machine with more memory.",
        )


def _high(spec: TensorSpec) -> float:
    return 2.0 if "int" in spec.dtype or spec.dtype == STRING else 1.0


def _is_mask(spec: TensorSpec) -> bool:
    return spec.dtype != STRING and is_named_as_mask(spec.name)
