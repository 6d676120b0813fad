"""A warning is a short sentence below a table, in the order of what it costs, and whole where somebody asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from documents import BUSY, cell, document, example, failed, group, speedup
from rich.cells import cell_len

from irbench.notices import Mark, Note, NoteCode, Reference, Warn, WarningCode, named_rows
from irbench.notices.marks import ChangesOverLaunches, LateCalls, Oversubscribed
from irbench.record import Failure
from irbench.render import DocumentView, GroupView, render_document
from irbench.render.context import Context, context_of
from irbench.render.note_texts import NOTES, note_text, reference_text
from irbench.render.texts import WARNINGS, by_cost, warning_words
from irbench.result import GroupResult, Lead, RunDocument

WIDTHS = (60, 80, 120, 200)
EVERYTHING = tuple(Warn(code, text.example) for code, text in WARNINGS.items())


def below(run: RunDocument, width: int = 100, *, whole: bool = False) -> list[str]:
    lines = [line.plain for line in DocumentView(run, warnings=whole).as_lines(width)]
    return [line for line in lines if line.startswith("warning: ")]


@pytest.mark.parametrize("code", WARNINGS)
def test_a_warning_says_what_is_wrong_in_a_short_sentence_and_has_a_remedy(code: WarningCode):
    words = warning_words(Warn(code, WARNINGS[code].example), Context())
    assert words.brief.endswith(".")
    assert len(words.brief) < 100
    assert words.more.endswith(".")
    assert "{" not in words.whole


@pytest.mark.parametrize("width", WIDTHS)
def test_each_warning_says_what_is_wrong_with_no_word_cut_at_every_width(width: int):
    run = document(group(cell("ort"), warnings=EVERYTHING))
    lines = [line.plain for line in DocumentView(run).as_lines(width)]
    assert max(cell_len(line) for line in lines if "irbench show" not in line) <= width
    text = " ".join(" ".join(lines).split())
    for warning in EVERYTHING:
        words = warning_words(warning, Context())
        assert f"warning: {' '.join(words.brief.split())}" in text
        assert f"[{words.code}]" in text


def test_what_costs_the_answer_most_comes_first():
    new = [warning for warning in EVERYTHING if warning.code != "stored-words"]
    assert by_cost(reversed(new)) == new
    codes = [line.rpartition("[")[2].rstrip("]") for line in below(document(group(cell("ort"), warnings=EVERYTHING)))]
    assert codes.index("unverified") < codes.index("busy-machine") < codes.index("wide-interval")


def test_a_shortened_warning_names_the_command_that_shows_the_rest():
    run = document(group(cell("ort"), warnings=(BUSY,)))
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
    run = document(group(cell("openvino"), failed("ort", failure=LONG), warnings=(BUSY,)))
    last = [line.plain for line in DocumentView(run).as_lines(120)][-1]
    assert last == f"Warnings with their remedies and reasons in full: irbench show {run.run_id} --warnings"


def test_whole_warnings_have_their_remedies_at_every_width():
    run = document(group(cell("ort"), warnings=EVERYTHING))
    for width in WIDTHS:
        text = " ".join(" ".join(line.plain for line in DocumentView(run, warnings=True).as_lines(width)).split())
        for warning in EVERYTHING:
            assert " ".join(warning_words(warning, Context()).whole.split()) in text
        assert "irbench show" not in text


def test_markdown_has_warnings_whole():
    assert "Close other programs (top lists them)" in render_document(
        document(group(cell("ort"), warnings=(BUSY,))), "md"
    )


def test_an_interval_that_is_wider_than_its_target_never_reads_as_wide():
    facts = {**WARNINGS["wide-interval"].example, "half_width": 0.0144, "target": 0.0138}
    words = warning_words(Warn("wide-interval", facts), Context())
    assert words.brief == "The lead of openvino is known to ±1.44 %; the target is ±1.38 %."


def test_thorough_is_not_advised_to_whom_used_it():
    needed = dict(WARNINGS["wide-interval"].example)
    for code in ("wide-interval", "two-modes", "slow-launches"):
        facts = needed if code == "wide-interval" else WARNINGS[code].example
        assert "--thorough" in warning_words(Warn(code, facts), Context()).more
        assert "--thorough" not in warning_words(Warn(code, facts), Context(thorough=True)).more
    by_budget = Warn("wide-interval", {**needed, "stopped_by": "budget"})
    assert warning_words(by_budget, Context(thorough=True)).more.endswith("use a larger --budget.")


@pytest.mark.parametrize(
    ("allowed", "cpus", "threads", "idle", "can_add"),
    [(2, None, 2, False, False), (8, None, 2, True, False), (8, [0, 1], 2, True, True), (None, None, 2, False, False),
     (8, None, None, False, False)],
)  # fmt: skip
def test_processors_are_advised_only_where_some_are_left(
    allowed: int | None, cpus: Any, threads: int | None, idle: bool, can_add: bool
):
    table = group(cell("ort", threads=threads), cell("tf", threads=threads))
    context = context_of(table, {"cpus_allowed": allowed}, {"cpus": cpus})
    assert (context.has_idle_processors, context.can_add_processors) == (idle, can_add)
    waits = Warn("waits-on-itself", WARNINGS["waits-on-itself"].example)
    assert ("--cpus" in warning_words(BUSY, context).more) == idle
    assert ("--cpus" in warning_words(waits, context).more) == can_add


def busy() -> GroupResult:
    rows = (cell("openvino"), cell("ort"))
    lead = Lead(rows[0].id, rows[1].id, 1.14, low=1.12, high=1.16, launches=6, reason="busy")
    short = Warn("few-clean-blocks", WARNINGS["few-clean-blocks"].example)
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
    facts = {"rows": [{"cell": "ort/fp32", "threads": 2}, {"cell": "tf/fp32", "threads": 1}], "has_streams": False}
    run = document(group(cell("ort"), cell("tf"), warnings=(Warn("threads-differ", facts),)))
    assert "different numbers of threads: ort 2 and tf 1." in below(run)[0]


def test_facts_of_a_document_from_elsewhere_that_lack_something_are_shown_as_they_are():
    table = replace(
        example(),
        warnings=(Warn("cpu-quota", {"blocks": "x"}),),
        notes=(Note("tail-range", {"cell": 3}),),
    )
    assert 'cpu-quota: {"blocks": "x"}' in below(document(table), 200)[0]
    assert any('tail-range: {"cell": 3}' in line.plain for line in GroupView(table).as_lines(200))


@pytest.mark.parametrize("code", [*NOTES])
def test_a_note_is_one_line(code: NoteCode):
    text = note_text(Note(code, NOTES[code].example), Context())
    assert text
    assert "{" not in text


@pytest.mark.parametrize("mark", Mark.known)
def test_a_mark_is_one_line(mark: type[Mark]):
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
    rows = [{"cell": "ort", "ratio": 1.05, "speedup": 1.14}]
    warning = Warn("paced-differs", {"pace_ms": 10.0, "rows": rows, "reversed": []})
    said = warning_words(warning, Context())
    assert said.brief == "At a pace of 10 ms the speedup differs: ort 1.05x instead of 1.14x."


def test_another_irbench_is_named_by_its_process_and_what_it_measures():
    note = Note("another-irbench", {"process": 7, "since": "2026-01-05T10:00:00+00:00", "what": "vgg16"})
    assert note_text(note, Context()).startswith("irbench (process 7, since 2026-01-05T10:00:00+00:00: vgg16) was ")


def test_a_property_that_a_launch_did_not_read_back_is_unknown():
    mark = ChangesOverLaunches(property="threads", values=(2, None))
    assert mark.text() == "threads changed between launches: 2, unknown"


def test_a_reference_is_named_by_where_it_came_from():
    assert reference_text(Reference("export", "TensorFlow")) == "TensorFlow at export"
    assert reference_text(Reference("backend", "ort", "ort with optimisations off")) == "ort with optimisations off"
    assert reference_text(Reference("backend", "onnx")) == "the reference onnx"


class Asked(dict[str, str]):
    """Names of rows that remember which were looked up."""

    def get(self, key: str, default: Any = None) -> Any:
        self[key] = key
        return default


@pytest.mark.parametrize("code", WARNINGS)
def test_the_rows_that_a_warning_calls_by_name_are_those_that_its_code_names(code: WarningCode):
    """Declare where a warning names rows in ``ROWS_NAMED`` of irbench/notices.py."""
    warning, asked = Warn(code, WARNINGS[code].example), Asked()
    warning_words(warning, Context(asked))
    assert set(asked) == named_rows(warning)


def test_facts_from_elsewhere_that_are_of_another_form_name_no_rows():
    assert named_rows(Warn("not-steady", {"rows": [{"cell": 3}, "ort", None, {"cell": ["tf"]}]})) == {"tf"}
    assert named_rows(Warn("wide-interval", {})) == frozenset()
