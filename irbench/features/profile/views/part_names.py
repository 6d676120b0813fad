"""What the parts of an inference are called in the tables of a profile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from irbench.features.profile.report import PartRow, ProfileReport
from irbench.features.profile.views.sentences import class_name
from irbench.render.line_wrapping import shorten_middle

_MOST_TYPES = 5
LONGEST_NAME = 40
"""Characters of a name that are shown where these suffice to tell it from others."""
_GAP = "…"


class PartNames:
    """The names of a profile's rows: those of different rows differ, and a row has the same one in every table."""

    def __init__(self, report: ProfileReport) -> None:
        self._nodes = short_names(row.name for row in report.nodes if row.nodes)
        # a part that is the whole of its row stands for the same operators
        rows = (*report.operators, *report.own_operators)
        distinct = {(row.name, row.op_types, row.operator_class): row for row in rows}
        self._operators = Counter(_operator(row, row.op_types[:_MOST_TYPES]) for row in distinct.values())

    def of(self, row: PartRow) -> str:
        """Return the name of a row by class, operator or node."""
        if row.key == str(row.operator_class):
            return class_name(row.operator_class)
        return self._of_nodes(row) if row.nodes else self._of_operator(row)

    def of_node(self, name: str) -> str:
        """Return a node's name as far as it is needed; other forms hold all of it."""
        return self._nodes.get(name, name)

    def _of_nodes(self, row: PartRow) -> str:
        """Return what a group of nodes is called: its main node, and how many others there are."""
        more = len(row.nodes) - 1
        return f"{self.of_node(row.name)} +{more}" if more > 0 else self.of_node(row.name)

    def _of_operator(self, row: PartRow) -> str:
        """Return what runtimes call an operator, and in parentheses the types of nodes that it stands for."""
        short = _operator(row, row.op_types[:_MOST_TYPES])
        if self._operators[short] < 2:
            return short
        return f"{_operator(row, row.op_types)}, {class_name(row.operator_class)}"


def _operator(row: PartRow, shown: Sequence[str]) -> str:
    if row.op_types in ((), (row.name,)) or row.name == ", ".join(row.op_types):
        return row.name
    more = len(row.op_types) - len(shown)
    types = ", ".join((*shown, *([f"{more} more"] if more else [])))
    return f"{row.name} ({types})"


def short_names(names: Iterable[str]) -> Mapping[str, str]:
    """Return what each name is called in one line; different names stay different.

    A long name keeps its last scopes, as many as :data:`LONGEST_NAME` has room for. Names that would look the same then
    keep those of their scopes that tell them apart, however far in front: ``…/layer_2/…/Tensordot/MatMul``. Where no
    scopes do, they are shown whole.
    """
    short = {name: _last_scopes(name) for name in names}
    for alike in _alike(short):
        short.update({name: text for name, text in _told_apart(alike).items() if len(name) > LONGEST_NAME})
    while alike_still := _alike(short):
        short.update({name: name for alike in alike_still for name in alike})
    return short


def _alike(short: Mapping[str, str]) -> list[list[str]]:
    """Return the names that look the same, together."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, text in short.items():
        names[text].append(name)
    return [alike for alike in names.values() if len(alike) > 1]


def _last_scopes(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    *scopes, last = name.split("/")
    while scopes and len(f"{scopes[-1]}/{last}") < LONGEST_NAME - 1:
        last = f"{scopes.pop()}/{last}"
    return shorten_middle(f"{_GAP}/{last}" if scopes else last, LONGEST_NAME, LONGEST_NAME // 2)


def _told_apart(names: Sequence[str]) -> Mapping[str, str]:
    """Return names with the scopes that tell them apart, and the last ones as far as there is room."""
    scopes = [name.split("/")[::-1] for name in names]
    depth = max(map(len, scopes))
    kept = {0}
    while (differ := _different(scopes, kept)) < len(names):
        place = max(range(depth), key=lambda place: (_different(scopes, {*kept, place}), -place))
        if _different(scopes, {*kept, place}) == differ:
            break
        kept.add(place)
    for place in range(1, depth):
        if max(len(_shown(own, {*kept, place})) for own in scopes) > LONGEST_NAME:
            break
        kept.add(place)
    return {name: _shown(own, kept) for name, own in zip(names, scopes, strict=True)}


def _different(scopes: Sequence[Sequence[str]], kept: set[int]) -> int:
    """Return how many of the names differ in the scopes at some places, counted from the last one."""
    return len({tuple(own[place] if place < len(own) else "" for place in kept) for own in scopes})


def _shown(scopes: Sequence[str], kept: set[int]) -> str:
    """Return a name with some of its scopes, and a mark for those in front and between that are left out."""
    parts: list[str] = []
    for place in reversed(range(len(scopes))):
        if place in kept:
            parts.append(scopes[place])
        elif parts[-1:] != [_GAP]:
            parts.append(_GAP)
    return "/".join(parts)
