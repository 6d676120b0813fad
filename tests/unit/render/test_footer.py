"""A warning is a short sentence below a table, in the order of what it costs, and whole where somebody asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from documents import BUSY, cell, disturbed, document, failed, group, speedup
from rich.cells import cell_len
from stored_plans import stored_plan

from irbench.core.plain_text import unmarked
from irbench.core.record import Failure
from irbench.core.result import GroupResult, Lead, RunDocument
from irbench.notices import Context, Mark, Note, Reference, Warn
from irbench.notices.doubts import (
    PacedDiffers,
    RatioRow,
    SlowLaunches,
    ThreadsDiffer,
    ThreadsRow,
    TwoModes,
    WaitsOnItself,
    WideInterval,
)
from irbench.notices.marks import ChangesOverLaunches, LateCalls, Oversubscribed
from irbench.notices.notes import AnotherIrbench
from irbench.notices.warnings import FewCleanBlocks, ManyDirtyBlocks, StolenTime, by_cost
from irbench.render.speed_table import context_of
from irbench.runs.document_text import render_document
from irbench.runs.run_view import DocumentView

WIDTHS = (60, 80, 120, 200)
EVERYTHING = tuple(warning.example() for warning in Warn.known)
WIDE = msgspec.structs.asdict(WideInterval.example().facts)


def below(run: RunDocument, width: int = 100, *, whole: bool = False) -> list[str]:
    lines = [line.plain for line in DocumentView(run, warnings=whole).as_lines(width)]
    return [line for line in lines if line.startswith("warning: ")]


def test_a_warning_says_what_is_wrong_in_a_short_sentence_and_has_a_remedy(subtests: pytest.Subtests):
    for warning in EVERYTHING:
        with subtests.test(warning=warning):
            brief = warning.brief(Context())
            assert brief.endswith(".")
            assert len(brief) < 100
            assert warning.remedy(Context()).endswith(".")
            assert "{" not in warning.whole(Context())


@pytest.mark.parametrize("width", WIDTHS)
def test_each_warning_says_what_is_wrong_with_no_word_cut_at_every_width(width: int):
    for warning in EVERYTHING:
        run = document(disturbed(cell("ort"), warnings=(warning,)))
        lines = [line.plain for line in DocumentView(run).as_lines(width)]
        assert max(cell_len(line) for line in lines if "irbench show" not in line) <= width
        text = " ".join(" ".join(lines).split())
        assert f"warning: {' '.join(warning.brief(Context()).split())}" in text
        assert f"[{warning.code}]" in text


def test_what_costs_the_answer_most_comes_first():
    assert by_cost(reversed(EVERYTHING)) == list(EVERYTHING)
    table = disturbed(cell("ort"), warnings=tuple(each for each in EVERYTHING if type(each) is not FewCleanBlocks))
    codes = [line.rpartition("[")[2].rstrip("]") for line in below(document(table))]
    assert codes.index("unverified") < codes.index("many-dirty-blocks") < codes.index("wide-interval")


LEAD = Lead("ort/fp32", "tf/fp32", 1.2, low=1.1, high=1.3, launches=6, condition="busy")
FEW = FewCleanBlocks(launches_short=6, least_blocks=4, blocks_disturbed=31, blocks=48, foreign_share=0.3, processors=2)
STOLEN = StolenTime(share=0.07)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"lead": LEAD, "condition": "busy"}, "31 of 48 blocks were disturbed, so a quiet machine may differ"),
        ({"lead": replace(LEAD, condition=None, reason="busy")}, "the machine was too busy, 31 of 48 blocks"),
        ({}, "warning: 6 launches had fewer than 4 undisturbed blocks"),
        ({"warnings": (ManyDirtyBlocks(blocks_disturbed=31, blocks=48), STOLEN)}, "warning: Other activity disturbed"),
        ({"warnings": (STOLEN,)}, "warning: The hypervisor took away"),
        ({"warnings": (BUSY, STOLEN), "blocks_excluded": 31}, "31 of 48 excluded"),
        ({"warnings": ()}, "31 of 48 disturbed, all included"),
    ],
    ids=["as loaded", "too busy", "few clean", "many dirty", "stolen", "excluded", "no warning"],
)
def test_a_disturbance_is_told_once(changes: dict[str, Any], told: str) -> None:
    table = disturbed(cell("ort"), cell("tf"), **{"warnings": (FEW, STOLEN), **changes})
    words = ("disturbed", "excluded", "hypervisor", "Other activity", "Other programs", "as loaded")
    lines = [line.plain for line in DocumentView(document(table)).as_lines(400)]
    (line,) = [line for line in lines if any(map(line.count, words))]
    assert told in line


def test_a_note_of_several_tables_is_told_below_the_first() -> None:
    note = AnotherIrbench(process=None, since=None, what=None)
    tables = [group(cell("ort"), batch=batch, notes=(note,)) for batch in (1, 8)]
    lines = [line.plain for line in DocumentView(document(*tables)).as_lines(200)]
    assert lines.count(note.text(Context())) == 1


def test_a_shortened_warning_names_the_command_that_shows_the_rest():
    run = document(disturbed(cell("ort")))
    lines = [line.plain for line in DocumentView(run).as_lines(80)]
    assert lines[-1] == f"Warnings with their remedies: irbench show {run.run_id} --warnings"
    assert sum("--warnings" in line for line in lines) == 1
    wide = [line.plain for line in DocumentView(run).as_lines(300)]
    assert not any("--warnings" in line for line in wide)
    assert "Close other programs" in wide[-1]


LONG = Failure(
    "compile", f"{'a frame ' * 20}{'and what it is ' * 20}the end", f"Use one of {'an option, ' * 40}the last."
)


def test_a_long_reason_is_cut_in_the_table_and_whole_with_the_warnings():
    run = document(group(cell("openvino"), failed("ort", failure=LONG)))
    short = [line.plain for line in DocumentView(run).as_lines(80)]
    text = " ".join(" ".join(short).split())
    assert len(short) < 25
    assert "the end" in text
    assert "the last" not in text
    assert short[-1] == f"Reasons in full: irbench show {run.run_id} --warnings"
    whole = " ".join(" ".join(line.plain for line in DocumentView(run, warnings=True).as_lines(80)).split())
    assert f"{LONG.message} · {LONG.hint}" in whole
    assert "Reasons in full" not in whole


def test_what_is_shortened_is_told_in_one_line():
    run = document(disturbed(cell("openvino"), failed("ort", failure=LONG)))
    last = [line.plain for line in DocumentView(run).as_lines(120)][-1]
    assert last == f"Warnings with their remedies and reasons in full: irbench show {run.run_id} --warnings"


def test_whole_warnings_have_their_remedies_at_every_width():
    run = document(group(cell("ort"), warnings=EVERYTHING))
    for width in WIDTHS:
        text = " ".join(" ".join(line.plain for line in DocumentView(run, warnings=True).as_lines(width)).split())
        for warning in EVERYTHING:
            assert " ".join(unmarked(warning.whole(Context())).split()) in text
        assert "irbench show" not in text


def test_markdown_has_warnings_whole():
    assert "Close other programs (top lists them)" in render_document(document(disturbed(cell("ort"))), "md")


def test_an_interval_that_is_wider_than_its_target_never_reads_as_wide():
    warning = WideInterval(**{**WIDE, "half_width": 0.0144, "target": 0.0138})
    assert warning.brief(Context()) == "The lead of openvino is known to ±1.44 %; the target is ±1.38 %."


@pytest.mark.parametrize("kind", [WideInterval, TwoModes, SlowLaunches])
def test_thorough_is_not_advised_to_whom_used_it(kind: type[Warn]):
    assert "--thorough" in kind.example().more(Context())
    assert "--thorough" not in kind.example().more(Context(thorough=True))


def test_a_budget_that_ended_a_thorough_run_is_what_is_raised():
    by_budget = WideInterval(**{**WIDE, "stopped_by": "budget"})
    assert by_budget.more(Context(thorough=True)).endswith("use a larger --budget.")


@pytest.mark.parametrize(
    ("allowed", "cpus", "threads", "idle", "can_add"),
    [(2, None, 2, False, False), (8, None, 2, True, False), (8, [0, 1], 2, True, True), (None, None, 2, False, False),
     (8, None, None, False, False)],
)  # fmt: skip
def test_processors_are_advised_only_where_some_are_left(
    allowed: int | None, cpus: Any, threads: int | None, idle: bool, can_add: bool
):
    table = group(cell("ort", threads=threads), cell("tf", threads=threads))
    context = context_of(table, {"cpus_allowed": allowed}, stored_plan(cpus=cpus))
    assert (context.has_idle_processors, context.can_add_processors) == (idle, can_add)
    waits = WaitsOnItself.example()
    assert ("--cpus" in BUSY.more(context)) == idle
    assert ("--cpus" in waits.more(context)) == can_add


def busy() -> GroupResult:
    rows = (cell("openvino"), cell("ort"))
    lead = Lead(rows[0].id, rows[1].id, 1.14, low=1.12, high=1.16, launches=6, reason="busy")
    short = FewCleanBlocks.example()
    return group(*rows, lead=lead, blocks_disturbed=31, warnings=(short,))


def test_a_headline_of_a_busy_machine_says_why_rows_have_verdicts():
    def headline_of(verdict: Any) -> str:
        table = busy()
        rows = (replace(table.cells[0], speedup=speedup(1.14, 1.12, 1.16, verdict)), table.cells[1])
        lines = [line.plain for line in DocumentView(document(replace(table, cells=rows))).as_lines(400)]
        return next(line for line in lines if "too busy" in line)

    assert "31 of 48 blocks were disturbed, and a difference between rows may be due to that" in headline_of("faster")
    assert "31 of 48 blocks were disturbed. Close" in headline_of("undecided")


def test_what_the_headline_says_of_a_busy_machine_is_not_said_again():
    assert not below(document(busy()))
    assert len(below(document(busy()), whole=True)) == 1


def test_rows_are_named_as_the_table_names_them():
    differ = ThreadsDiffer(rows=(ThreadsRow("ort/fp32", 2), ThreadsRow("tf/fp32", 1)), has_streams=False)
    run = document(group(cell("ort"), cell("tf"), warnings=(differ,)))
    assert "different numbers of threads: ort 2 and tf 1." in below(run)[0]


def test_a_note_is_one_line(subtests: pytest.Subtests):
    for note in Note.known:
        with subtests.test(note=note):
            text = note.example().text(Context())
            assert text
            assert "{" not in text


def test_a_mark_is_one_line(subtests: pytest.Subtests):
    for mark in Mark.known:
        with subtests.test(mark=mark):
            text = mark.example().text()
            assert text
            assert "{" not in text


@pytest.mark.parametrize(
    ("facts", "shown"),
    [({"threads": 2, "requested_threads": 2}, "2 threads"), ({"threads": 2, "requested_threads": None}, "2 threads"),
     ({"threads": 4, "requested_threads": 2}, "4 threads, 2 requested")],
)  # fmt: skip
def test_streams_are_counted_against_the_threads_in_use_and_those_requested(facts: dict[str, Any], shown: str):
    assert Oversubscribed(streams=4, **facts).text() == f"oversubscribed: 4 streams on {shown}"


@pytest.mark.parametrize(
    ("late", "shown"),
    [(7, "7 of 300 calls at the pace of 2.5 ms were late"), (299, "cannot keep the pace of 2.5 ms")],
)
def test_a_row_that_cannot_keep_the_pace_is_told_from_one_that_was_late_now_and_then(late: int, shown: str):
    assert LateCalls(late=late, calls=300, pace_ms=2.5).text() == shown


def test_a_pace_at_which_no_row_changes_places_is_told_by_its_speedups():
    rows = (RatioRow("ort", ratio=1.05, speedup=1.14),)
    warning = PacedDiffers(pace_ms=10.0, rows=rows, reversed=())
    assert warning.brief(Context()) == "At a pace of 10 ms the speedup differs: ort 1.05x instead of 1.14x."


def test_another_irbench_is_named_by_its_process_and_what_it_measures():
    note = AnotherIrbench(process=7, since="2026-01-05T10:00:00+00:00", what="vgg16")
    assert note.text(Context()).startswith("irbench (process 7, since 2026-01-05T10:00:00+00:00: vgg16) was ")


def test_a_property_that_a_launch_did_not_read_back_is_unknown():
    mark = ChangesOverLaunches(property="threads", values=(2, None))
    assert mark.text() == "threads changed between launches: 2, unknown"


def test_a_reference_is_named_by_where_it_came_from():
    assert Reference("export", "TensorFlow").text() == "TensorFlow at export"
    assert Reference("backend", "ort", "ort with optimisations off").text() == "ort with optimisations off"
    assert Reference("backend", "onnx").text() == "the reference onnx"


class Asked(dict[str, str]):
    """Names of rows that remember which were looked up."""

    def get(self, key: str, default: Any = None) -> Any:
        self[key] = key
        return default


@pytest.mark.parametrize("warning", EVERYTHING)
def test_the_rows_that_a_warning_calls_by_name_are_those_that_its_facts_name(warning: Warn):
    asked = Asked()
    warning.whole(Context(asked))
    assert set(asked) == warning.named_rows
