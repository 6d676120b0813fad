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
        plain: After "No row is clearly faster:", for readers who know nothing of benchmarks.
    """

    reason: str
    outcome: str
    headline: str = ""
    plain: str = ""


_CONTRADICTORY = "{leader} or {rival}: contradictory{figure}"
NO_WINNER_TEXTS: Mapping[NoWinner, NoWinnerText] = {
    "preview": NoWinnerText(
        "too few launches",
        "preview: {leader} {ratio:.2f}x {rival}",
        plain="{leader} leads {rival}, but the run was too short to be certain",
    ),
    "same": NoWinnerText(
        "the first two rows are the same",
        "{leader} and {rival} the same{figure}",
        "{leader} and {rival} are the same",
        plain="{leader} and {rival} are within {within} of each other",
    ),
    "undecided": NoWinnerText(
        "the first two rows cannot be distinguished",
        "{leader} and {rival} undecided{figure}",
        "{leader} and {rival} cannot be distinguished",
        plain="{leader} and {rival} cannot be distinguished",
    ),
    "busy": NoWinnerText(
        "the machine was too busy",
        "machine too busy{figure}",
        plain="other programs kept the machine too busy",
    ),
    "uneven-load": NoWinnerText(
        "other programs were busier beside one row than beside another",
        "machine unevenly busy{figure}",
        plain="other programs disturbed some rows more than others",
    ),
    "all-blocks-disagree": NoWinnerText(
        "another row leads once other blocks count",
        _CONTRADICTORY,
        "{leader} leads in undisturbed blocks, {rival} over all blocks. Repeat the run on a quiet machine",
        plain="whether {leader} leads depends on the load of the machine",
    ),
    "throughput-disagrees": NoWinnerText(
        "another row has the higher throughput",
        _CONTRADICTORY,
        "{leader} has the lower median latency, {rival} the higher throughput ({throughput}), which includes slow"
        " calls. Compare p90, and choose by what matters to you",
        plain="{leader} has the lower latency and {rival} the higher throughput",
    ),
    "sustained-disagrees": NoWinnerText(
        "another row leads where each runs alone",
        _CONTRADICTORY,
        "{leader} leads when rows are interleaved, {rival} when each runs alone. Choose by how you deploy",
        plain="{leader} leads when rows take turns and {rival} when each runs alone",
    ),
    "p50-disagrees": NoWinnerText(
        "another row has the lower p50",
        _CONTRADICTORY,
        "{leader} leads by speedup, another row has the lower p50. Compare p90 and {throughput}",
        plain="{leader} has the lower mean time, and another row the lower median",
    ),
}
