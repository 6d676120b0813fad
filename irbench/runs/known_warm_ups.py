"""After how many calls a row is warm, as earlier runs of the same row on this machine found.

Only how long the first launch of a row warms up follows from it: figures are of one run's own launches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from irbench.across_runs.differences import fingerprint
from irbench.core.address import is_gpu
from irbench.core.record import WarmUp
from irbench.spec import Cell, Group
from irbench.store import bundles
from irbench.store.kept import keep_warm_ups, kept_warm_ups


def known_warm_ups(environment: Mapping[str, Any], group: Group) -> dict[str, WarmUp]:
    """Return how rows were warmed up when they were measured last, by cell id; without those that are not known.

    Args:
        environment: The machine and its software, as a run document has them: another version of a runtime counts as
            another row.
        group: The rows.
    """
    kept = kept_warm_ups(bundles.home(), _setup(environment))
    keys = _keys(group, group.cells)
    return {cell: kept[key] for cell, key in keys.items() if key in kept}


def remember_warm_ups(environment: Mapping[str, Any], group: Group, found: Mapping[str, WarmUp]) -> None:
    """Keep how rows were warmed up, by cell id, as far as it was seen after how many calls they got no faster."""
    keys = _keys(group, (cell for cell in group.cells if cell.id in found))
    seen = {key: found[cell] for cell, key in keys.items() if found[cell].judged and not found[cell].ended_unsteady}
    if seen:
        keep_warm_ups(bundles.home(), _setup(environment), seen)


def _setup(environment: Mapping[str, Any]) -> str:
    software = {"python": environment.get("python"), "distributions": environment.get("distributions")}
    return f"{fingerprint(environment)}-{_digest(software)}"


def _keys(group: Group, cells: Iterable[Cell]) -> dict[str, str]:
    """Return what identifies each row in any run: its graph and how it is run.

    Rows of other Pythons and of the user's own programs are left out, whose versions the environment does not have, and
    those on GPUs, of which it does not have the card.
    """
    keys: dict[str, str] = {}
    for cell in cells:
        graph = cell.artifact
        if graph is None or cell.program or cell.environment or cell.loss or is_gpu(cell.device):
            continue
        sha256 = graph.sha256 if graph.files is None else graph.files.sha256
        if sha256:
            row = replace(cell, id="", artifact=None, workload=0, accuracy=None, work=None, shared_session="")
            keys[cell.id] = _digest([sha256, graph.inputs, group.workloads[cell.workload].sizes, row])
    return keys


def _digest(facts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()[:24]
