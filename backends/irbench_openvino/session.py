"""Sessions: one compiled model, and slots with an infer request each, run by the caller or queued by OpenVINO.

The requests are driven one by one because ``AsyncInferQueue`` loses the user data of requests that are started singly.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from irbench.spec import Artifact, Io, Scalar, TensorSpec
from irbench.spi import Array, Feed, Outputs, Refusal, Slot
from irbench_openvino.runtime import refusal

_NUMPYS_OWN = 1
_SHARED_KINDS = "biuf"
_ELEMENTS = {
    "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0", "int4": "i4",
    "uint4": "u4", "float4_e2m1fn": "f4e2m1",
}  # fmt: skip
_NAMES = {element: name for name, element in _ELEMENTS.items()}
_STAND_INS = "ebB"
"""Half, signed and unsigned byte, as which OpenVINO shows the bits of these types."""
_NIBBLE = 4


def to_tensor(array: Array) -> Any:
    """Return a tensor that reads the array in place; a copy of text and of what OpenVINO packs two to a byte.

    The array must live as long as the tensor.

    Raises:
        RuntimeError: OpenVINO has no such type.
    """
    import openvino

    if array.dtype.isbuiltin == _NUMPYS_OWN and array.dtype.kind in _SHARED_KINDS:
        return openvino.Tensor(array, shared_memory=True)
    element = _ELEMENTS.get(array.dtype.name)
    if element is None and array.dtype.kind == "O":
        return _text_tensor(array)
    if element is None:
        return openvino.Tensor(array, shared_memory=False)
    kind = getattr(openvino.Type, element)
    bits = array.view(f"u{array.itemsize}")
    if kind.bitwidth != _NIBBLE:
        return openvino.Tensor(bits, openvino.Shape(array.shape), kind)  # which always shares the array's memory
    tensor = openvino.Tensor(kind, array.shape)
    packed = _packed(bits)
    tensor.data.view(packed.dtype)[...] = packed
    return tensor


def to_array(tensor: Any) -> Array:
    """Return a copy of a tensor's values in their own type."""
    if tensor.element_type.to_string() == "string":
        return np.array(tensor.str_data, object)
    array = np.array(tensor.data)
    if array.dtype.char not in _STAND_INS:
        return array
    name = _NAMES.get(tensor.element_type.to_string())
    if name is None:
        return array
    if tensor.element_type.bitwidth == _NIBBLE:
        array = _unpacked(array.view(np.uint8), tuple(tensor.shape))
    return array.view(getattr(ml_dtypes, name))


def _text_tensor(array: Array) -> Any:
    """Return a tensor of strings; OpenVINO ends the process when it is given an empty array of them."""
    import openvino

    if array.size:
        return openvino.Tensor(array.astype(str), shared_memory=False)
    return openvino.Tensor(openvino.Type.string, openvino.Shape(array.shape))


def _packed(nibbles: Array) -> Array:
    """Return two elements in each byte, the first in the lower half, as both OpenVINO and ONNX have them."""
    low, high = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8)).reshape(-1, 2).T & 15
    packed: Array = low | high << _NIBBLE
    return packed


def _unpacked(packed: Array, shape: Sequence[int]) -> Array:
    return np.stack([packed & 15, packed >> _NIBBLE], axis=-1).ravel()[: math.prod(shape)].reshape(shape)


_WATCH_INTERVAL_S = 2.0
_NOT_QUEUED, _QUEUED, _OVERDUE = range(3)

Done = Callable[[BaseException | None], None]


class FailureWatch:
    """Notices inferences that failed.

    OpenVINO calls back only after a success; an error waits inside the request until someone asks for it. One
    thread wakes every few seconds and asks those requests alone that were queued before it last woke and did not
    complete since, so that no time is spent on it in the path of requests that succeed. It runs from the first
    queued request on; a session that is only run by its caller has none.
    """

    def __init__(self, interval_s: float = _WATCH_INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._slots: list[CopySlot] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, slot: CopySlot) -> None:
        """Watch one more slot."""
        self._slots.append(slot)
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="irbench-openvino-failures", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._interval_s):
            for slot in tuple(self._slots):
                slot.look_for_failure()


class CopySlot:
    """Host arrays are read in place by the runtime, and outputs are copied out.

    Args:
        request: An infer request of its own.
        inputs: For each input of the artifact, its index among the model's inputs; ``None`` where it has none.
        outputs: For each output of the artifact, its index among the model's outputs.
        watch: Reports queued inferences that fail.
    """

    def __init__(self, request: Any, inputs: Sequence[int | None], outputs: Sequence[int], watch: FailureWatch) -> None:
        self._request = request
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._watch = watch
        self._feed: Feed = ()
        self._done: Done | None = None
        self._queued_before = False
        self._state = _NOT_QUEUED

    def stage(self, feed: Feed) -> None:
        """Point the request at the arrays, which it reads until the next staging."""
        try:
            for index, array in zip(self._inputs, feed, strict=True):
                if index is not None:
                    self._request.set_input_tensor(index, to_tensor(array))
        except RuntimeError as error:
            raise refusal(error) from error
        self._feed = feed

    def run(self) -> None:
        """Run on the calling thread."""
        try:
            self._request.infer()
        except RuntimeError as error:
            raise refusal(error) from error

    def fetch(self) -> Outputs:
        """Return copies: the request writes into the same memory again."""
        return [to_array(self._request.get_output_tensor(index)) for index in self._outputs]

    def start(self, done: Done) -> None:
        """Queue the staged inference; ``done`` is called from one of OpenVINO's threads."""
        if not self._queued_before:
            self._queued_before = True
            self._request.set_callback(self._finish, None)
            self._watch.add(self)
        self._done = done
        self._request.start_async()
        self._state = _QUEUED

    def look_for_failure(self) -> None:
        """Hand an error of an inference that the last look found queued to ``done``; see :class:`FailureWatch`.

        An error stays in the request until the next start, so one is looked for only once that start is done.
        """
        if self._done is None or self._state == _NOT_QUEUED:
            return
        if self._state == _QUEUED:
            self._state = _OVERDUE
            return
        try:
            self._request.wait_for(0)
        except RuntimeError as error:
            self._complete(refusal(error))

    def _finish(self, _userdata: object) -> None:
        self._complete(None)

    def _complete(self, error: BaseException | None) -> None:
        done, self._done = self._done, None
        self._state = _NOT_QUEUED
        if done is not None:
            done(error)


class BoundSlot(CopySlot):
    """Inputs are copied once into the request's own tensors; a run moves nothing between the host and them."""

    def stage(self, feed: Feed) -> None:
        """Copy the arrays into the request's tensors."""
        for index, array in zip(self._inputs, feed, strict=True):
            if index is not None and array.dtype.hasobject:
                raise Refusal("OpenVINO binds no strings.", hint="Use --io copy, the default.")
            if index is not None:
                self._request.get_input_tensor(index).data[...] = to_tensor(array).data


class OpenVinoSession:
    """One compiled model; each slot is an infer request."""

    def __init__(self, compiled: Any, artifact: Artifact, effective: Mapping[str, Scalar]) -> None:
        self._compiled: Any = compiled
        self._inputs = input_indices(compiled.inputs, artifact.inputs)
        self._outputs = _indices(compiled.outputs, artifact.outputs)
        self._watch = FailureWatch()
        self.effective = effective

    def open_slots(self, count: int, io: Io) -> Sequence[Slot]:
        """Return slots that are ready for ``run`` and for ``start``."""
        kind = CopySlot if io == "copy" else BoundSlot
        requests = [self._create_request() for _ in range(count)]
        return [kind(request, self._inputs, self._outputs, self._watch) for request in requests]

    def _create_request(self) -> Any:
        return self._compiled.create_infer_request()

    def close(self) -> None:
        """Stop watching and drop the model; its memory goes with the last slot."""
        self._watch.close()
        self._compiled = None


def input_indices(ports: Sequence[Any], specs: Sequence[TensorSpec]) -> tuple[int | None, ...]:
    """Return, for each input of the artifact, the index of its port; ``None`` where OpenVINO dropped it as unused."""
    if len(ports) == len(specs):
        return _indices(ports, specs)
    by_name = {name: index for index, port in enumerate(ports) for name in port.get_names()}
    return tuple(by_name.get(spec.name) for spec in specs)


def _indices(ports: Sequence[Any], specs: Sequence[TensorSpec]) -> tuple[int, ...]:
    by_name = {name: index for index, port in enumerate(ports) for name in port.get_names()}
    return tuple(by_name.get(spec.name, position) for position, spec in enumerate(specs))
