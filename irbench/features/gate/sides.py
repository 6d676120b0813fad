"""The two sides of a gate: which rows of a table are BASE and which are NEW, and which of them belong together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irbench.errors import IrbenchError
from irbench.features.gate.options import GATE
from irbench.options.run import RUN, RunOptions
from irbench.runner.requested_cells import meets, settings_of
from irbench.spec import Cell, Group

SETTINGS: Mapping[str, str] = {
    "backend": "backends",
    **{name: name for name in ("batch", "streams", "threads", "instances", "precision", "optimize")},
}
"""What may stand behind the ``@`` of a side, with the option that has its values."""
_USUAL = {"streams": "1", "instances": "1", "optimize": "none"}
_BEHIND = re.compile(r"(?P<model>.+)@(?P<settings>[a-z]+=[^@]*)", re.DOTALL)


@dataclass(frozen=True)
class Side:
    """One side, as the user named it.

    Attributes:
        model: The model, or the stored run.
        settings: Values by the names of :data:`SETTINGS`.
    """

    model: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


def read_side(text: str) -> Side:
    """Return a side: ``model.onnx``, or ``model.onnx@threads=2,optimize=all``.

    Raises:
        IrbenchError: Text after the ``@`` is not a setting, or sets one twice.
    """
    match = _BEHIND.fullmatch(text)
    if match is None:
        return Side(text)
    settings: dict[str, str] = {}
    for part in match["settings"].split(","):
        name, _, value = part.partition("=")
        if name not in SETTINGS or not value:
            known = ", ".join(SETTINGS)
            raise IrbenchError(f"{text}: {part!r} is not a setting.", hint=f"Write NAME=VALUE; settings: {known}.")
        if name in settings:
            raise IrbenchError(
                f"{text}: {name} is set twice.",
                hint=f"A side has one value of each setting: {match['model']}@{name}={settings[name]}.",
            )
        settings[name] = value
    return Side(match["model"], settings)


def with_settings(options: RunOptions, base: Side, new: Side, given: Collection[str]) -> RunOptions:
    """Return options of a run that has the rows of both sides, and maybe others.

    Args:
        options: Of the run; those of a setting that the sides name are replaced.
        base: The older side.
        new: The newer side.
        given: Names of the options that the user gave.

    Raises:
        IrbenchError: A setting has a value on one side only, or also as an option, or a value is wrong.
    """
    values = dict[str, Any]()
    for name in {**base.settings, **new.settings}:
        option = SETTINGS[name]
        if option in given:
            raise IrbenchError(f"--{option} and {name}= of a side cannot be combined.", hint="Leave one of them out.")
        both = [side.settings.get(name, _USUAL.get(name)) for side in (base, new)]
        if None in both:
            side = "BASE" if both[0] is None else "NEW"
            raise IrbenchError(f"{name} is given for one side only.", hint=f"Add @{name}=... to {side} too.")
        named = dict.fromkeys(map(str, both))
        if name == "backend":  # rows of --cell are named like backends, and are there whatever backends are
            named = dict.fromkeys([value for value in named if value not in options.cells] or ["none"])
        values[option] = _read(option, tuple(named))
    return replace(options, **values)


def _read(option: str, values: tuple[str, ...]) -> Any:
    read = RUN.options[option].kind.read
    try:
        return tuple(each for value in values for each in read(value))
    except ValueError as error:
        raise IrbenchError(
            f"{option}={','.join(values)} is not valid: {error}.", hint=f"See irbench {GATE.name} --help."
        ) from error


@dataclass(frozen=True)
class Pair:
    """Two rows of a table, by their ids: NEW's is compared with BASE's."""

    base: str
    new: str


@dataclass(frozen=True)
class Sides:
    """Both sides, by the names that tables have for their models."""

    base: Side
    new: Side

    def pairs_of(self, group: Group) -> tuple[Pair, ...]:
        """Return the rows of a group that belong together: alike in all that neither side names.

        Models may differ in the precision that their files have.
        """
        named = {*self.base.settings, *self.new.settings}
        before, after = ([cell for cell in group.cells if _is_of(cell, group, side)] for side in (self.base, self.new))
        found: list[Pair] = []
        for ignored in ((), ("precision",)):
            left = {pair.base for pair in found} | {pair.new for pair in found}
            keys = [
                _by_key((cell for cell in cells if cell.id not in left), group, {*named, *ignored})
                for cells in (before, after)
            ]
            alike = (key for key in keys[1] if len(keys[1][key]) == len(keys[0].get(key, ())) == 1)
            found += [Pair(keys[0][key][0], keys[1][key][0]) for key in alike]
        order = [cell.id for cell in group.cells]
        return tuple(sorted((pair for pair in found if pair.base != pair.new), key=lambda pair: order.index(pair.new)))


def _by_key(cells: Iterator[Cell], group: Group, ignored: Collection[str]) -> dict[tuple[str, ...], list[str]]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        facts = {**settings_of(cell, group.workload_of(cell).bundle), "backend": str(cell.address)}
        key = tuple(value for name, value in facts.items() if name not in {*ignored, "model"})
        rows.setdefault(key, []).append(cell.id)
    return rows


def _is_of(cell: Cell, group: Group, side: Side) -> bool:
    model = group.workload_of(cell).bundle
    others = {name: value for name, value in side.settings.items() if name != "backend"}
    backend = side.settings.get("backend")
    return (
        model.name == side.model
        and backend in (None, cell.backend, str(cell.address))
        and all(meets(cell, model, name, value) for name, value in others.items())
    )
