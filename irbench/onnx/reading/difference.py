"""How two graphs differ: what was added, removed, changed and fused on the way from one to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from irbench.onnx.reading.inventory import Inventory, NodeEntry

_MOST_BITS = 1 << 30
"""128 MiB for all sets of landmarks: larger graphs than of some 20,000 nodes make do with the first landmarks."""

_TYPES = frozenset({"Cast", "DequantizeLinear", "Identity", "QuantizeLinear"})
_FORMS = _TYPES | {"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
"""Operators whose output holds the values of their first input, in another type, shape or order."""


@dataclass(frozen=True)
class Origins:
    """What new tensors stand for, and what they follow from.

    A set of landmarks, which are inputs and tensors that both graphs have, is a number with a bit for each of them.

    Attributes:
        known: The tensor of the first graph that a new one stands for, for those of which it is known.
        held: The tensor of the first graph of which a new one holds the values in another form, a cast one for example.
        shown: The tensor of the first graph that holds the values of a new one in another form.
        nearest: The nearest landmarks that a tensor of the first graph follows from.
        behind: All landmarks that a new tensor follows from, for those of which it is not known what they stand for.
    """

    known: Mapping[str, str]
    held: Mapping[str, str]
    shown: Mapping[str, str]
    nearest: Mapping[str, int]
    behind: Mapping[str, int]

    def of_outputs(self, names: Iterable[str]) -> list[str]:
        """Return the tensors of the first graph whose makers the maker of some new ones took the place of."""
        return [*filter(None, (self.known.get(name) or self.shown.get(name) for name in names))]

    def of_inputs(self, names: Iterable[str]) -> list[str]:
        """Return the tensors of the first graph from which what reads some new ones works on."""
        return [*filter(None, (self.known.get(name) or self.held.get(name) for name in names))]

    def is_within(self, old: str, names: Iterable[str]) -> bool:
        """Return whether one of some tensors of the second graph can stand for ``old``, though it is not known to."""
        return any(not self.nearest[old] & ~self.behind[name] for name in names if name in self.behind)


def find_origins(before: Inventory, after: Inventory) -> Origins:
    """Return for which tensors of ``before`` those stand that only ``after`` has.

    Tools name a tensor by adding to the name of another one, ``scores_reshape``. It stands for ``scores`` if it follows
    from all that these followed from: a mask that is named ``scores_where`` does not. What a ``Cast`` reads or makes
    is told by its other side, whatever its name is.
    """
    old, new = _tensors_of(before), _tensors_of(after)
    names = dict.fromkeys(name for node in before.nodes for name in (*node.inputs, *node.outputs))
    landmarks = [name for name in names if name in new or name not in old]
    most = _MOST_BITS // (1 + len(before.nodes) + len(after.nodes))
    bits = {name: 1 << place for place, name in enumerate(landmarks[:most])}
    nearest = _followed(before, bits, through=False)
    behind = {name: bits_of for name, bits_of in _followed(after, bits, through=True).items() if name not in names}
    stems = {name: next((stem for stem in name_stems(name) if stem in nearest), None) for name in behind}
    known = {name: stem for name, stem in stems.items() if stem is not None and not nearest[stem] & ~behind[name]}
    origins = _held(after, names, known)
    unknown = {name: all_behind for name, all_behind in behind.items() if name not in known and name not in origins}
    return Origins(known, origins, _shown(after, names), nearest, unknown)


def _tensors_of(graph: Inventory) -> frozenset[str]:
    return frozenset(name for node in graph.nodes for name in node.outputs if name)


def sizes_of(graph: Inventory) -> frozenset[str]:
    """Return the tensors that depend on the sizes of others, and not on what these hold."""
    return _sizes(graph, _constants(graph))


def _constants(graph: Inventory) -> frozenset[str]:
    outputs = (name for node in graph.nodes if node.operator == "Constant" for name in node.outputs)
    return frozenset((*(weight.name for weight in graph.weights), *outputs))


def _sizes(graph: Inventory, constants: Collection[str]) -> frozenset[str]:
    names: set[str] = set()
    for node in graph.nodes:
        if node.operator in ("Shape", "Size") or (
            not names.isdisjoint(node.inputs) and all(name in names or name in constants for name in node.inputs)
        ):
            names.update(node.outputs)
    return frozenset(names)


def _followed(graph: Inventory, bits: Mapping[str, int], *, through: bool) -> Mapping[str, int]:
    """Return the landmarks that each tensor follows from; constants and sizes, which tools rewrite, are left out."""
    constants = _constants(graph)
    left_out = constants | _sizes(graph, constants)
    landmarks: dict[str, int] = {}
    for node in graph.nodes:
        behind = 0
        for name in node.inputs:
            if name not in left_out:
                behind |= landmarks.get(name, bits.get(name, 0))
        for name in filter(None, node.outputs):
            landmarks[name] = behind | bits.get(name, 0) if through else bits.get(name, behind)
    return landmarks


def _held(after: Inventory, names: Collection[str], known: Mapping[str, str]) -> Mapping[str, str]:
    """Return the tensors whose values other tensors of ``after`` hold in another form."""
    origins: dict[str, str] = {}
    for source, form in _forms(after.nodes):
        origin = source if source in names else known.get(source) or origins.get(source)
        if origin and form not in names and form not in known:
            origins[form] = origin
    return origins


def _shown(after: Inventory, names: Collection[str]) -> Mapping[str, str]:
    """Return which of the tensors ``names`` of the first graph hold those that only ``after`` has in another form."""
    origins: dict[str, str] = {}
    for source, form in _forms(reversed(after.nodes)):
        shown = form if form in names else origins.get(form)
        if shown and source not in names:
            origins[source] = shown
    return origins


def _forms(nodes: Iterable[NodeEntry]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if node.op_type in _FORMS and node.inputs and node.outputs:
            yield node.inputs[0], node.outputs[0]


def name_stems(name: str) -> Iterator[str]:
    """Yield ``a_b`` and ``a`` for ``a_b_c``."""
    while "_" in name:
        name = name.rpartition("_")[0]
        yield name


@dataclass(frozen=True)
class Fusion:
    """Several nodes that one node took the place of.

    Attributes:
        of: How many nodes of each operator it replaces, sorted by operator.
    """

    into: str
    of: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class InventoryDifference:
    """What has become of a graph.

    Attributes:
        operators: Number of nodes before and after, for each operator of which there are more or fewer.
        added: Nodes that only the second graph has.
        changed: Nodes of the same name and another operator, before and after.
        fusions: How often each kind of fusion happened, the most frequent first.
    """

    operators: Mapping[str, tuple[int, int]]
    added: tuple[NodeEntry, ...]
    removed: tuple[NodeEntry, ...]
    changed: tuple[tuple[NodeEntry, NodeEntry], ...]
    fusions: Mapping[Fusion, int]


def difference(before: Inventory, after: Inventory) -> InventoryDifference:
    """Return what was done to ``before`` to make ``after``.

    Nodes are the same when they have the same name, or, where tools rename nodes, the same operator and outputs. A
    fusion is found by walking, in the first graph, from the outputs of a new node back to its inputs, so it is seen
    where the tool kept the names of the tensors between which it worked, made new ones by adding to them, or cast or
    reshaped them (:func:`irbench.onnx.reading.difference.find_origins`). What computes sizes is not part of it, nor
    what may lie behind an input of which the origin is unknown. A node that several new ones depend on is part of the
    first.
    """
    named = {node.name: node for node in before.nodes if node.name}
    same_name = [(named[node.name], node) for node in after.nodes if node.name in named]
    matched = {id(node) for pair in same_name for node in pair}
    rest_before = {(node.operator, node.outputs): node for node in before.nodes if id(node) not in matched}
    rest_after = [node for node in after.nodes if id(node) not in matched]
    added = [node for node in rest_after if (node.operator, node.outputs) not in rest_before]
    kept = {(node.operator, node.outputs) for node in rest_after}
    removed = [node for key, node in rest_before.items() if key not in kept]
    changed = [(old, new) for old, new in same_name if old.operator != new.operator]
    gone = [*removed, *(before for before, _ in changed)]
    others = {id(node) for node in (*added, *(other for _, other in changed))}
    new = [node for node in after.nodes if id(node) in others]
    return InventoryDifference(
        operators=_counts(before.operators, after.operators),
        added=tuple(added),
        removed=tuple(removed),
        changed=tuple(changed),
        fusions=dict(Counter(_fusions(before, after, gone, new)).most_common()),
    )


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys((*before, *after))
    counts = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: both for name, both in counts.items() if both[0] != both[1]}


def _fusions(
    before: Inventory, after: Inventory, gone: Iterable[NodeEntry], new: Iterable[NodeEntry]
) -> Iterator[Fusion]:
    there, sizes, origins = _tensors_of(after), sizes_of(before), find_origins(before, after)
    maker = {name: node for node in gone for name in node.outputs if name and name not in sizes}
    lost = {name: node for name, node in maker.items() if name not in there}
    taken: set[int] = set()
    for node in new:
        kept = [name for name in node.outputs if name in maker]
        starts = [maker[name] for name in kept or origins.of_outputs(node.outputs) if name in maker]
        replaced = _between(starts, node.inputs, lost, origins, taken)
        if not kept and any(old.operator == node.operator for old in replaced):
            continue  # it only works on another shape
        taken.update(map(id, replaced))
        if len(replaced) > 1:
            yield Fusion(node.operator, tuple(sorted(Counter(old.operator for old in replaced).items())))


def _between(
    starts: Iterable[NodeEntry],
    inputs: Collection[str],
    lost: Mapping[str, NodeEntry],
    origins: Origins,
    taken: Collection[int],
) -> tuple[NodeEntry, ...]:
    """Return the nodes from which ``starts`` follow, themselves included, back to what ``inputs`` stand for."""
    ends = {*inputs, *origins.of_inputs(inputs)}
    nodes: dict[int, NodeEntry] = {}
    waiting = list(starts)
    while waiting:
        current = waiting.pop()
        if id(current) not in nodes and id(current) not in taken:
            nodes[id(current)] = current
            further = [name for name in current.inputs if name in lost and name not in ends]
            waiting += [lost[name] for name in further if not origins.is_within(name, inputs)]
    return tuple(nodes.values())
