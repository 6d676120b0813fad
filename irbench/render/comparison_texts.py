"""The words of warnings about the comparison itself."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.notices import Facts, WarningCode
from irbench.render.context import Context
from irbench.render.quantities import listing, percent, plural, times
from irbench.render.text_types import WarningText

__all__ = ["COMPARISON_TEXTS"]


def _not_verified(facts: Facts, _: Context) -> str:
    return f"Outputs of {facts['model']} were not verified."


def _refusals(facts: Facts, _: Context) -> str:
    said = "; ".join(f"{refusal['reference']}: {refusal['message']}" for refusal in facts["refusals"])
    return f"No reference could answer ({said})." if said else "No reference is installed."


def _replaced(facts: Facts, context: Context) -> str:
    asked, used = context.name(facts["asked"]), context.name(facts["used"])
    return f"The baseline {asked} has no valid figures; speedups are relative to {used}."


def _preview(facts: Facts, _: Context) -> str:
    if facts.get("over_budget"):
        return f"Even one launch took longer than the budget; {facts['least_launches']} are needed."
    return f"The budget had room for {facts['launches']} of at least {plural(facts['least_launches'], 'launch')}."


def _needed(facts: Facts, _: Context) -> str:
    return f"This table alone needs about --budget {facts['needed_s']}s."


def _slow(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        verb = "was" if row["slow_launches"] == 1 else "were"
        share = f"{row['slow_launches']} of {plural(row['launches'], 'launch')} of {context.name(row['cell'])}"
        return f"{share} {verb} {percent(row['slower'])} slower"

    return f"{listing(map(of, facts['rows']))} than the others."


def _two_speeds(facts: Facts, context: Context) -> str:
    return f"Launches of {listing(context.name(row['cell']) for row in facts['rows'])} have one of two speeds."


def _shares(_: Facts, context: Context) -> str:
    more = "" if context.thorough else " More launches (--thorough) show the shares."
    return f"Speed is decided when a program starts: quote both.{more}"


def _how_often(_: Facts, context: Context) -> str:
    often = "" if context.thorough else "; --thorough shows how often they come"
    return f"The median ignores them{often}."


def _regime(facts: Facts, context: Context) -> str:
    def side(name: str) -> str:
        own = facts[name]
        found = listing(f"{context.name(row['cell'])} {times(row['speedup'])}" for row in own["rows"] or ())
        where = f"{name} ({own['core_to_core_ns']:.0f} ns, {plural(own['blocks'], 'block')})"
        return f"{where} {found}" if found else where

    return f"Intervals are about the mix of both: {side('near')}; {side('far')}."


def _neighbours(facts: Facts, context: Context) -> str:
    return f"Launches of {listing(map(context.name, facts['cells']))} resemble those just before them."


def _unsteady(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        way = "slower" if row["slower"] > 0 else "faster"
        return f"{context.name(row['cell'])} {percent(abs(row['slower']))} {way}"

    return f"Later blocks of a launch differ from earlier ones: {listing(map(of, facts['rows']))}."


def _wide(facts: Facts, context: Context) -> str:
    of = "lead" if facts["is_lead"] else "time"
    known, target = percent(facts["half_width"]), percent(facts["target"])
    return f"The {of} of {context.name(facts['cell'])} is known to ±{known}, not to the target of ±{target}."


def _dominated(facts: Facts, _: Context) -> str:
    if not facts["launches_dominate"]:
        return ""
    return "Its launches differ far more than the blocks within them; more blocks will not help."


def _more_launches(facts: Facts, context: Context) -> str:
    if facts["launches_needed"] is None:
        return "No reasonable number of launches would reach it: look for what makes them differ."
    ways = [] if context.thorough else ["--thorough"]
    if facts["stopped_by"] == "budget":
        ways.append("a larger --budget")
    how = f"use {' or '.join(ways)}" if ways else "repeat the run on a quieter machine"
    return f"About {plural(facts['launches_needed'], 'launch')} would reach it: {how}."


def _moved(facts: Facts, context: Context) -> str:
    names = listing(context.name(row["cell"]) for row in facts["rows"])
    return f"Counting the disturbed blocks too changes the speedup of {names}."


def _moved_to(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        found = [f"{row['all_blocks_value']:.3f}x, outside its interval"] if row["moves"] else []
        if row["all_blocks_verdict"] != row["verdict"]:
            found.append(f"{row['all_blocks_verdict']} instead of {row['verdict']}")
        return f"{context.name(row['cell'])} is {listing(found)}"

    return f"Over all blocks {'; '.join(map(of, facts['rows']))}."


def _ratios(facts: Facts, context: Context) -> str:
    return listing(
        f"{context.name(row['cell'])} {times(row['ratio'])} instead of {times(row['speedup'])}" for row in facts["rows"]
    )


def _fps(facts: Facts, context: Context) -> str:
    return f"By FPS the speedup differs: {_ratios(facts, context)}."


def _alone(facts: Facts, context: Context) -> str:
    return f"Each alone for {facts['seconds']:g} s, the speedup differs: {_ratios(facts, context)}."


COMPARISON_TEXTS: Mapping[WarningCode, WarningText] = {
    "unverified": WarningText(
        says="no reference could check the outputs",
        brief=_not_verified,
        detail=_refusals,
        remedy=lambda *_: (
            "Export the model from its TensorFlow source, which brings a reference, or install onnxruntime."
        ),
        example={"model": "net", "refusals": [{"reference": "ort", "message": "it has no kernel for MyOp"}]},
    ),
    "baseline-replaced": WarningText(
        says="the baseline gave no valid figures, and another row took its place",
        brief=_replaced,
        remedy=lambda *_: "See its row for the reason, or name another one with --baseline.",
        example={"asked": "tf", "used": "ort"},
    ),
    "too-few-launches": WarningText(
        says="the budget ended before there was an interval",
        brief=_preview,
        detail=lambda *_: "Ranges over launches are shown as a preview.",
        remedy=_needed,
        example={"launches": 3, "least_launches": 4, "needed_s": 176, "over_budget": False},
    ),
    "excluded-blocks-matter": WarningText(
        says="with the disturbed blocks something else would be found",
        brief=_moved,
        detail=_moved_to,
        remedy=lambda *_: "Repeat the run on a quiet machine before quoting it.",
        example={
            "rows": [
                {
                    "cell": "ort",
                    "moves": True,
                    "all_blocks_value": 1.082,
                    "verdict": "faster",
                    "all_blocks_verdict": "undecided",
                }
            ]
        },
    ),
    "regime-change": WarningText(
        says="the processors moved between near and far",
        brief=lambda *_: "The processors moved between near and far during the run.",
        detail=_regime,
        remedy=lambda *_: (
            "Quote the figures of the regime that you deploy in, or use one thread; another run may meet"
            " only one of them."
        ),
        example={
            "near": {"core_to_core_ns": 53.0, "blocks": 40, "rows": [{"cell": "ort", "speedup": 1.31}]},
            "far": {"core_to_core_ns": 330.0, "blocks": 24, "rows": [{"cell": "ort", "speedup": 1.12}]},
        },
    ),
    "two-modes": WarningText(
        says="launches have one of two speeds",
        brief=_two_speeds,
        detail=_slow,
        remedy=_shares,
        example={"rows": [{"cell": "ort", "slow_launches": 3, "launches": 6, "slower": 0.082}]},
    ),
    "slow-launches": WarningText(
        says="a few launches were slower than the rest",
        brief=_slow,
        remedy=_how_often,
        example={"rows": [{"cell": "ort", "slow_launches": 1, "launches": 6, "slower": 0.082}]},
    ),
    "not-steady": WarningText(
        says="a row gets faster or slower within its launches",
        brief=_unsteady,
        remedy=lambda *_: (
            "The figures include part of a warm-up, or clocks that change: --sustain shows a later speed."
        ),
        example={"rows": [{"cell": "tf-xla", "slower": -0.042}]},
    ),
    "launches-depend": WarningText(
        says="neighbouring launches resemble each other",
        brief=_neighbours,
        detail=lambda *_: (
            "Something changed slowly during the run: the interval is about that time, and may miss the"
            " ratio of another hour."
        ),
        remedy=lambda *_: (
            "Repeat the run at another time, and look for what changes: clock speed, temperature, other"
            " virtual machines."
        ),
        example={"cells": ["ort"]},
    ),
    "sustained-differs": WarningText(
        says="the rows compare differently when each runs alone",
        brief=_alone,
        remedy=lambda *_: (
            "A long run heats the machine and keeps caches to itself: quote the sustained FPS for a server."
        ),
        example={"rows": [{"cell": "ort", "ratio": 1.05, "speedup": 1.14}], "seconds": 3.0},
    ),
    "fps-differ": WarningText(
        says="FPS and speedup tell different stories",
        brief=_fps,
        detail=lambda *_: "FPS count slow calls in full.",
        remedy=lambda *_: "Compare p90 too: where slow calls belong to the backend, FPS are what a server gets.",
        example={"rows": [{"cell": "ort x4", "ratio": 3.07, "speedup": 5.14}]},
    ),
    "wide-interval": WarningText(
        says="the run ended before the target was reached",
        brief=_wide,
        detail=_dominated,
        remedy=_more_launches,
        example={
            "cell": "openvino",
            "is_lead": True,
            "half_width": 0.024,
            "target": 0.01,
            "launches_needed": 16,
            "launches_dominate": True,
            "stopped_by": "launches",
        },
    ),
}
