"""The words of a flip map: under which nearby conditions another setting would win."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.core.quantities import NOT_MEASURED, listing, plural
from irbench.features.tune.flip_map import nearest_flip
from irbench.features.tune.recommendation_view import gain_text
from irbench.features.tune.report import (
    NOT_MEASURED_TEXTS,
    OUTCOME_TEXTS,
    Condition,
    Flip,
    Side,
    Unable,
)
from irbench.render.figures import are_ranges, ends_heading
from irbench.render.table import Column, Row, TextTable
from irbench.spec import Timing

_COLUMNS = (
    Column("condition", words=True),
    Column("setting", words=True),
    Column("rival", words=True),
)


def measuring_flips_text(count: int, seconds: float) -> str:
    """Return what a flip map is about to do."""
    if not count:
        return "flip map: the confirmation has no other setting to compare with"
    return f"flip map: the best setting and its rival under {plural(count, 'other condition')}, {seconds:.0f} s at most"


def flip_map_parts(flips: Sequence[Flip]) -> Iterator[str | TextTable]:
    """Yield the sentence that names the nearest flip, and the table of all conditions."""
    if flips:
        yield f"Flip map: {flip_map_sentence(flips)}"
        gains = [flip.gain for flip in flips]
        heading = ends_heading("setting / rival", gains, Timing.confidence)
        columns = (*_COLUMNS, Column(heading, words=True), Column("outcome", words=True))
        yield TextTable(columns, tuple(_row(flip, marks_ranges=not are_ranges(gains)) for flip in flips))


def flip_map_sentence(flips: Sequence[Flip]) -> str:
    """Return under which conditions the rival wins, the nearest first, and under which the setting stays ahead."""
    return "; ".join(_clauses(flips))


def condition_text(condition: Condition) -> str:
    """Return a condition in words: ``batch 8``, ``1 thread``, ``a busy neighbour``."""
    value = condition.value
    if condition.axis == "neighbour":
        return "a busy neighbour"
    if condition.axis in ("threads", "processors", "streams"):
        return plural(int(value), condition.axis.removesuffix("s"))
    return f"{condition.axis} {value}"


def _clauses(flips: Sequence[Flip]) -> Iterator[str]:
    nearest = nearest_flip(flips)
    flipped = [flip for flip in flips if flip.outcome == "flipped" and flip is not nearest]
    if nearest is None:
        yield "no flip was found"
    for flip in (nearest, *flipped) if nearest is not None else ():
        yield f"{_name(flip, 'rival')} wins with {condition_text(flip.condition)}{_by(flip)}"
    kept = [flip for flip in flips if flip.outcome == "kept"]
    if kept:
        yield f"{_name(kept[0], 'setting')} stays ahead with {_listed(kept)}"
    for outcome, text in (("same", "no difference that matters with"), ("undecided", "undecided with")):
        found = [flip for flip in flips if flip.outcome == outcome]
        if found:
            yield f"{text} {_listed(found)}"
    doubtful = [flip for flip in flips if flip.is_doubtful]
    if doubtful:
        yield f"something disturbed the tables with {_listed(doubtful)}, and a difference may be due to that"
    unmeasured = [flip for flip in flips if flip.outcome == "not-measured"]
    if unmeasured:
        yield f"not measured with {_listed(unmeasured)}"


def _listed(flips: Sequence[Flip]) -> str:
    return listing(condition_text(flip.condition) for flip in flips)


def _by(flip: Flip) -> str:
    """Return by how much the rival wins, where that was measured."""
    if flip.gain is None or flip.unable:
        return ""
    return f": {gain_text(flip.gain.inverse, marks_ranges=True)}"


def _row(flip: Flip, *, marks_ranges: bool) -> Row:
    compared = NOT_MEASURED if flip.gain is None else gain_text(flip.gain, marks_ranges=marks_ranges)
    style = "bold" if flip.outcome == "flipped" else ""
    return Row(
        (condition_text(flip.condition), flip.setting.label, flip.rival.label, compared, _outcome(flip)), style=style
    )


def _outcome(flip: Flip) -> str:
    if flip.missing is not None:
        text = NOT_MEASURED_TEXTS[flip.missing].format(message=flip.message or "")
    else:
        text = OUTCOME_TEXTS[flip.outcome].format(setting=_name(flip, "setting"), rival=_name(flip, "rival"))
    text = f"{text} (doubtful)" if flip.is_doubtful else text
    return ": ".join((text, *(_obstacle(flip, unable) for unable in flip.unable)))


def _obstacle(flip: Flip, unable: Unable) -> str:
    name = _name(flip, unable.side)
    if unable.reason == "too-slow":
        return f"{name} is above --max-latency"
    return f"{name} cannot run" if unable.message is None else f"{name} cannot run ({unable.message})"


def _name(flip: Flip, side: Side) -> str:
    """Return the backend of a setting, or its label where both have the same backend."""
    chosen = flip.setting if side == "setting" else flip.rival
    return chosen.label if flip.setting.backend == flip.rival.backend else chosen.backend
