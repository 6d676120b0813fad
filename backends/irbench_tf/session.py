"""A frozen graph in a TensorFlow session, and the slots that run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irbench.spec import Artifact, Io, Scalar
from irbench.spi import Feed, Outputs, Refusal, Slot


class GraphSlot:
    """One caller of the session; TensorFlow keeps nothing between calls, so slots share it."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._feed: Feed = ()
        self._outputs: Outputs = ()

    def stage(self, feed: Feed, /) -> None:
        """Hold the arrays; TensorFlow reads aligned ones where they lie."""
        self._feed = feed

    def run(self) -> None:
        """Run one inference; outputs are on the host on return."""
        self._outputs = self._call(*self._feed)

    def fetch(self) -> Outputs:
        """Return the arrays of the last run, which own their memory."""
        return self._outputs


class GraphSession:
    """One session with one callable.

    Attributes:
        effective: What TensorFlow really uses.
    """

    def __init__(self, session: Any, call: Any, effective: Mapping[str, Scalar]) -> None:
        self.session = session
        self.call = call
        self.effective = effective

    def open_slots(self, count: int, io: Io, /) -> Sequence[Slot]:
        """Return ``count`` slots; on a GPU each run includes the copies."""
        if io == "bound" and self.effective["device"] != "cpu":
            raise Refusal(
                "A TensorFlow session copies inputs and outputs within each run on a GPU.", hint="Use --io copy."
            )
        return [GraphSlot(self.call) for _ in range(count)]

    def close(self) -> None:
        """Close the session."""
        self.session.close()


def import_graph(graph_def: bytes) -> Any:
    """Return a graph object that holds the serialised ``graph_def``.

    Python's import also makes an object for every node and defines every function twice;
    the session needs neither, and takes names.
    """
    from tensorflow.python.client import pywrap_tf_session
    from tensorflow.python.framework import ops

    graph = ops.Graph()
    options = pywrap_tf_session.TF_NewImportGraphDefOptions()
    buffer = pywrap_tf_session.TF_NewBufferFromString(graph_def)
    try:
        with graph._c_graph.get() as c_graph:  # noqa: SLF001 - the handle has no public name
            pywrap_tf_session.TF_GraphImportGraphDefWithResults(c_graph, buffer, options)
    finally:
        pywrap_tf_session.TF_DeleteBuffer(buffer)
        pywrap_tf_session.TF_DeleteImportGraphDefOptions(options)
    return graph


def callable_options(artifact: Artifact, *, on_caller: bool) -> Any:
    """Return the feeds, fetches and threads of one call."""
    from tensorflow.core.protobuf import config_pb2

    options = config_pb2.CallableOptions(
        feed=[f"{spec.name}:0" for spec in artifact.inputs], fetch=[f"{spec.name}:0" for spec in artifact.outputs]
    )
    if on_caller:
        options.run_options.inter_op_thread_pool = -1
    return options
