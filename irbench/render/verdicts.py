"""Verdicts in words and colours, for every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from irbench.core.result import NoWinner

_COLOURS: Mapping[str, tuple[str, ...]] = {
    "green": ("faster", "steady", "confirmed"),
    "red": ("slower", "grows", "refuted", "mismatch", "failed"),
    "yellow": ("undecided",),
    "dim": ("preview",),
}
_STYLES = {verdict: colour for colour, verdicts in _COLOURS.items() for verdict in verdicts}


def style_of(verdict: str) -> str:
    """Return the colour of a row with a verdict or a state; empty where it has none."""
    return _STYLES.get(verdict, "")


class NoWinnerText(NamedTuple):
    """Why no row is called the fastest.

    Attributes:
        reason: In a sentence about the run.
        outcome: In a listing of runs.
        headline: Above the table; empty where that takes more facts than names.
    """

    reason: str
    outcome: str
    headline: str = ""


_CONTRADICTORY = "{leader} or {rival}: contradictory{figure}"
NO_WINNER_TEXTS: Mapping[NoWinner, NoWinnerText] = {
    "preview": NoWinnerText("too few launches", "preview: {leader} {ratio:.2f}x {rival}"),
    "same": NoWinnerText(
        "the first two rows are the same", "{leader} and {rival} the same{figure}", "{leader} and {rival} are the same"
    ),
    "undecided": NoWinnerText(
        "the first two rows cannot be distinguished",
        "{leader} and {rival} undecided{figure}",
        "{leader} and {rival} cannot be distinguished",
    ),
    "busy": NoWinnerText("the machine was too busy", "machine too busy{figure}"),
    "uneven-load": NoWinnerText(
        "other programs were busier beside one row than beside another", "machine unevenly busy{figure}"
    ),
    "all-blocks-disagree": NoWinnerText(
        "another row leads once other blocks count",
        _CONTRADICTORY,
        "{leader} leads in undisturbed blocks, {rival} over all blocks. Repeat the run on a quiet machine",
    ),
    "throughput-disagrees": NoWinnerText(
        "another row has the higher throughput",
        _CONTRADICTORY,
        "{leader} has the lower median latency, {rival} the higher throughput ({throughput}), which includes slow"
        " calls. Compare p90, and choose by what matters to you",
    ),
    "sustained-disagrees": NoWinnerText(
        "another row leads where each runs alone",
        _CONTRADICTORY,
        "{leader} leads when rows are interleaved, {rival} when each runs alone. Choose by how you deploy",
    ),
    "p50-disagrees": NoWinnerText(
        "another row has the lower p50",
        _CONTRADICTORY,
        "{leader} leads by speedup, another row has the lower p50. Compare p90 and {throughput}",
    ),
}
