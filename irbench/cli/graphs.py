"""From what the user typed to an ONNX graph that lies on this machine; nothing is exported for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench import bundles, registry
from irbench.cli.groups import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec import Artifact, Bundle

__all__ = ["StoredGraph", "find_graph"]


@dataclass(frozen=True)
class StoredGraph:
    """An ONNX file, and the bundle it belongs to.

    Attributes:
        name: What to call it.
        path: The file.
        bundle: ``None`` for a file of unknown origin.
        artifact: The form of the model that the file is; ``None`` likewise.
    """

    name: str
    path: Path
    bundle: Bundle | None = None
    artifact: Artifact | None = None


def find_graph(name: str) -> StoredGraph:
    """Return the graph that ``name`` means: an ONNX file, a bundle's folder, or the name of an exported model.

    Raises:
        IrbenchError: It is none of these, or its bundle holds no ONNX graph.
    """
    path = Path(name)
    if path.suffix == ".onnx":
        if not path.is_file():
            raise IrbenchError(f"There is no file {name}.", hint="Check the path.")
        return StoredGraph(path.name, path)
    folder = path if (path / bundles.CARD).is_file() else bundles.find(name)
    if folder is None:
        raise _unknown(name)
    bundle = bundles.load_intact(folder)
    artifact = bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(f"The bundle {bundle.name} holds no ONNX graph.", hint=f"irbench export {name} --force")
    return StoredGraph(bundle.name, artifact.path, bundle, artifact)


def _unknown(name: str) -> IrbenchError:
    if name in registry.names(registry.MODELS):
        return IrbenchError(f"{name} was not exported yet.", hint=f"Export it: irbench export {name}")
    known = [folder.parent.name for folder in bundles.all()]
    return IrbenchError(
        f"There is no ONNX file or exported model {name}.",
        hint=f"{did_you_mean(name, known)}Exported: {', '.join(known) or 'nothing yet'}.",
    )
