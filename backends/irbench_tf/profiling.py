"""Sessions whose inferences TensorFlow's profiler traces.

The trace is read through the protocol buffers that TensorFlow brings. ``xprof`` reads it too, but its averages on CPUs
are wrong, and it tells one inference from another no better.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from irbench.onnx.reading.contained_nodes import ContainedNodes
from irbench.onnx.reading.inventory import NodeEntry
from irbench.spi import InferenceProfile, Refusal
from irbench_tf.compiler import Job, executed_graphs
from irbench_tf.session import GraphSession
from irbench_tf.trace_runs import inferences_of

_NO_WORK = frozenset({"Const", "NoOp", "Placeholder"})
_CALLED = re.compile(r".*/_\d+/")
"""What the names of nodes begin with that TensorFlow took from the body of a loop or of a function."""


class ProfiledGraphSession(GraphSession):
    """One session with one callable, traced between two calls.

    Args:
        job: What it runs.
        session: It, compiled.
    """

    def __init__(self, job: Job, session: GraphSession) -> None:
        super().__init__(session.session, session.call, session.effective)
        self._job = job
        self._trace: Any = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start_profile(self) -> None:
        """Start to trace."""
        from tensorflow.python.profiler.internal import _pywrap_profiler

        self._folder = tempfile.TemporaryDirectory(prefix="irbench-tf-profile-")
        self._trace = _pywrap_profiler.ProfilerSession()
        self._trace.start(self._folder.name, {})

    def finish_profile(self, inferences: int) -> Sequence[InferenceProfile]:
        """End the trace and return what it tells; see :class:`irbench.spi.ProfiledSession`."""
        from tensorflow.tsl.profiler.protobuf import xplane_pb2

        assert self._folder is not None
        self._trace.export_to_tb()
        space = xplane_pb2.XSpace()
        for file in Path(self._folder.name).rglob("*.xplane.pb"):
            space.MergeFromString(file.read_bytes())
        self._folder.cleanup()
        found = inferences_of(space, inferences, self._contained)
        if found is None:
            raise Refusal(
                f"TensorFlow's trace does not contain the {inferences} inferences that were made.",
                hint="It drops events where memory is short: profile fewer inferences.",
            )
        return found

    def close(self) -> None:
        """Close the session, and remove what was traced."""
        super().close()
        if self._folder is not None:
            self._folder.cleanup()

    def _contained(self, name: str) -> tuple[str, ...]:
        plain = _plain(name)
        if plain not in self._claims:
            self._claims[plain] = self._graph.claim((plain,)) or ((plain,) if self._graph.node(plain) else ())
        return self._claims[plain]

    @cached_property
    def _claims(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _graph(self) -> ContainedNodes:
        """The graph of the file, with those of its nodes kept that TensorFlow executes."""
        from tensorflow.core.framework import graph_pb2

        graph = graph_pb2.GraphDef.FromString(self._job.artifact.path.read_bytes())
        inner = [node for function in graph.library.function for node in function.node_def]
        nodes = [*graph.node, *inner]
        executed = frozenset(
            _plain(node.name) for part in executed_graphs(self._job, self.session) for node in part.node
        )
        return ContainedNodes(
            [_entry(node) for node in nodes if node.op not in _NO_WORK],
            weights=(node.name for node in nodes if node.op == "Const"),
            kept=executed,
        )


def _entry(node: Any) -> NodeEntry:
    inputs = tuple(reference.split(":")[0] for reference in node.input if not reference.startswith("^"))
    return NodeEntry(node.name, node.op, "", inputs, (node.name,))


def _plain(name: str) -> str:
    return _CALLED.sub("", name)
