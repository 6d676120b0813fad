"""The words of notes below a table, of marks of its rows, and of what outputs were compared with."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.measure.lock import holder_text
from irbench.notices import Facts, Mark, MarkCode, Note, NoteCode, Reference
from irbench.render.context import Context
from irbench.render.disagreement import disagreement_text
from irbench.render.text_types import Text, said

__all__ = ["MARKS", "NOTES", "mark_text", "note_text", "reference_text"]

_GRAPHS = {"tf-graph": "the TensorFlow graph"}
"""What readers call a kind of artifact."""


def note_text(note: Note, context: Context) -> str:
    """Return a note in words."""
    return said(NOTES[note.code].text, note.code, note.facts, context)


def mark_text(mark: Mark, context: Context | None = None) -> str:
    """Return a mark in words."""
    return said(MARKS[mark.code].text, mark.code, mark.facts, context or Context())


def reference_text(reference: Reference) -> str:
    """Return where expected outputs came from: ``TensorFlow at export``, ``ort with optimisations off``."""
    if reference.source == "export":
        return f"{reference.name} at export"
    if reference.source == "backend":
        return reference.label or f"the reference {reference.name}"
    return reference.name


def _stored(facts: Facts, _: Context) -> str:
    return str(facts["text"])


def _native(facts: Facts, _: Context) -> str:
    return f"not measured: {facts['backend']}'s own default here, {facts['precision']} (--precision native)"


def _tail(facts: Facts, context: Context) -> str:
    return f"p99 of {context.name(facts['cell'])} over launches: {facts['low_ms']:.3g} to {facts['high_ms']:.3g} ms"


def _not_optimized(facts: Facts, _: Context) -> str:
    kind = facts["artifact"]
    return f"{facts['backend']} runs {_GRAPHS.get(kind, kind)}: --optimize does not apply to it"


def _layout(facts: Facts, _: Context) -> str:
    graph = f"{facts['model']}+{facts['variant']}"
    return f"{graph}: no input leads into a Transpose to NCHW, so the layout stays as it is"


def _meanwhile(facts: Facts, _: Context) -> str:
    who = holder_text(facts["process"], facts["since"], facts["what"])
    return f"{who} was measuring at the same time, as --no-lock allows"


def _backend(facts: Facts, _: Context) -> str:
    why = "a runtime that other answers are compared with" if facts["is_reference"] else "the first that is installed"
    return f"measured against itself: {facts['backend']}, {why} (--backend names another)"


def _model(facts: Facts, _: Context) -> str:
    if facts["model"] is None:
        return "on a product of matrices: no model was exported yet"
    return f"on {facts['model']}, the model exported last (--aa MODEL names another)"


def _over_launches(facts: Facts, _: Context) -> str:
    values = ", ".join("unknown" if value is None else str(value) for value in facts["values"])
    return f"{facts['property']} {values} over launches"


def _answers(facts: Facts, _: Context) -> str:
    excluded = "" if facts["is_candidate"] else "not called the fastest: "
    return f"{excluded}no longer answers like the model ({disagreement_text(facts)})"


def _precisions(facts: Facts) -> str:
    return f"{facts['precision']} against {facts['baseline_precision']} of the baseline"


NOTES: Mapping[NoteCode, Text] = {
    "native-precision": Text(
        "without a pinned precision this backend would compute in another one on this machine",
        _native,
        {"backend": "openvino", "precision": "bf16"},
    ),
    "tail-range": Text(
        "the smallest and the largest p99 of a launch",
        _tail,
        {"cell": "A", "low_ms": 40.1, "high_ms": 44.9},
    ),
    "optimize-not-applied": Text(
        "this backend reads no ONNX, so its row is the same at every level",
        _not_optimized,
        {"backend": "tf", "artifact": "tf-graph"},
    ),
    "layout-unchanged": Text(
        "the graph was to take its images as NCHW, and takes them as it did",
        _layout,
        {"model": "resnet50", "variant": "basic-nchw"},
    ),
    "another-irbench": Text(
        "with `--no-lock`: the figures of both are disturbed",
        _meanwhile,
        {"process": None, "since": None, "what": None},
    ),
    "chosen-backend": Text(
        "`irbench doctor --aa` without `--backend`",
        _backend,
        {"backend": "ort", "is_reference": True},
    ),
    "chosen-model": Text("`irbench doctor --aa` without a model", _model, {"model": "resnet50"}),
    "stored-words": Text("a note of a run that an older irbench stored", _stored, {"text": "..."}),
}

MARKS: Mapping[MarkCode, Text] = {
    "oversubscribed": Text(
        "more inferences in flight than threads",
        lambda facts, _: f"oversubscribed: {facts['streams']} streams on {facts['threads']} threads",
        {"streams": 4, "threads": 2},
    ),
    "other-precision": Text(
        "`--allow-mixed`: another precision than the baseline's",
        lambda facts, _: _precisions(facts),
        {"precision": "bf16", "baseline_precision": "fp32"},
    ),
    "not-ranked": Text(
        "another precision than the baseline's; not compared",
        lambda facts, _: f"not ranked: {_precisions(facts)} (--allow-mixed compares them)",
        {"precision": "bf16", "baseline_precision": "fp32"},
    ),
    "answers-differ": Text(
        "the graph was converted, and some answers are other ones than the model's",
        _answers,
        {"measure": "top1-agreement", "value": 0.63, "limit": 0.9, "words": "", "is_candidate": False},
    ),
    "vendor-operators": Text(
        "the graph holds operators that ONNX does not define",
        lambda facts, _: f"operators of {', '.join(facts['domains'])}",
        {"domains": ["com.microsoft"]},
    ),
    "changes-over-launches": Text(
        "a property that the runtime read back was not the same in all launches",
        _over_launches,
        {"property": "threads", "values": [2, 1]},
    ),
    "stored-words": Text("a mark of a run that an older irbench stored", _stored, {"text": "..."}),
}
