"""The texts of notes below a table, and of references."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.measure.lock import holder_text
from irbench.notices import Facts, Note, NoteCode, Reference
from irbench.notices.conversions import NOT_FINITE, distribution_text
from irbench.quantities import error_size, listing, plural, ratio
from irbench.render.context import Context
from irbench.render.device_texts import ENERGY_NOTES
from irbench.render.text_types import Text, said

_GRAPHS = {"tf-graph": "the TensorFlow graph"}
"""What readers call a kind of artifact."""


def note_text(note: Note, context: Context) -> str:
    """Return a note in words."""
    return said(NOTES[note.code].text, note.code, note.facts, context)


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
    both = ",".join((*facts.get("measured", ["fp32"]), "native"))
    return (
        f"not measured: {facts['backend']}'s default precision here, {facts['precision']} (compare them with"
        f" --precision {both})"
    )


def _not_profiled(facts: Facts, _: Context) -> str:
    backends = facts["backends"]
    return (
        f"not profiled: {listing(backends)}, which {'does' if len(backends) == 1 else 'do'} not report operator times"
    )


def _static(facts: Facts, _: Context) -> str:
    return f"{facts['chosen']} instead of {facts['asked']}: {facts['backend']} computes no dynamic int8 in integers"


def _generated(facts: Facts, _: Context) -> str:
    drawn = distribution_text(facts["drawn"], {name: tuple(ends) for name, ends in facts["ranges"].items()})
    names = listing(list(facts["ranges"]))
    worst = ""
    if facts["worst"] is not None:
        loss = NOT_FINITE if facts["worst_max_rel"] is None else error_size(facts["worst_max_rel"])
        worst = f", {loss} where they are {distribution_text(facts['worst'], {})}"
    return (
        f"{facts['model']}+{facts['variant']} was calibrated on generated values of {names} ({drawn}): max err"
        f" {error_size(facts['max_rel'])} on such inputs{worst}. Calibrate on real inputs: --data"
    )


def _lowered(facts: Facts, context: Context) -> str:
    return (
        f"{context.name(facts['cell'])} cannot read IR version {facts['ir_version']}, although the graph needs none"
        f" later than {facts['lowered_ir_version']}: it was given {facts['lowered_ir_version']}"
    )


def _tail(facts: Facts, context: Context) -> str:
    return f"p99 of {context.name(facts['cell'])} over launches: {facts['low_ms']:.3g} to {facts['high_ms']:.3g} ms"


def _slower(facts: Facts, context: Context) -> str:
    value, low, high = ratio(facts["value"], facts["low"], facts["high"])
    return (
        f"{context.name(facts['cell'])} is slower than the exported graph, {context.name(facts['exported'])}:"
        f" {value} [{low}, {high}]"
    )


def _untimed(facts: Facts, _: Context) -> str:
    return f"{facts['timed']} of {facts['samples']} samples were timed before the run ended"


def _not_optimized(facts: Facts, _: Context) -> str:
    kind = facts["artifact"]
    return f"{facts['backend']} runs {_GRAPHS.get(kind, kind)}: --optimize does not apply to it"


def _layout(facts: Facts, _: Context) -> str:
    graph = f"{facts['model']}+{facts['variant']}"
    return f"{graph}: the layout is unchanged, because no input feeds a Transpose to NCHW"


def _partly_unchecked(facts: Facts, _: Context) -> str:
    parts = plural(facts["parts"], "subgraph")
    return f"{facts['model']}+{facts['variant']}: {parts} not compared with the original (irbench optimize says which)"


def _refused_graph(facts: Facts, _: Context) -> str:
    if facts["refused"] == "dynamic":
        return f"{facts['backend']} runs with fixed shapes: it fails with dynamic ones ({facts['reason']})"
    return f"dynamic shapes kept: {facts['backend']} fails with fixed ones ({facts['reason']})"


def _unbound(facts: Facts, _: Context) -> str:
    return f"dynamic shapes kept: {facts['variant']} fails with fixed ones ({facts['reason']})"


def _meanwhile(facts: Facts, _: Context) -> str:
    who = holder_text(facts["process"], facts["since"], facts["what"])
    return f"{who} was measuring at the same time (--no-lock)"


def _neighbour(facts: Facts, _: Context) -> str:
    processors = facts["processors"]
    kept = f"{plural(len(processors), 'processor')} ({', '.join(map(str, processors))})"
    return f"a process of irbench kept {kept} busy while this was measured"


def _backend(facts: Facts, _: Context) -> str:
    why = "a reference backend" if facts["is_reference"] else "the first installed backend"
    return f"measured against itself: {facts['backend']}, {why} (choose another with --backend)"


def _model(facts: Facts, _: Context) -> str:
    if facts["model"] is None:
        return "on a matrix product, because no model has been exported yet"
    return f"on {facts['model']}, the model exported last (choose another with --aa MODEL)"


def _environment(facts: Facts, _: Context) -> str:
    origin = "the environment of irbench" if facts["python"] is None else facts["python"]
    sources = " and ".join(facts.get("indexes", ()))
    built = f"built by irbench from {sources}" if sources else "built by irbench"
    origin = built if facts["requirement"] else origin
    others = [f"{name} {version or 'missing'}" for name, version in facts["others"].items()]
    runtime, python = f"{facts['runtime']} {facts['version']}", f"Python {facts['python_version']}"
    return f"{facts['label']}: {', '.join((runtime, python, *others, origin))}"


NOTES: Mapping[NoteCode, Text] = {
    "native-precision": Text(
        "on this machine the backend's default precision is another than the measured one",
        _native,
        {"backend": "openvino", "precision": "bf16", "measured": ["fp32"]},
    ),
    "no-operator-times": Text(
        "`irbench profile` without `--backends` leaves out backends that do not report how long operators take",
        _not_profiled,
        {"backends": ["mine"]},
    ),
    "int8-static-chosen": Text(
        "`--optimize int8` leaves the method of quantisation open, and this backend leaves only one",
        _static,
        {"backend": "openvino", "asked": "basic-int8", "chosen": "basic-int8-static"},
    ),
    "calibrated-on-generated": Text(
        "static int8 clips what lies outside the ranges of its calibration, which saw no real input"
        " ([what it costs](optimizing.md#what-it-costs))",
        _generated,
        {
            "model": "net",
            "variant": "basic-int8-static",
            "ranges": {"image": [0.0, 1.0]},
            "drawn": "declared",
            "max_rel": 0.02,
            "worst": "normal",
            "worst_max_rel": 0.54,
        },
    ),
    "ir-version-lowered": Text(
        "the file names a newer IR version than the runtime reads, and uses nothing that is new in it",
        _lowered,
        {"cell": "ort", "ir_version": 14, "lowered_ir_version": 13},
    ),
    "tail-range": Text(
        "the lowest and the highest p99 of a launch",
        _tail,
        {"cell": "A", "low_ms": 40.1, "high_ms": 44.9},
    ),
    "accuracy-of-random-inputs": Text(
        "`--min-accuracy` or `--metric` without `--data`",
        lambda facts, _: (
            f"accuracy was measured on {plural(facts['samples'], 'random input')}, which says little about real"
            " ones: use --data"
        ),
        {"samples": 32},
    ),
    "samples-not-timed": Text(
        "the calls that fit into the time are fewer than the samples that take turns",
        _untimed,
        {"timed": 84, "samples": 1000},
    ),
    "slower-than-exported": Text(
        "optimising made the graph slower on this backend; beside the baseline, the speedup of the row says so",
        _slower,
        {"cell": "openvino+all", "exported": "openvino", "value": 0.94, "low": 0.92, "high": 0.97},
    ),
    "optimize-not-applied": Text(
        "the backend does not read ONNX, so it has one row for all levels",
        _not_optimized,
        {"backend": "tf", "artifact": "tf-graph"},
    ),
    "layout-unchanged": Text(
        "a change of the layout to NCHW was requested, and the graph has nothing to change",
        _layout,
        {"model": "resnet50", "variant": "basic-nchw"},
    ),
    "graph-partly-unchecked": Text(
        "no input of the [check](optimizing.md#how-a-pass-is-checked) leads into a branch or loop that passes may have"
        " rewritten",
        _partly_unchecked,
        {"model": "decoder", "variant": "basic", "parts": 2},
    ),
    "graph-refused": Text(
        "a runtime refuses the graph with fixed shapes, so all rows that can run it with dynamic ones"
        " ([shapes.md](shapes.md#graphs-that-cannot-be-bound))",
        _refused_graph,
        {"backend": "ort", "refused": "bound", "reason": "ShapeInferenceError"},
    ),
    "graph-unbound": Text(
        "a graph cannot be optimised with fixed shapes, so it and all rows that can run dynamic ones"
        " ([shapes.md](shapes.md#graphs-that-cannot-be-bound))",
        _unbound,
        {"variant": "basic", "reason": "ShapeInferenceError"},
    ),
    "python-environment": Text(
        "`irbench ab` measured another Python's runtime; what else differs between the environments is named, too",
        _environment,
        {
            "label": "1.22.0",
            "runtime": "onnxruntime",
            "version": "1.22.0",
            "python_version": "3.12.4",
            "python": "/cache/irbench/environments/onnxruntime-1.22.0/bin/python",
            "requirement": "onnxruntime==1.22.0",
            "indexes": ["https://pypi.org/simple"],
            "others": {"numpy": "2.2.0"},
        },
    ),
    "another-irbench": Text(
        "two runs at the same time disturb each other",
        _meanwhile,
        {"process": None, "since": None, "what": None},
    ),
    "busy-neighbour": Text(
        "the table shows how rows do beside a busy program: [the flip map](tuning.md#the-flip-map) of `irbench tune`",
        _neighbour,
        {"processors": [1]},
    ),
    "chosen-backend": Text(
        "`irbench doctor --aa` without `--backend`",
        _backend,
        {"backend": "ort", "is_reference": True},
    ),
    "chosen-model": Text("`irbench doctor --aa` without a model", _model, {"model": "resnet50"}),
    **ENERGY_NOTES,
    "stored-words": Text("a note of a run that an older irbench stored", _stored, {"text": "..."}),
}
