"""The texts of warnings about the comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping

from irbench.notices import Facts, WarningCode
from irbench.quantities import listing, percent, percents_apart, plural, times
from irbench.render.context import Context
from irbench.render.text_types import WarningText

_TIMES_LONGER = 3
"""What a warm-up that ended too early is suggested to be multiplied by."""
_CACHES = {"near": "shared cache", "far": "no shared cache"}


def _not_verified(facts: Facts, _: Context) -> str:
    return f"Outputs of {facts['model']} were not verified."


def _refusals(facts: Facts, _: Context) -> str:
    if facts.get("draws"):
        return f"It draws random numbers ({facts['draws']}), and each runtime draws others."
    said = "; ".join(f"{refusal['reference']}: {refusal['message']}" for refusal in facts["refusals"])
    return f"No reference could run it ({said})." if said else "No reference is installed."


def _reference_remedy(facts: Facts, _: Context) -> str:
    if facts.get("draws"):
        return "Export a model that draws only in training, if its outputs are to be verified."
    if facts["refusals"]:
        return "If the model needs other sizes or inputs, give them with --shape, --data or --value."
    return "Export the model from its TensorFlow source, which stores reference outputs, or install onnxruntime."


_DEGENERATE = {
    "zero": "is all zeros",
    "constant": "has only one value",
    "tiny": "is at most {largest:.1g}",
    "not-finite": "contains no finite number",
}


def _degenerate(facts: Facts, _: Context) -> str:
    found = facts["outputs"]
    first = f"{found[0]['output']} {_DEGENERATE[found[0]['values']].format(**found[0])}"
    more = f", and {len(found) - 1} of the other {facts['of'] - 1} are no better" if len(found) > 1 else ""
    return f"Comparing the outputs of {facts['model']} says little: {first}{more}."


def _replaced(facts: Facts, context: Context) -> str:
    asked, used = context.name(facts["asked"]), context.name(facts["used"])
    return f"The baseline {asked} has no valid figures; speedups are relative to {used}."


def _preview(facts: Facts, _: Context) -> str:
    if facts.get("over_budget"):
        return f"Even one launch took longer than the budget; {facts['least_launches']} are needed."
    return f"Only {facts['launches']} of the {plural(facts['least_launches'], 'required launch')} fit into the budget."


def _needed(facts: Facts, _: Context) -> str:
    return f"This table needs about --budget {facts['needed_s']}s."


def _slow(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        verb = "was" if row["slow_launches"] == 1 else "were"
        share = f"{row['slow_launches']} of {plural(row['launches'], 'launch')} of {context.name(row['cell'])}"
        return f"{share} {verb} {percent(row['slower'])} slower"

    return f"{listing(map(of, facts['rows']))} than the others."


def _two_speeds(facts: Facts, context: Context) -> str:
    return f"Launches of {listing(context.name(row['cell']) for row in facts['rows'])} run at one of two speeds."


def _shares(_: Facts, context: Context) -> str:
    more = "" if context.thorough else " More launches (--thorough) show how often each occurs."
    return f"Each process start gets one of them: quote both.{more}"


def _how_often(_: Facts, context: Context) -> str:
    often = "" if context.thorough else "; --thorough shows how often this happens"
    return f"The median is not affected{often}."


def _regime(facts: Facts, context: Context) -> str:
    def side(name: str) -> str:
        own = facts[name]
        found = listing(f"{context.name(row['cell'])} {times(row['speedup'])}" for row in own["rows"] or ())
        where = f"{_CACHES[name]} ({own['core_to_core_ns']:.0f} ns, {plural(own['blocks'], 'block')})"
        return f"{where} {found}" if found else where

    return f"The intervals cover both states: {side('near')}; {side('far')}."


def _neighbours(facts: Facts, context: Context) -> str:
    return f"Consecutive launches of {listing(map(context.name, facts['cells']))} are correlated."


def _unsteady(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        way = "slower" if row["slower"] > 0 else "faster"
        return f"{context.name(row['cell'])} {percent(abs(row['slower']))} {way}"

    return f"Speed changes within launches, from earlier to later blocks: {listing(map(of, facts['rows']))}."


def _still_warming(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        return f"{context.name(row['cell'])} after {row['calls']:,} calls"

    return f"Calls still got faster when the warm-up ended: {listing(map(of, facts['rows']))}."


def _longer_warm_up(facts: Facts, _: Context) -> str:
    return f"Warm up for longer: --warmup {_TIMES_LONGER * max(row['calls'] for row in facts['rows'])}."


def _wide(facts: Facts, context: Context) -> str:
    of = "lead" if facts["is_lead"] else "time"
    known, target = percents_apart(facts["half_width"], facts["target"])
    return f"The {of} of {context.name(facts['cell'])} is known to ±{known}; the target is ±{target}."


def _dominated(facts: Facts, _: Context) -> str:
    if not facts["launches_dominate"]:
        return ""
    return "Launches differ far more than the blocks of one launch, so longer launches will not help."


def _more_launches(facts: Facts, context: Context) -> str:
    if facts["launches_needed"] is None:
        return "No reasonable number of launches would reach it: find out why launches differ."
    ways = [] if context.thorough else ["--thorough"]
    if facts["stopped_by"] == "budget":
        ways.append("a larger --budget")
    how = f"use {' or '.join(ways)}" if ways else "repeat the run on a quieter machine"
    return f"About {plural(facts['launches_needed'], 'launch')} would reach it: {how}."


def _moved(facts: Facts, context: Context) -> str:
    names = listing(context.name(row["cell"]) for row in facts["rows"])
    return f"Including the disturbed blocks would change the speedup of {names}."


def _moved_to(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        found = [f"{row['all_blocks_value']:.3f}x, outside its interval"] if row["moves"] else []
        if row["all_blocks_verdict"] != row["verdict"]:
            found.append(f"{row['all_blocks_verdict']} instead of {row['verdict']}")
        return f"{context.name(row['cell'])} is {listing(found)}"

    return f"Over all blocks, {'; '.join(map(of, facts['rows']))}."


COMPARISON_TEXTS: Mapping[WarningCode, WarningText] = {
    "degenerate-outputs": WarningText(
        says="the expected outputs are all zero, constant or tiny, so that many wrong answers would pass",
        brief=_degenerate,
        detail=lambda *_: "These inputs do not show what the model computes, so wrong answers may pass.",
        remedy=lambda *_: "Verify it with real inputs: irbench verify MODEL --data FOLDER.",
        example={
            "model": "detector",
            "of": 1,
            "outputs": [{"output": "boxes", "values": "tiny", "largest": 8e-6}],
        },
    ),
    "unverified": WarningText(
        says="no reference could check the outputs",
        brief=_not_verified,
        detail=_refusals,
        remedy=_reference_remedy,
        example={"model": "net", "refusals": [{"reference": "ort", "message": "it has no kernel for MyOp"}]},
    ),
    "baseline-replaced": WarningText(
        says="the baseline has no valid figures, so another row is the baseline",
        brief=_replaced,
        remedy=lambda *_: "See its row for the reason, or choose another one with --baseline.",
        example={"asked": "tf", "used": "ort"},
    ),
    "tail-omitted": WarningText(
        says="the budget has no room for the calls that p99 is taken from",
        brief=lambda facts, _: (
            f"p99 was omitted: {facts['calls']:,} calls of each row take {facts['seconds']:.0f} s per launch."
        ),
        detail=lambda facts, _: f"The budget has no room for that in {plural(facts['launches'], 'launch')}.",
        remedy=lambda facts, _: f"Use a --budget of at least {math.ceil(facts['needed_s'])}s per table.",
        example={"calls": 1000, "seconds": 31.0, "launches": 4, "needed_s": 188.2},
    ),
    "too-few-launches": WarningText(
        says="the budget was used up before there were enough launches for an interval",
        brief=_preview,
        detail=lambda facts, _: (
            f"The table is a preview{' and shows ranges over launches' if facts['launches'] > 1 else ''}."
        ),
        remedy=_needed,
        example={"launches": 3, "least_launches": 4, "needed_s": 176, "over_budget": False},
    ),
    "excluded-blocks-matter": WarningText(
        says="including the disturbed blocks would change the result",
        brief=_moved,
        detail=_moved_to,
        remedy=lambda *_: "Repeat the run on a quiet machine before you quote it.",
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
        says="the vCPUs stopped sharing a cache for part of the run",
        brief=lambda *_: "The vCPUs stopped sharing a cache for part of the run.",
        detail=_regime,
        remedy=lambda *_: (
            "Quote the figures of the state that you deploy in, or use one thread; another run may see only"
            " one of them."
        ),
        example={
            "near": {"core_to_core_ns": 53.0, "blocks": 40, "rows": [{"cell": "ort", "speedup": 1.31}]},
            "far": {"core_to_core_ns": 330.0, "blocks": 24, "rows": [{"cell": "ort", "speedup": 1.12}]},
        },
    ),
    "two-modes": WarningText(
        says="launches run at one of two speeds",
        brief=_two_speeds,
        detail=_slow,
        remedy=_shares,
        example={"rows": [{"cell": "ort", "slow_launches": 3, "launches": 6, "slower": 0.082}]},
    ),
    "slow-launches": WarningText(
        says="a few launches were slower than the others",
        brief=_slow,
        remedy=_how_often,
        example={"rows": [{"cell": "ort", "slow_launches": 1, "launches": 6, "slower": 0.082}]},
    ),
    "still-warming-up": WarningText(
        says="calls of a row still got faster when its warm-up ended",
        brief=_still_warming,
        detail=lambda *_: "Its figures are those of a process that is not warm, so it may be faster than they say.",
        remedy=_longer_warm_up,
        example={"rows": [{"cell": "tf-xla", "calls": 300, "launches": 4, "of": 4}]},
    ),
    "not-steady": WarningText(
        says="a row gets faster or slower within its launches",
        brief=_unsteady,
        remedy=lambda *_: (
            "The figures include part of the warm-up, or the clock frequency changed: --sustain shows a later speed."
        ),
        example={"rows": [{"cell": "tf-xla", "slower": -0.042}]},
    ),
    "launches-depend": WarningText(
        says="consecutive launches are correlated",
        brief=_neighbours,
        detail=lambda *_: (
            "Something changed slowly during the run: the interval describes that time, and may not hold at another."
        ),
        remedy=lambda *_: (
            "Repeat the run at another time, and look for what changes: clock frequency, temperature, other"
            " virtual machines."
        ),
        example={"cells": ["ort"]},
    ),
    "wide-interval": WarningText(
        says="the run ended before the interval was as narrow as its target",
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
