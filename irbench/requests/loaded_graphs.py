"""The graph of a model that was given in Python: by its file or name, or as an object in memory."""

from __future__ import annotations

from irbench.api.loaded_models import Model, is_loaded, model_name
from irbench.requests.graph_files import StoredGraph, find_graph
from irbench.requests.resolve import resolve_bundles


def graph_of(model: Model) -> StoredGraph:
    """Return the graph of a model; one of Keras that is in memory is exported first, where that was not done.

    Raises:
        IrbenchError: There is none, or it cannot be exported.
    """
    name = model_name(model)
    if is_loaded(model) and not name.endswith(".onnx"):
        resolve_bundles((name,), everything=False, say=lambda _text: None)
    return find_graph(name)
