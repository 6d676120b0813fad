"""Counters of a profile as a table of classes by backend, and what is said below it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import profile_counters
import pytest
from golden_files import check_golden

import irbench as public
from irbench.core.graph_record import Uncuttable
from irbench.core.record import Failure
from irbench.features.profile.derivation import derive_report
from irbench.features.profile.profile_document import ProfileDocument
from irbench.features.profile.view import ProfileView
from irbench.perf_events.obstacles import Said, ToplevFailed
from irbench.perf_events.perf_output import EventCount


def view(document: ProfileDocument) -> ProfileView:
    return ProfileView(document, derive_report(document), "class", 20)


def text(document: ProfileDocument, width: int) -> str:
    return "\n".join(line.plain.rstrip() for line in view(document).as_lines(width)) + "\n"


def in_one_line(document: ProfileDocument) -> str:
    return " ".join(text(document, 100).split())


@pytest.mark.parametrize("width", [140, 80])
def test_counters_look_as_they_were_looked_at(width: int) -> None:
    check_golden(f"profile-counters-{width}", text(profile_counters.example(), width))


def test_markdown_has_the_table_too() -> None:
    assert "| cycles | matrix, conv | 35.0 M [34.3 M, 35.7 M]" in view(profile_counters.example()).as_markdown()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, text(profile_counters.example(), width).splitlines())) <= width


def test_few_launches_are_a_range() -> None:
    document = profile_counters.example()
    assert document.counters is not None
    parts = tuple(replace(part, launches=part.launches[:3]) for part in document.counters.parts)
    shown = in_one_line(replace(document, counters=replace(document.counters, parts=parts)))
    assert "ort [range]" in shown
    assert "medians over 3 launches of their own" in shown


def test_what_could_not_be_counted_has_its_reason_once_for_all_models_of_a_backend() -> None:
    document = profile_counters.example()
    assert document.counters is not None
    failed = tuple(replace(part, launches=(), failure=profile_counters.LOST) for part in document.counters.parts)
    nothing = replace(document, counters=replace(document.counters, parts=failed))
    shown = in_one_line(nothing)
    assert "ort, not counted: whole model and 5 other models: It has no kernel for this." in shown
    assert "Counters of each class" not in shown
    assert public.Profile(nothing).exit_code == 3
    assert public.Profile(document).exit_code == 0


def test_figures_that_were_never_on_a_counter_are_named() -> None:
    lacking = profile_counters.launch(0)
    phase = lacking.phases["inference"]
    events = {**phase.events, "cycles": EventCount(None), "task-clock": EventCount(None)}
    lacking = replace(lacking, phases={"inference": replace(phase, events=events)})
    model = profile_counters.part("model", kind="model", launches=[lacking])
    shown = in_one_line(replace(profile_counters.example(), counters=profile_counters.counters(model)))
    assert "counters: task-clock ms and cycles: where the table has -, it was never on a counter." in shown
    assert "never on a counter" not in in_one_line(profile_counters.example())


def test_launches_without_nodes_of_toplev_are_told_for_each_backend() -> None:
    document = profile_counters.example()
    assert document.counters is not None
    first, *others = document.counters.parts
    silent = replace(first.launches[2], nodes_missing=ToplevFailed(Said("ImportError")))
    parts = (replace(first, launches=(*first.launches[:2], silent)), *others)
    shown = in_one_line(replace(document, counters=replace(document.counters, parts=parts, level=3)))
    assert "ort: topdown-l3: in 1 of 27 launches toplev failed: ImportError." in shown
    assert "openvino: topdown" not in shown


def test_graphs_that_nothing_could_be_cut_out_of_are_told_for_each_backend_with_the_remedy() -> None:
    document = profile_counters.example()
    assert document.counters is not None
    failures = {
        "ort-cpu": Failure("plan", "The values inside the graph cannot be computed", "Install a reference."),
        "openvino-cpu": Failure("plan", "The graph cannot be read."),
    }
    uncut = replace(document, counters=replace(document.counters, failures=failures))
    shown = in_one_line(uncut)
    told = "operators could not be cut out of the graph:"
    assert f"ort: {told} The values inside the graph cannot be computed. Install a reference." in shown
    assert f"openvino: {told} The graph cannot be read." in shown
    assert public.Profile(uncut).exit_code == 3


def test_operators_that_cannot_be_cut_out_are_named_with_the_reason() -> None:
    document = profile_counters.example()
    assert document.counters is not None
    whole, *_ = document.counters.parts
    uncut = replace(profile_counters.part("conv", 1), uncuttable=Uncuttable("no-tensor", "v"))
    found = replace(document, counters=replace(document.counters, parts=(whole, uncut)))
    told = "ort, not counted: node1: cannot be cut out of the graph: 'v' at its edge is not a tensor."
    assert told in in_one_line(found)
    assert public.Profile(found).exit_code == 0


def test_a_class_that_takes_time_and_was_not_counted_has_a_line() -> None:
    shown = text(profile_counters.example(), 140)
    (_, times) = shown.split("time counted")
    lines = {line[:38].strip(): line[38:].split() for line in times.split("cache  ")[0].splitlines()}
    assert lines["data movement"] == ["0", "%", "-", "-"]
    assert lines["normalisation"] == ["0", "%", "0", "%", "-"]


def test_which_backends_are_counted_whole_is_not_read_from_the_names_of_their_graphs() -> None:
    document = profile_counters.example()
    renamed = tuple(replace(cell, artifact="onnx" if cell.label == "tf" else "other") for cell in document.cells)
    shown = in_one_line(replace(document, cells=renamed))
    assert " tf: no classes are counted, only the whole model" in shown
    assert document.counters is not None
    assert "no classes are" not in in_one_line(
        replace(document, cells=renamed, counters=replace(document.counters, whole_only=()))
    )


def test_rows_of_classes_have_their_counters_also_as_json_in_csv() -> None:
    found = public.Profile(profile_counters.example())
    (matrix,) = (row for row in found.rows() if row.label == "ort" and row.operator_class == "matrix")
    assert matrix.counted_share == pytest.approx(1)
    assert {figure.name for figure in matrix.counters} >= {"cycles", "ipc", "retiring"}
    lines = list(csv.DictReader(io.StringIO(found.to_text("csv"))))
    (line,) = (line for line in lines if line["label"] == "ort" and line["operator_class"] == "matrix")
    assert [figure["name"] for figure in json.loads(line["counters"])] == [figure.name for figure in matrix.counters]
    assert {line["counters"] for line in csv.DictReader(io.StringIO(found.to_text("csv", by="node")))} == {""}
