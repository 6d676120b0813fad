"""The texts of marks, which stand beside rows."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.notices import Facts, Mark, MarkCode
from irbench.quantities import plural
from irbench.render.context import Context
from irbench.render.device_texts import DEVICE_MARKS
from irbench.render.disagreement import disagreement_text
from irbench.render.text_types import Text, said

_USUAL_SHARE = 0.1
"""Of the time of its rounds, what a command's own calls take at least: settle calls and requests are the rest."""


def mark_text(mark: Mark, context: Context | None = None) -> str:
    """Return a mark in words."""
    return said(MARKS[mark.code].text, mark.code, mark.facts, context or Context())


def _over_launches(facts: Facts, _: Context) -> str:
    values = ", ".join("unknown" if value is None else str(value) for value in facts["values"])
    return f"{facts['property']} changed between launches: {values}"


def _answers(facts: Facts, _: Context) -> str:
    excluded = "" if facts["is_candidate"] else "cannot be the fastest: "
    return f"{excluded}outputs differ too much from the model's ({disagreement_text(facts)}, when it was converted)"


def _oversubscribed(facts: Facts) -> str:
    text = f"oversubscribed: {facts['streams']} streams on {facts['threads']} threads"
    requested = facts.get("requested_threads")  # runs of an older irbench do not hold it
    return text if requested in (None, facts["threads"]) else f"{text}, {requested} requested"


def _late(facts: Facts) -> str:
    if facts["late"] > facts["calls"] / 2:
        return f"cannot keep the pace of {facts['pace_ms']:g} ms"
    return f"{facts['late']:,} of {plural(facts['calls'], 'call')} at the pace of {facts['pace_ms']:g} ms were late"


def _self_timed(facts: Facts, _: Context) -> str:
    share = facts["share"]
    text = "timed by the command itself, not by irbench"
    if share is None or share >= _USUAL_SHARE:
        return text
    return (
        f"{text}; its calls fill only {share * 100:.2g} % of its time: it restarts often, or reports them in the wrong"
        " unit"
    )


def _other_peaks(facts: Facts) -> str:
    measured = f"with version {facts['measured_with']}" if facts["measured_with"] else "without this backend"
    return f"of roof: runs version {facts['version']}, and the peaks of this machine were measured {measured}"


def _precisions(facts: Facts) -> str:
    return f"computes in {facts['precision']}, the baseline in {facts['baseline_precision']}"


MARKS: Mapping[MarkCode, Text] = {
    "oversubscribed": Text(
        "more concurrent inferences than threads",
        lambda facts, _: _oversubscribed(facts),
        {"streams": 4, "threads": 2, "requested_threads": 2},
    ),
    "starved-streams": Text(
        "some requests in flight wait so long that latencies leave them out",
        lambda facts, _: (
            "p50 and p90 are lower bounds:"
            f" they account for {facts['found']:.1f} of {facts['asked']} requests in flight"
        ),
        {"asked": 4, "found": 2.0},
    ),
    "other-precision": Text(
        "the precision differs from the baseline's, as you named it: by a file, `--optimize`, `--precision` or"
        " `--allow-mixed`",
        lambda facts, _: _precisions(facts),
        {"precision": "bf16", "baseline_precision": "fp32"},
    ),
    "other-than-graph": Text(
        "the runtime does not compute in the precision that the graph holds",
        lambda facts, _: f"computes this {facts['graph']} graph in {facts['precision']}",
        {"graph": "fp16", "precision": "fp32"},
    ),
    "not-ranked": Text(
        "a runtime chose the precision by itself, and it differs from the baseline's, so the row is not compared",
        lambda facts, _: f"not ranked: {_precisions(facts)} (--allow-mixed compares them)",
        {"precision": "bf16", "baseline_precision": "fp32"},
    ),
    "above-max-latency": Text(
        "the p90 latency is above `--max-latency`, so the row is not a candidate for the best",
        lambda facts, _: f"not a candidate: p90 of {facts['p90_ms']:.3g} ms is above --max-latency",
        {"p90_ms": 61.2},
    ),
    "no-outputs": Text(
        "a function or a command of your own returned no outputs, so there is nothing to verify (`--cell`)",
        lambda _, __: "not verified: it returns no outputs",
    ),
    "self-timed": Text(
        "a command of your own, which measures its calls itself (`--cell`)",
        _self_timed,
        {"share": 0.02},
    ),
    "answers-differ": Text(
        "the graph was converted, and its outputs are too different from the model's",
        _answers,
        {"measure": "top1-agreement", "value": 0.63, "limit": 0.9, "words": "", "is_candidate": False},
    ),
    "beyond-tolerance": Text(
        "outputs differ from the reference by more than the tolerance, and keep `--min-accuracy` or `--metric`",
        lambda facts, _: (
            f"outputs are off by more than the tolerance of {facts['precision']}"
            f" (max err {facts['max_rel']:.2g}), but within the accuracy limit that was given"
        ),
        {"max_rel": 0.18, "precision": "bf16"},
    ),
    "vendor-operators": Text(
        "the graph contains operators that are not part of ONNX",
        lambda facts, _: f"uses operators that only some runtimes support ({', '.join(facts['domains'])})",
        {"domains": ["com.microsoft"]},
    ),
    "other-peaks": Text(
        "the peaks of the machine were measured with another version of the runtime, or without it",
        lambda facts, _: _other_peaks(facts),
        {"version": "1.24.1", "measured_with": "1.23.0"},
    ),
    "changes-over-launches": Text(
        "a setting that the runtime reported was not the same in all launches",
        _over_launches,
        {"property": "threads", "values": [2, 1]},
    ),
    "late-calls": Text(
        "more than one call in a hundred was due while the call before was still running (`--pace`)",
        lambda facts, _: _late(facts),
        {"late": 37, "calls": 400, "pace_ms": 10.0},
    ),
    **DEVICE_MARKS,
    "stored-words": Text(
        "a mark of a run that an older irbench stored", lambda facts, _: str(facts["text"]), {"text": "..."}
    ),
}
