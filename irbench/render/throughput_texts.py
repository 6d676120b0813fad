"""The texts of warnings about speedups that another way of measuring contradicts."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.notices import Facts, WarningCode
from irbench.render.context import Context
from irbench.render.quantities import listing, times
from irbench.render.text_types import WarningText

__all__ = ["THROUGHPUT_TEXTS"]


def _ratios(facts: Facts, context: Context) -> str:
    return listing(
        f"{context.name(row['cell'])} {times(row['ratio'])} instead of {times(row['speedup'])}" for row in facts["rows"]
    )


def _fps(facts: Facts, context: Context) -> str:
    return f"Measured by FPS, the speedup differs: {_ratios(facts, context)}."


def _alone(facts: Facts, context: Context) -> str:
    return f"When each row runs alone for {facts['seconds']:g} s, the speedup differs: {_ratios(facts, context)}."


def _at_pace(facts: Facts, context: Context) -> str:
    pace = f"At a pace of {facts['pace_ms']:g} ms"
    if not facts["reversed"]:
        return f"{pace} the speedup differs: {_ratios(facts, context)}."
    pairs = (f"{context.name(pair['other'])} before {context.name(pair['cell'])}" for pair in facts["reversed"])
    return f"{pace} the order is reversed: {listing(pairs)}."


def _by_how_much(facts: Facts, context: Context) -> str:
    def of(pair: Facts) -> str:
        own, other = context.name(pair["cell"]), context.name(pair["other"])
        return f"{own} against {other}: {times(pair['at_pace'])} instead of {times(pair['back_to_back'])}"

    return f"{'; '.join(map(of, facts['reversed']))}." if facts["reversed"] else ""


THROUGHPUT_TEXTS: Mapping[WarningCode, WarningText] = {
    "sustained-differs": WarningText(
        says="speedups differ when each row runs alone",
        brief=_alone,
        remedy=lambda *_: (
            "A long run heats the processor and has the caches to itself: for a server, quote the sustained FPS."
        ),
        example={"rows": [{"cell": "ort", "ratio": 1.05, "speedup": 1.14}], "seconds": 3.0},
    ),
    "paced-differs": WarningText(
        says="speedups differ when calls come at the pace of `--pace`",
        brief=_at_pace,
        detail=_by_how_much,
        remedy=lambda *_: (
            "Between calls threads fall asleep and clocks slow down: if your calls come one at a time, choose by the"
            " paced latency."
        ),
        example={
            "rows": [{"cell": "ort", "ratio": 0.95, "speedup": 1.14}],
            "reversed": [{"cell": "ort", "other": "tf", "back_to_back": 1.14, "at_pace": 0.95}],
            "pace_ms": 10.0,
        },
    ),
    "fps-differ": WarningText(
        says="the speedup by FPS differs from that by medians",
        brief=_fps,
        detail=lambda *_: "FPS include slow calls, medians ignore them.",
        remedy=lambda *_: "Compare p90 as well: if the slow calls are the backend's own, a server gets the FPS.",
        example={"rows": [{"cell": "ort x4", "ratio": 3.07, "speedup": 5.14}]},
    ),
}
