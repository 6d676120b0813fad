"""Slots: one infer request each, run by the caller or queued by OpenVINO.

The requests are driven one by one because ``AsyncInferQueue`` loses the user data of requests that are
started singly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from irbench.spi import Feed, Outputs, Refusal
from irbench_openvino.runtime import refusal
from irbench_openvino.tensors import to_array, to_tensor

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
