"""Check whether another cell fits into memory together with those already loaded."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.spec import Artifact, Cell

_WEIGHTS_FACTOR = 3
"""A runtime holds the weights as stored, its own copy and a repacked one while it compiles."""
_RUNTIME_BYTES = 300_000_000
_RESERVE = 0.05


class GroupTooLarge(Exception):
    """Not all cells of a group fit into memory together.

    Attributes:
        fitting: Ids of the cells that did, in the order in which they were loaded.
    """

    def __init__(self, fitting: tuple[str, ...]) -> None:
        super().__init__(f"{len(fitting)} cells fit")
        self.fitting = fitting


def needs_split(cell: Cell, peaks_bytes: Sequence[int], available_bytes: int) -> bool:
    """Return whether loading ``cell`` beside the loaded ones would ask for more memory than is available.

    Args:
        cell: The next to be loaded.
        peaks_bytes: Resident peaks of the group's cells that are loaded already.
        available_bytes: What is left, the cgroup's limit included.
    """
    if len(peaks_bytes) < 2:
        return False  # a comparison needs two; one that does not fit fails by itself and says so
    needed = max(*peaks_bytes, _expected_bytes(cell))
    return needed > available_bytes * (1 - _RESERVE)


def _expected_bytes(cell: Cell) -> int:
    if cell.artifact is None:
        return 0
    return cell.load.instances * (_RUNTIME_BYTES + _WEIGHTS_FACTOR * _stored_bytes(cell.artifact))


def _stored_bytes(artifact: Artifact) -> int:
    """Return the size of a graph, the weights that an ONNX file keeps in other files included where it is known."""
    return artifact.path.stat().st_size if artifact.files is None else artifact.files.size_bytes
