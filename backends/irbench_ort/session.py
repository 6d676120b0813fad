"""Sessions and their slots, and how sessions are made: what cannot be loaded is refused with a way out."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from irbench.errors import first_line
from irbench.onnx.reading.element_types import STRING, numpy_dtype
from irbench.onnx.rewriting.ir_version import least_ir_version, lower_ir_version
from irbench.spec import Artifact, Io, Scalar, TensorSpec
from irbench.spi import Array, Feed, Outputs, Refusal, Slot
from irbench_ort import devices, openvino_provider

# TensorProto.DataType of each
_ELEMENTS = {"float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "bfloat16": 16}
_PACKED = {"uint4": 21, "int4": 22}
_NAMES = {element: name for name, element in (_ELEMENTS | _PACKED).items()}
_NIBBLE = 4


def holds_extensions(artifact: Artifact) -> bool:
    """Whether an input or output has a type whose arrays ONNX Runtime neither takes nor gives."""
    return any(spec.dtype in _ELEMENTS | _PACKED for spec in (*artifact.inputs, *artifact.outputs))


def _holds_strings(artifact: Artifact) -> bool:
    """Whether an input or output holds strings, of which the runtime takes and gives arrays, and makes no values."""
    return any(spec.dtype == STRING for spec in (*artifact.inputs, *artifact.outputs))


def to_value(array: Array) -> Any:
    """Return a value on the CPU that holds the array; one of whole bytes of an extended type reads it in place."""
    element = (_ELEMENTS | _PACKED).get(array.dtype.name)
    if element is None:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = array.view(f"u{array.itemsize}")
    if element in _PACKED.values():
        bits = _packed(bits)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, element)


def to_array(value: Any) -> Any:
    """Return a copy of a value on the CPU in its own type."""
    name = _NAMES.get(value.element_type()) if value.is_tensor() else None
    if name is None:
        return value.numpy()
    dtype, shape = np.dtype(getattr(ml_dtypes, name)), tuple(value.shape())
    elements = math.prod(shape)
    size = (elements + 1) // 2 if name in _PACKED else elements * dtype.itemsize
    content = np.frombuffer(bytearray(ctypes.string_at(value.data_ptr(), size) if size else b""), np.uint8)
    if name in _PACKED:
        content = np.stack([content & 15, content >> _NIBBLE], axis=-1).ravel()[:elements]
    return content.view(dtype).reshape(shape)


def _packed(nibbles: Array) -> Array:
    """Return an array of the same shape that begins with two elements in each byte, the first in the lower half.

    The runtime takes the shape of the array for that of the tensor, and reads as many bytes as it needs.
    """
    low, high = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8)).reshape(-1, 2).T & 15
    packed: Array = np.zeros(nibbles.size, np.uint8)
    packed[: low.size] = low | high << _NIBBLE
    return packed.reshape(nibbles.shape)


class OrtSession:
    """One InferenceSession; any number of threads may run it."""

    def __init__(self, session: Any, artifact: Artifact, device: str, effective: Mapping[str, Scalar]) -> None:
        self._session: Any = session
        self._artifact = artifact
        self._memory = "cuda" if device == "cuda" else "cpu"  # where inputs and outputs can be bound
        self._effective = effective

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the runtime uses now; the CPU where the session has left its device."""
        active = () if self._session is None else self._session.get_providers()
        if not active or active[0] == self._effective.get("provider"):
            return self._effective
        return {**self._effective, "provider": active[0], "device": "cpu"}

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        """Return slots that pass host arrays (``copy``) or keep tensors bound on the device (``bound``)."""
        if self._memory == "cuda" and devices.replays(self._session):
            self._require_replayable(count, io)
        extended, strings = holds_extensions(self._artifact), _holds_strings(self._artifact)
        if extended and strings:
            raise Refusal(
                "ONNX Runtime takes no strings together with bfloat16, float8 or int4 in Python.",
                hint="Give the model inputs and outputs of other types.",
            )
        if io == "bound" and (extended or strings):
            raise Refusal(
                "ONNX Runtime binds no strings, bfloat16, float8 or int4 in Python.",
                hint="Use --io copy, the default of irbench run; irbench profile binds on a GPU, and not on the CPU.",
            )
        if extended:
            return [_ValueSlot(self._session, self._artifact) for _ in range(count)]
        if io == "copy":
            return [_CopySlot(self._session, self._artifact) for _ in range(count)]
        return [_BoundSlot(self._session, self._artifact, self._memory) for _ in range(count)]

    def _require_replayable(self, count: int, io: Io) -> None:
        """Refuse what a CUDA graph would answer wrongly: it reads and writes the addresses of its first run again."""
        if io == "copy" or count > 1:
            raise Refusal(
                "A CUDA graph reads and writes the same memory in each run: that of one bound slot.",
                hint="Use `--io bound` and `--streams 1`, or leave ort.cuda.enable_cuda_graph out.",
            )
        dynamic = [spec.name for spec in self._artifact.outputs if spec.dynamic_dimensions]
        if dynamic:
            raise Refusal(
                f"A CUDA graph needs fixed shapes, and that of {', '.join(dynamic)} is known only after each run.",
                hint="Leave ort.cuda.enable_cuda_graph out.",
            )

    def close(self) -> None:
        """Drop the session; its memory goes with the last slot."""
        self._session = None


class _CopySlot:
    """Host arrays in, host arrays out, the way callers in Python use the runtime."""

    def __init__(self, session: Any, artifact: Artifact) -> None:
        self._session = session
        self._inputs = tuple(spec.name for spec in artifact.inputs)
        self._output_names = [spec.name for spec in artifact.outputs]
        self._feed: dict[str, Array] = {}
        self._outputs: Outputs = ()

    def stage(self, feed: Feed) -> None:
        self._feed = dict(zip(self._inputs, feed, strict=True))

    def run(self) -> None:
        try:
            self._outputs = self._session.run(self._output_names, self._feed)
        except _RAISED as error:
            raise device_failure(error) or error from error

    def fetch(self) -> Outputs:
        return self._outputs


class _ValueSlot:
    """As :class:`_CopySlot`, for types of which the runtime takes and gives no arrays."""

    def __init__(self, session: Any, artifact: Artifact) -> None:
        self._session = session
        self._inputs = tuple(spec.name for spec in artifact.inputs)
        self._output_names = [spec.name for spec in artifact.outputs]
        self._feed: Feed = ()
        self._values: dict[str, Any] = {}
        self._outputs: Sequence[Any] = ()

    def stage(self, feed: Feed) -> None:
        self._feed = feed  # which the values read in place
        self._values = {name: to_value(array) for name, array in zip(self._inputs, feed, strict=True)}

    def run(self) -> None:
        self._outputs = self._session.run_with_ort_values(self._output_names, self._values)

    def fetch(self) -> Outputs:
        return [to_array(value) for value in self._outputs]


class _BoundSlot:
    """Inputs and outputs stay where the runtime computes; only ``stage`` and ``fetch`` move them."""

    def __init__(self, session: Any, artifact: Artifact, memory: str) -> None:
        self._session = session
        self._binding = session.io_binding()
        self._inputs = [(spec.name, _allocate(spec, memory)) for spec in artifact.inputs]
        for spec in artifact.outputs:
            if spec.dynamic_dimensions:  # known only after each run, so the runtime allocates it
                self._binding.bind_output(spec.name, memory, 0)
            else:
                self._binding.bind_ortvalue_output(spec.name, _allocate(spec, memory))

    def stage(self, feed: Feed) -> None:
        """Write arrays into the bound memory, and bind it again.

        An input that a node on another device reads is copied there when it is bound, and not again when it is run.
        """
        for (name, value), array in zip(self._inputs, feed, strict=True):
            value.update_inplace(array)
            self._binding.bind_ortvalue_input(name, value)
        self._binding.synchronize_inputs()

    def run(self) -> None:
        try:
            self._session.run_with_iobinding(self._binding)
            self._binding.synchronize_outputs()
        except _RAISED as error:
            raise device_failure(error) or error from error

    def fetch(self) -> Outputs:
        """Return copies: the next run writes into the bound memory again."""
        return [np.array(value.numpy(), copy=True) for value in self._binding.get_outputs()]


def _allocate(spec: TensorSpec, memory: str) -> Any:
    shape = [size for size in spec.shape if isinstance(size, int)]
    return onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, numpy_dtype(spec.dtype), memory, 0)


_RAISED = (RuntimeError, ValueError, errors.Fail, errors.EPFail, errors.RuntimeException, errors.InvalidArgument)
_PLACE = re.compile(
    r"\S+\.(?:cc|cpp|cu|cuh|h|hpp):\d+ (?:[A-Za-z_]\w* (?=[A-Z])|[^\"]*?\) (?:const )?(?:\[with [^\]]*\] )?)?"
)
"""A line of C++, with the function that it is in: a name, or a whole signature."""
_FAILURES = {
    r"provider option": "Correct the option of `--set` that it names.",
    r"[Oo]ut of memory|[Ff]ailed to allocate|_ALLOC_FAILED": (
        "Use a smaller `--batch` or fewer `--streams`, or end other programs that use the memory: nvidia-smi lists"
        " those on a GPU."
    ),
    r"driver version|no CUDA-capable device|device count|CUDA failure (?:35|100)\b": (
        "nvidia-smi shows whether the driver runs, and the newest CUDA that it serves."
    ),
    r"(?:CUDA|CUDNN|CUBLAS|CUFFT|CURAND) failure": "The row's log has the whole message.",
}
"""What errors of devices say, and what helps; the first that matches."""

_NEW_IR_VERSION = re.compile(r"Unsupported model IR version: (\d+), max supported IR version: (\d+)")
_NEW_OPSET = re.compile(r"Opset (\d+) .*domain ai\.onnx is till opset (\d+)", re.DOTALL)


def create_session(path: Path, settings: Any, providers: list[Any], folder: Path) -> tuple[Any, Mapping[str, int]]:
    """Return a session, and the IR version of the file with that of the graph it was given where it could not read it.

    A copy of the model may be written into ``folder``, which may go once the session is there.
    """
    try:
        # its own fallback would make a session on the CPU of any error, and hide it
        return onnxruntime.InferenceSession(str(path), settings, providers=providers, enable_fallback=0), {}
    except errors.NotImplemented as error:
        device = _named(providers)
        raise Refusal(
            f"ONNX Runtime has no kernel for some part of this graph on {device}: {first_line(error)}",
            hint="Export the model with another opset or precision.",
        ) from error
    except errors.Fail as error:
        newer = _NEW_IR_VERSION.search(str(error))
        if newer is None:
            raise _too_new_an_opset(error) or _not_started(error, providers) or error from error
    except _RAISED as error:
        raise _not_started(error, providers) or error from error
    ir_version, readable = (int(version) for version in newer.groups())
    lowered = _lowered(path, ir_version, readable, folder)
    session, _ = create_session(lowered, settings, providers, folder)
    return session, {"ir_version": ir_version, "lowered_ir_version": readable}


def _named(providers: list[Any]) -> str:
    return "the CPU" if len(providers) == 1 else str(providers[0][0]).removesuffix("ExecutionProvider")


def _not_started(error: Exception, providers: list[Any]) -> Refusal | None:
    """Return why there is no session on a device; ``None`` on the CPU, whose errors say it in one line."""
    if len(providers) == 1:
        return None
    failure = openvino_provider.refusal_of(error) or device_failure(error)
    return failure or Refusal(
        f"ONNX Runtime could not make a session on {_named(providers)}: {_cause(error)}",
        hint="The row's log has the whole message.",
    )


def device_failure(error: Exception) -> Refusal | None:
    """Return what failed on a device, in one line and with what helps; ``None`` if it is another error."""
    cause = _cause(error)
    for pattern, hint in _FAILURES.items():
        if re.search(pattern, cause):
            return Refusal(f"ONNX Runtime failed: {cause}", hint=hint)
    return None


def _cause(error: Exception) -> str:
    """Return the first line of an error without the places and signatures of C++ in front of what it says."""
    without_places = _PLACE.sub("", first_line(error))
    return re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : ", "", without_places).partition(" ; GPU=")[0].strip()


def _lowered(path: Path, version: int, readable: int, folder: Path) -> Path:
    needed = least_ir_version(path)
    if needed > readable:
        raise Refusal(
            f"ONNX Runtime reads IR version {readable} at most, and the types of this graph need {needed}.",
            hint="Upgrade onnxruntime, or export the model without types of such few bits.",
        )
    target = folder / f"ir-{version}"
    target.mkdir()
    return lower_ir_version(path, readable, target)


def _too_new_an_opset(error: Exception) -> Refusal | None:
    match = _NEW_OPSET.search(str(error))
    if match is None:
        return None
    return Refusal(
        f"ONNX Runtime reads opset {match[2]} at most, and this graph has {match[1]}.",
        hint=f"Lower it: onnx.version_converter.convert_version(model, {match[2]}). Or upgrade onnxruntime.",
    )
