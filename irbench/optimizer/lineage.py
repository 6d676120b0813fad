"""The origin of an optimised graph, and where such graphs are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from irbench.core.graph_record import Agreement, GraphCheck, GraphStep
from irbench.notices import Note
from irbench.notices.notes import CalibratedOnGenerated
from irbench.optimizer.agreement import disagreement
from irbench.optimizer.job import MODEL_FILE, weights_beside
from irbench.optimizer.recipe import Recipe
from irbench.spec import Artifact, Disagreement
from irbench.store import bundles
from irbench.system.file_access import read_regular, write_atomically
from irbench.system.prepared_types import prepared
from irbench.worker.model_files import read_external_files

_FILE, _MOST_BYTES = "lineage.json", 1 << 24
_FOLDER = "optimized"


@dataclass(frozen=True)
class Lineage:
    """Where an optimised graph comes from; stands beside it as ``lineage.json``.

    Attributes:
        key: Digest of everything that decides what comes out.
        source_sha256: Of the graph that was optimised, weights in other files included.
        agreement: What the conversion to another precision costs; ``None`` without one.
        weights_sha256: Of the file with the weights that lie beside the graph; empty where there is none.
        data: Where the samples come from that it was checked and calibrated on, as the user named it; empty without.
        data_sha256: Digests of the values of those samples, by input.
        checked: On what the graph, before a conversion, was compared with the original; ``None`` where it is that.
        fuses_when_bound: Whether attention is fused once all sizes are bound, where none was.
    """

    key: str
    source_sha256: str
    model_sha256: str
    recipe: Recipe
    sizes: Mapping[str, int]
    steps: tuple[GraphStep, ...]
    versions: Mapping[str, str]
    created: str
    agreement: Agreement | None = None
    nchw_inputs: tuple[str, ...] = ()
    weights_sha256: str = ""
    data: str = ""
    data_sha256: Mapping[str, str] = field(default_factory=dict[str, str])
    checked: GraphCheck | None = None
    fuses_when_bound: bool = False

    @property
    def disagreement(self) -> Disagreement | None:
        """What the converted graph fails in, a mark of its row; ``None`` where its outputs agree with fp32."""
        conversion = self.recipe.conversion
        if conversion is None or self.agreement is None:
            return None
        failure = disagreement(self.agreement.judged, conversion.precision)
        return (
            None if failure is None else replace(failure, samples=self.agreement.samples, source=self.agreement.source)
        )

    @property
    def left_out(self) -> frozenset[str]:
        """Passes that were not applied because the process that tried them crashed, in which memory may have failed."""
        crashed = (step.name for step in self.steps if step.obstacle is not None and step.obstacle.code == "crashed")
        return frozenset(crashed)

    @property
    def domains(self) -> tuple[str, ...]:
        """Operator sets of vendors from which steps took operators."""
        return tuple(sorted({step.vendor for step in self.steps if step.vendor}))


def folders_for(artifact: Artifact) -> tuple[Path, ...]:
    """Return where a graph's descendants are searched, the best place first: with its bundle, else with irbench."""
    return (*_with_bundle(artifact), *(home / _FOLDER for home in bundles.homes()))


def places_for(artifact: Artifact) -> Iterator[Path]:
    """Yield where a graph's descendants may be put, the best place first; each may turn out not to be writable."""
    yield from _with_bundle(artifact)
    yield bundles.home() / _FOLDER


def _with_bundle(artifact: Artifact) -> tuple[Path, ...]:
    beside = artifact.path.parent
    return (beside / _FOLDER,) if (beside / bundles.CARD).is_file() else ()


def kept_for(artifact: Artifact) -> tuple[tuple[Path, Lineage], ...]:
    """Return the path and lineage of every graph that was made from one, oldest first."""
    kept: list[tuple[Path, Lineage]] = []
    for folder in folders_for(artifact):
        graphs = [(path, lineage) for path in folder.glob(f"*/{MODEL_FILE}") if (lineage := read_lineage(path))]
        if graphs and folder.parent != artifact.path.parent:  # where those of other graphs lie too
            source = digest_of_source(artifact)
            graphs = [kept_graph for kept_graph in graphs if kept_graph[1].source_sha256 == source]
        kept += graphs
    return tuple(sorted(kept, key=lambda kept_graph: kept_graph[1].created))


def read_lineage(path: Path) -> Lineage | None:
    """Return the lineage that stands beside a graph, if one does."""
    try:
        return msgspec.json.decode(read_regular(path.parent / _FILE, _MOST_BYTES), type=prepared(Lineage))
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def read_intact(folder: Path, key: str) -> Lineage | None:
    """Return the lineage of the graph in a folder if it is the one of that key, and its files are what was written."""
    lineage = read_lineage(folder / MODEL_FILE)
    try:
        intact = lineage is not None and lineage.key == key and _with_digests(lineage, folder) == lineage
    except OSError:
        return None
    return lineage if intact else None


def write_lineage(lineage: Lineage, folder: Path) -> Lineage:
    """Write a lineage beside the graph that it describes and return it with the digests of the files."""
    described = _with_digests(lineage, folder)
    write_atomically(folder / _FILE, msgspec.json.format(msgspec.json.encode(described), indent=2) + b"\n")
    return described


def digest_of_source(artifact: Artifact) -> str:
    """Return the digest of a graph, and of the weights that it keeps in other files."""
    path = artifact.path
    own = artifact.sha256 or bundles.digest(path)
    others = [bundles.digest(path.parent / location, follow=False) for location in read_external_files(path)]
    return hashlib.sha256("".join((own, *others)).encode()).hexdigest() if others else own


def _with_digests(lineage: Lineage, folder: Path) -> Lineage:
    weights = weights_beside(folder / MODEL_FILE)
    return replace(
        lineage,
        model_sha256=bundles.digest(folder / MODEL_FILE),
        weights_sha256=bundles.digest(weights) if weights.is_file() else "",
    )


def calibration_note(model: str, lineage: Lineage) -> Note | None:
    """Return a note where ranges of activations were found on floats that were generated, ``None`` elsewhere."""
    agreement = lineage.agreement
    if agreement is None or agreement.calibrated_on is None or not agreement.ranges:
        return None
    worst = agreement.worst_elsewhere
    error = None if worst is None else worst.error
    is_worse = worst is not None and (error is None or error.max_rel > agreement.error.max_rel)
    return CalibratedOnGenerated(
        model=model,
        variant=lineage.recipe.name,
        ranges=agreement.ranges,
        drawn=agreement.drawn,
        max_rel=agreement.error.max_rel,
        worst=worst.drawn if worst is not None and is_worse else None,
        worst_max_rel=error.max_rel if error is not None and is_worse else None,
    )
