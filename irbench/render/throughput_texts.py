"""The texts of warnings about speedups that another way of measuring contradicts."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.notices import Facts, WarningCode
from irbench.quantities import listing, percent, plural, significant, times
from irbench.render.context import Context
from irbench.render.text_types import WarningText

_MOST_PAIRS = 3


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


def _orders(facts: Facts, context: Context) -> str:
    shown = "; ".join(_order(row, context) for row in facts["rows"][:_MOST_PAIRS])
    rest = len(facts["rows"]) - _MOST_PAIRS
    more = f"; and {plural(rest, 'other pair')} of rows" if rest > 0 else ""
    return f"{shown}{more}."


def _order(row: Facts, context: Context) -> str:
    own, other = context.name(row["cell"]), context.name(row["other"])
    against = order_figures(row)
    believed = "the speedup is believed" if row["believed"] == "speedup" else "neither is believed"
    return f"{own} is {times(row['lead'])} as fast as {other}, but {against}: {believed}"


def order_figures(row: Facts) -> str:
    """Return the figures that contradict the order of two rows: ``its p50 is 13.4 ms against 4.18``.

    Args:
        row: Of the facts of the warning ``orders-differ``.
    """
    figures = {"its p50 is {} ms against {}": row["p50_ms"], "its FPS are {} against {}": row["fps"]}
    return listing(text.format(*map(significant, ends)) for text, ends in figures.items() if ends is not None)


def _why_orders_differ(facts: Facts, _: Context) -> str:
    why = (
        "Speedups compare rows side by side within each block; p50 and FPS are of all calls of a row, and FPS include"
        " slow calls."
    )
    if not facts["preview"]:
        return why
    return f"{why} After {plural(facts['launches'], 'launch')} no order of these rows can be told."


def _unlike_rounds(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        way = "faster" if row["faster"] > 0 else "slower"
        return f"{context.name(row['cell'])} is {percent(abs(row['faster']))} {way}"

    return f"Run alone for {facts['seconds']:g} s, {listing(map(of, facts['rows']))} than in its rounds."


def _unaccounted(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        return f"those of {context.name(row['cell'])} account for {row['found']:.1f} of {row['asked']}"

    return f"Latencies leave out requests that are never served: {listing(map(of, facts['rows']))} in flight."


def _left_open(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        name, share = context.name(row["cell"]), percent(row["open_share"])
        return f"{share} of the requests of {name} were open, one of them for {row['oldest_ms']:.3g} ms"

    known = [of(row) for row in facts["rows"] if row["open_share"] is not None]
    least = "Percentiles are lower bounds."
    return f"{least} When rounds ended, {listing(known)}." if known else least


THROUGHPUT_TEXTS: Mapping[WarningCode, WarningText] = {
    "alone-unlike-rounds": WarningText(
        says="a row has another speed when it runs alone than in its rounds",
        brief=_unlike_rounds,
        remedy=lambda *_: (
            "A runtime that gets faster after many calls is measured too early: give it more with --warmup, such as"
            " --warmup 10s. Otherwise it depends on what runs beside it."
        ),
        example={"rows": [{"cell": "ort", "faster": 0.536}], "seconds": 4.0},
    ),
    "orders-differ": WarningText(
        says="p50 or FPS put two rows in another order than their speedups do",
        brief=_orders,
        detail=_why_orders_differ,
        remedy=lambda *_: "Compare p90, and repeat the run on a quiet machine, with more launches (--budget).",
        example={
            "rows": [
                {"cell": "ort", "other": "tf", "lead": 1.19, "p50_ms": [13.4, 4.18], "fps": None, "believed": None}
            ],
            "launches": 3,
            "preview": True,
        },
    ),
    "starved-streams": WarningText(
        says="some requests in flight wait so long that latencies leave them out",
        brief=_unaccounted,
        detail=_left_open,
        remedy=lambda *_: "Use as many --streams as the backend serves at a time.",
        example={"rows": [{"cell": "ort x4", "asked": 4, "found": 2.0, "open_share": 0.083, "oldest_ms": 51.2}]},
    ),
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
