"""What a bundle is called: a name never means two models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from irbench import bundles, registry
from irbench.errors import IrbenchError
from irbench.exporter.source import Source

_LONGEST = 100
_RESERVED = "+:/\\"
"""Signs with which names of graphs and paths are told from those of bundles."""
_FILE_ENDINGS = (".onnx", ".keras", ".py", ".h5")


def require_name(name: str, source: Source) -> None:
    """Refuse a name that a bundle of ``source`` cannot have.

    Raises:
        IrbenchError: It is not valid, or that of another model.
    """
    odd = not name.isprintable() or name != name.strip() or name.startswith((".", "-")) or len(name) > _LONGEST
    if not name or odd or any(sign in name for sign in _RESERVED) or name.endswith(_FILE_ENDINGS):
        raise IrbenchError(
            f"{name!r} is not a valid name for a bundle.",
            hint="Use letters, digits, '_', '-' and '.', and no ending of a model file.",
        )
    owner = owner_of(name, source)
    if owner:
        removed = f", or remove that bundle: rm -r {place.parent}" if (place := _place_of(name)) else "."
        raise IrbenchError(
            f"The name {name} belongs to the model {owner}.", hint=f"Choose another with --name{removed}"
        )


def free_name(wanted: str, source: Source) -> str:
    """Return the first of ``make``, ``make-net``, ``make-2`` and so on that no other model has.

    What follows the name tells the model from the one that has the name: its module, or the folder it is in.
    """
    return next(name for name in _names(_valid(wanted), source) if not owner_of(name, source))


def owner_of(name: str, source: Source) -> str:
    """Return which other model a name means; empty where it is free, or means a bundle of ``source``."""
    if name in registry.names(registry.MODELS):
        return "" if source.is_zoo and source.text == name else f"{name} of irbench models"
    card = _card_of(name)
    if card is None:
        return ""
    if card.origin is None:
        return "" if card.bundle.source in (source.text, source.absolute) else card.bundle.source or name
    gone = not Source(card.origin.source, Path(card.origin.folder)).exists
    return "" if gone or card.origin.location == source.location else card.origin.location


def _valid(wanted: str) -> str:
    """Return a name that files and commands can have, as a model's own is any text."""
    return "".join("_" if sign in _RESERVED else sign for sign in wanted).lstrip(".-")[:_LONGEST] or "model"


def _names(wanted: str, source: Source) -> Iterator[str]:
    yield wanted
    taken = _places(_source_of(wanted))
    yield from (f"{wanted}-{place}" for place in _places(source) if place and place not in taken)
    yield from (f"{wanted}-{number}" for number in count(2))


def _source_of(name: str) -> Source | None:
    card = _card_of(name)
    origin = None if card is None else card.origin
    return None if origin is None else Source(origin.source, Path(origin.folder))


def _place_of(name: str) -> Path | None:
    """Return the bundle of a name that is not reserved for a model of the zoo."""
    return None if name in registry.names(registry.MODELS) else bundles.find(name)


def _card_of(name: str) -> bundles.Card | None:
    """Return the card of a name; ``None`` where there is no bundle of it, or a damaged one, which may be replaced."""
    place = bundles.find(name)
    try:
        return None if place is None else bundles.load_card(place)
    except IrbenchError:
        return None


def _places(source: Source | None) -> tuple[str, ...]:
    """Return what tells a model from others of its name, the nearest first."""
    if source is None or source.is_zoo:
        return ()
    if source.function is None:
        return (source.path.parent.name,)
    file = source.code_file
    return (source.module.rpartition(".")[2], file.parent.name if file else "")
