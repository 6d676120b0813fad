"""The best row over the tables of a sweep that measured the same model with the same inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from irbench.spec import Objective
from irbench.store.leaders import BestOfTables, TableLeader, best_of_tables, has_leader
from irbench.sweeps.cells import AXES, SweepTable, setting_text
from irbench.sweeps.overview import TableOverview

_QUESTION = (
    "models",
    "precision",
    "optimize",
    "io",
    "shape",
    "shapes",
    "data",
    "value",
    "feedback",
    "seed",
    "objective",
    "max-latency",
    "cold",
    "apart",
)
"""Tables that differ in one of these answer different questions; the other settings are what one chooses among."""
_OF_THROUGHPUT = ("batch", "streams", "instances")
"""Tables that differ in one of these are compared by samples per second: latencies are of different amounts of work."""


def best_of_sweep(tables: Sequence[TableOverview]) -> tuple[BestOfTables, ...]:
    """Return the best row over the tables of each model and set of inputs; none where fewer than two have a leader."""
    questions: dict[str, list[TableOverview]] = {}
    for shown in tables:
        if len(shown.table.values("models")) == 1 and "native" not in shown.table.values("precision"):
            questions.setdefault(_question(shown.table), []).append(shown)
    found = (_best(shown) for shown in questions.values())
    return tuple(best for best in found if best is not None)


def _question(table: SweepTable) -> str:
    return json.dumps([table.values(key) for key in _QUESTION], sort_keys=True)


def _best(tables: Sequence[TableOverview]) -> BestOfTables | None:
    differing = [key for key in AXES if len({json.dumps(shown.table.values(key)) for shown in tables}) > 1]
    leaders = list(_leaders(tables, differing))
    model = setting_text(tables[0].table.values("models"))
    return best_of_tables(model, leaders, _objective(tables[0].table, differing))


def _leaders(tables: Sequence[TableOverview], differing: Sequence[str]) -> Iterator[TableLeader]:
    for shown in tables:
        outcomes = shown.entry.outcomes if shown.status == "done" and shown.entry is not None else ()
        if len(outcomes) == 1 and has_leader(outcomes[0]):
            yield TableLeader(_label(shown.table, differing), outcomes[0])


def _label(table: SweepTable, differing: Sequence[str]) -> str:
    """Return what tells a table from the others; its backends only where nothing else does, as rows name them."""
    keys = [key for key in differing if key != "backends"] or differing
    return " ".join(f"{key}={setting_text(table.values(key))}" for key in keys)


def _objective(table: SweepTable, differing: Sequence[str]) -> Objective | None:
    """Return what was asked for, or what tables differ in leaves; ``None`` for what their rows were compared by."""
    asked: tuple[Objective, ...] = table.values("objective")
    if asked:
        return asked[0]
    by_throughput = table.values("max-latency") or any(key in _OF_THROUGHPUT for key in differing)
    return "fps" if by_throughput else None
