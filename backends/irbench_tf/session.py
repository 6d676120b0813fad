"""A frozen graph in a session of a TensorFlow without its public API, and the slots that run it.

That takes a quarter of the import time, and nothing of the runtime is missing: ``import tensorflow`` spends about three
quarters of its time on Python modules that a frozen graph never needs: Keras, datasets, distribution strategies, the
compatibility APIs. They hang on the package's ``__init__``, which runs before any submodule. Here the package is put
into ``sys.modules`` without running it, so that ``tensorflow.python.*`` can be imported alone; the first access to a
public name runs it after all, in the same module object and on top of the submodules already loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from irbench.spec import Artifact, Io, Scalar
from irbench.spi import Feed, Outputs, Refusal, Slot

_SESSION = "tensorflow.python.client.session"


class _DeferredPackage(ModuleType):
    """A package whose ``__init__`` runs at the first access to a name it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]
        specification = self.__spec__
        assert specification is not None
        assert specification.loader is not None
        specification.loader.exec_module(self)
        return getattr(self, name)


def installed() -> bool:
    """Whether TensorFlow can be found."""
    return "tensorflow" in sys.modules or find_spec("tensorflow") is not None


def import_lean() -> None:
    """Import what runs a graph: the session and the rewriter's settings."""
    if "tensorflow" not in sys.modules:
        specification = find_spec("tensorflow")
        assert isinstance(specification, ModuleSpec)
        package = module_from_spec(specification)
        package.__class__ = _DeferredPackage
        sys.modules["tensorflow"] = package
    import_module(_SESSION)


def import_full() -> None:
    """Import the whole package, which also loads device plugins."""
    import_module("tensorflow")
    import_module(_SESSION)


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
    """One session with one callable."""

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
