"""Resolve a model name or path to an ONNX graph on this machine, without exporting anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from irbench.core import registry
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.exporter.build import is_exportable
from irbench.exporter.foreign import name_of_file, refusal, unknown_source
from irbench.exporter.refresh import find_outdated, made_from
from irbench.exporter.source import Source, require_possible
from irbench.notices import ExportNotice
from irbench.spec import Artifact, Bundle
from irbench.store import bundles
from irbench.system.file_states import is_file

if TYPE_CHECKING:
    from irbench.optimizer import Lineage

_FREE = "free"
"""What stands for bound sizes where none was bound."""


@dataclass(frozen=True)
class StoredGraph:
    """An ONNX file, and the bundle it belongs to.

    Attributes:
        name: What to call it.
        path: The file.
        bundle: ``None`` for a file of unknown origin, and for what was optimised.
        artifact: The form of the model that the file is; ``None`` likewise.
        lineage: How it was optimised; ``None`` where it was not, or nobody knows.
        outdated: That what the bundle was exported from has changed since; ``None`` where it has not.
    """

    name: str
    path: Path
    bundle: Bundle | None = None
    artifact: Artifact | None = None
    lineage: Lineage | None = None
    outdated: ExportNotice | None = None


@dataclass(frozen=True)
class _KeptGraph:
    path: Path
    lineage: Lineage

    @property
    def sizes(self) -> frozenset[tuple[str, str]]:
        """Name and size of every dimension that was bound, as they are typed."""
        return frozenset((name, str(size)) for name, size in self.lineage.sizes.items())

    @property
    def typed_sizes(self) -> str:
        """What is typed to mean its sizes: ``batch=1,length=32``, or ``free``."""
        return ",".join("=".join(size) for size in sorted(self.sizes)) or _FREE


def find_graph(name: str) -> StoredGraph:
    """Return the graph that ``name`` means.

    Args:
        name: An ONNX file, a bundle's folder, the name of an exported model, or what it was exported from,
            ``models.py:build``; each may be followed by what a graph made from it is called, ``resnet50+basic``, and
            that by the sizes it was bound to, ``:batch=1``.
    """
    require_possible(name)
    graph = _original(name)
    if graph is not None:
        return graph
    model, plus, rest = name.rpartition("+")
    origin = _original(model) if plus else None
    if origin is not None:
        return _optimized(origin, model, *rest.partition(":")[::2])
    raise _unknown(model if plus else name)


def _original(name: str) -> StoredGraph | None:
    path = Path(name)
    if path.suffix == ".onnx":
        return _file(path)
    folder = path if is_file(path / bundles.CARD) else bundles.find(name) or exported_from(name)
    if folder is None:
        return None
    bundle = bundles.load_intact(folder)
    artifact = bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(f"The bundle {bundle.name} contains no ONNX graph.", hint=f"irbench export {name} --force")
    return StoredGraph(bundle.name, artifact.path, bundle, artifact, outdated=find_outdated(folder))


def exported_from(name: str) -> Path | None:
    """Return the bundle that was exported last from what a name means as a source, ``None`` where there is none."""
    source = Source(name)
    if source.is_zoo or not is_exportable(source):
        return None
    return next(iter(made_from(source)), None)


def _file(path: Path) -> StoredGraph:
    from irbench.optimizer import read_lineage

    if not is_file(path):
        raise IrbenchError(f"There is no file {path}.", hint="Check the path.")
    return StoredGraph(name_of_file(path), path, lineage=read_lineage(path))


def _optimized(origin: StoredGraph, typed: str, variant: str, sizes: str) -> StoredGraph:
    """Return the graph of a name that was made from another: of those made in the same way, the latest.

    Without sizes it is the one that was bound to none, where there is one such.
    """
    from irbench.optimizer import kept_for

    variant = _in_full(variant)
    every = kept_for(origin.artifact or Artifact("onnx", origin.path.absolute(), (), ()))
    named = [_KeptGraph(path, lineage) for path, lineage in every if lineage.recipe.name == variant]
    latest = {(graph.sizes, graph.lineage.recipe): graph for graph in named}
    if not latest:
        raise _not_optimized(typed, variant, sorted({lineage.recipe.name for _, lineage in every}))
    name, kept = f"{typed}+{variant}", [*latest.values()]
    chosen = _of_sizes(kept, sizes)
    if not chosen:
        raise IrbenchError(f"{name} was not made for {sizes}.", hint=f"There is: {_ways(name, kept)}")
    if len(chosen) > 1:
        meant = f"{name}:{sizes}" if sizes else name
        raise IrbenchError(f"{meant} means {len(chosen)} graphs.", hint=f"Name one: {_ways(name, chosen)}")
    (graph,) = chosen
    suffix = f":{graph.typed_sizes}" if graph.sizes else ""
    return StoredGraph(f"{origin.name}+{variant}{suffix}", graph.path, lineage=graph.lineage, outdated=origin.outdated)


def _of_sizes(kept: Sequence[_KeptGraph], typed: str) -> Sequence[_KeptGraph]:
    """Return the one that was bound to just these sizes, else all that were bound to these among others."""
    sizes = {tuple(part.split("=", 1)) for part in typed.split(",") if part and part != _FREE}
    exact = [graph for graph in kept if graph.sizes == sizes]
    if len(exact) == 1 or typed == _FREE:
        return exact
    return [graph for graph in kept if sizes <= graph.sizes]


def _in_full(name: str) -> str:
    from irbench.optimizer import variant

    try:
        return variant(name).name
    except IrbenchError:  # passes that were named one by one have a name of their own
        return name


def _ways(name: str, kept: Sequence[_KeptGraph]) -> str:
    """Return what to type for each graph: its sizes where they tell it from the others, else its path."""
    from irbench.render.optimized_graphs import settings_text

    if len({graph.sizes for graph in kept}) == len(kept):
        return ", ".join(f"{name}:{graph.typed_sizes}" for graph in kept)
    settings = (filter(None, (graph.typed_sizes, settings_text(graph.lineage))) for graph in kept)
    return ", ".join(f"{graph.path} ({', '.join(texts)})" for graph, texts in zip(kept, settings, strict=True))


def _not_optimized(model: str, name: str, kept: Sequence[str]) -> IrbenchError:
    from irbench.optimizer import command_options

    try:
        options = command_options(name)
    except IrbenchError:
        return IrbenchError(
            f"{model} has no graph {name}.",
            hint=f"{did_you_mean(name, kept)}Made from it: {', '.join(kept) or 'nothing yet'}.",
        )
    return IrbenchError(
        f"{model} has not been optimised as {name} yet.", hint=f"Make it: irbench optimize {quote(model)} {options}"
    )


def _unknown(name: str) -> IrbenchError:
    if name in registry.names(registry.MODELS) or is_exportable(Source(name)):
        return IrbenchError(f"{name} has not been exported yet.", hint=f"Export it: irbench export {quote(name)}")
    if is_file(Path(name)):
        if Path(name).suffix == ".py":
            return unknown_source(Source(name))
        return refusal(name) or IrbenchError(
            f"{name} is not an ONNX file.", hint="Give a file that ends with .onnx, or an exported model."
        )
    known = [folder.parent.name for folder in bundles.all()]
    return IrbenchError(
        f"There is no ONNX file or exported model {name}.",
        hint=f"{did_you_mean(name, known)}Exported: {', '.join(known) or 'nothing yet'}.",
    )
