"""How graphs of different optimisers stand to each other: pure functions over what units and runs found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.optimizers.graphs import MadeGraph, Speeds, Unit, state_of
from benchmarks.optimizers.speeds import measured_as
from benchmarks.optimizers.subjects import EXPORTED, OTHERS, OWN
from irbench.core.row import Spans

_NORMALIZATIONS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
_BAND = 1.02
"""Speedups that are closer count as the same, as in every table of irbench."""


@dataclass(frozen=True)
class Behind:
    """A place where another optimiser is better than irbench's better level.

    Attributes:
        model: Its name.
        exporter: What wrote its graph.
        other: The best of the others there.
        own: irbench's level.
        other_value: Nodes, or the speedup over the exported graph.
        own_value: The same of irbench.
        is_sure: For speeds, whether the two intervals do not overlap; always for nodes.
    """

    model: str
    exporter: str
    other: str
    own: str
    other_value: float
    own_value: float
    is_sure: bool = True


def fused(graph: MadeGraph) -> tuple[int, int]:
    """Return how many attentions and how many normalisations over features are one node."""
    names = {name.rpartition(".")[2]: count for name, count in graph.operators.items()}
    attentions = sum(count for name, count in names.items() if name.endswith("Attention"))
    return attentions, sum(count for name, count in names.items() if name.endswith(_NORMALIZATIONS))


def behind_in_nodes(unit: Unit) -> Behind | None:
    """Return the graph with the fewest nodes, of those that answer rightly, where irbench has none as small."""
    sound = [graph for graph in unit.graphs if state_of(unit.errors, graph.name, "ort") == "equal"]
    others = [graph for graph in sound if graph.name in OTHERS]
    own = [graph for graph in sound if graph.name in OWN]
    if not others or not own:
        return None
    best, mine = (min(graphs, key=lambda graph: graph.nodes) for graphs in (others, own))
    if mine.nodes <= best.nodes:
        return None
    return Behind(unit.model, unit.exporter, best.name, mine.name, best.nodes, mine.nodes)


def behind_in_speed(unit: Unit) -> Behind | None:
    """Return the fastest graph of others, the exported one included, where irbench's fastest is slower by over 2 %."""
    if unit.speeds is None:
        return None
    found = dict(_speedups(unit, unit.speeds))
    own = [name for name in found if name in OWN]
    if not own:
        return None
    mine = max(own, key=lambda name: found[name].value)
    best = max((name for name in found if name not in OWN), key=lambda name: found[name].value)
    faster, slower = found[best], found[mine]
    if faster.value <= slower.value * _BAND:
        return None
    is_sure = faster.low is not None and slower.high is not None and slower.high < faster.low
    return Behind(unit.model, unit.exporter, best, mine, faster.value, slower.value, is_sure)


def _speedups(unit: Unit, speeds: Speeds) -> Iterator[tuple[str, Spans]]:
    """Yield each graph with its speedup over the exported one, whose own is 1 without doubt."""
    for name, measured in measured_as(unit).items():
        speedup = speeds.rows[measured].speedup if measured in speeds.rows else None
        if measured == EXPORTED:
            yield name, Spans(1.0, low=1.0, high=1.0)
        elif speedup is not None:
            yield name, Spans(speedup.value, low=speedup.low, high=speedup.high)
