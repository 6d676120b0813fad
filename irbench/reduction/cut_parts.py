"""The coordinator's side of cutting: parts of a graph are written by a worker, which may be confined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irbench.reduction.activations import GraphSource
from irbench.reduction.cutting import Cut, CutRequest, Part
from irbench.reduction.files import INPUTS_FILE, MODEL_FILE
from irbench.reduction.outline import GraphOutline
from irbench.uncuttable import Uncuttable
from irbench.worker import call_in_worker
from irbench.worker.failures import unreadable_answer
from irbench.worker.requested_confinement import confinement_to, take_files

_DEADLINE_S = 600.0


def read_outline(source: GraphSource) -> GraphOutline:
    """Return what a graph consists of, read in a process of its own.

    Raises:
        IrbenchError: The file cannot be read any more.
    """
    found: GraphOutline = call_in_worker(
        "irbench.reduction.cutting:outline",
        source.artifact.path,
        deadline_s=_DEADLINE_S,
        confinement=confinement_to(source.artifact),
        returns=GraphOutline,
    )
    return found


def cut_parts(requests: Sequence[CutRequest]) -> tuple[Cut, ...]:
    """Write several parts of one graph, with the values at their inputs, in a process of its own.

    Args:
        requests: As of :func:`irbench.reduction.cutting.write_parts`.

    Raises:
        IrbenchError: No reference can compute these values, or the process wrote something else than files.
    """
    source = requests[0].source
    folders = tuple(dict.fromkeys((*(request.folder for request in requests), requests[0].values)))
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    confinement = confinement_to(source.artifact, source.feeding.samples, folders)
    try:
        made: tuple[tuple[Part | None, Uncuttable | None], ...] = call_in_worker(
            "irbench.reduction.cutting:parts_and_obstacles",
            requests,
            deadline_s=_DEADLINE_S,
            confinement=confinement,
            returns=tuple[tuple[Part | None, Uncuttable | None], ...],
        )
    finally:  # also where it died: others are given the same folder of values
        for folder in folders if confinement is not None else ():
            take_files(folder)
    cuts = tuple(cut for part, obstacle in made if (cut := part or obstacle) is not None)
    if confinement is None:
        return cuts
    if len(cuts) != len(requests):
        raise unreadable_answer(f"it has {len(cuts)} parts, and {len(requests)} were asked for.")
    return tuple(_at_home(part, request) for part, request in zip(cuts, requests, strict=True))


def _at_home(cut: Cut, request: CutRequest) -> Cut:
    """Return a part with the files that were asked for, whatever a confined process says where they are."""
    if not isinstance(cut, Part):
        return cut
    return replace(cut, model=request.folder / MODEL_FILE, data=request.folder / INPUTS_FILE)
