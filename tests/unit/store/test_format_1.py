"""Runs that an older irbench stored are read, shown in their own words, imported, and derived again."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stored_runs import listed, results

from irbench.errors import IrbenchError
from irbench.notices import Mark, Note, Reference, Warn
from irbench.render import DocumentView
from irbench.result import SCHEMA_VERSION, RunDocument
from irbench.stats.rederive import rederive
from irbench.store import Store, decode_document
from irbench.store.format_1 import upgrade

ARCHIVE = Path(__file__).parents[2] / "stored" / "version-1.tar.gz"
"""Two runs of the scripted backends that the first version of irbench stored and packed."""

MIXED_ALLOWED, MIXED_EXCLUDED = "01M817F6HP5QKR0B98AJTFQR5Q", "01M817FXGPVQNNA3GVENPY5VZT"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "results"
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    return Store(root)


def run(store: Store, name: str) -> RunDocument:
    return store.load(store.find(name))


def test_the_words_of_an_old_document_are_kept_as_they_were_stored(store: Store):
    old = run(store, MIXED_EXCLUDED)
    (table,) = old.groups
    assert old.schema_version == SCHEMA_VERSION
    assert table.warnings[0] == Warn(
        "stored-words",
        {
            "code": "too-few-launches",
            "message": "The budget had room for 1 of at least 3 launches; ranges over launches are shown as a preview.",
            "remedy": "This table alone needs about --budget 19s.",
        },
    )
    said = "not ranked: fake-b computes in bf16 against fp32 of the baseline (--allow-mixed compares them)"
    assert table.notes == (Note("stored-words", {"text": said}),)
    assert table.cells[0].marks == (Mark("stored-words", {"text": "not ranked: bf16 against fp32"}),)
    assert table.verified_against == Reference("stored-words", "ort with optimisations off")
    assert table.blocks_excluded == 0


def test_the_mark_of_an_old_speedup_is_kept(store: Store):
    (speedup, *_) = [cell.speedup for cell in run(store, MIXED_ALLOWED).groups[0].cells]
    assert speedup is not None
    assert speedup.reason == Mark("stored-words", {"text": "bf16 against fp32"})


def test_an_old_run_is_shown_in_its_own_words(store: Store):
    view = DocumentView(run(store, MIXED_EXCLUDED), warnings=True)
    text = " ".join(" ".join(line.plain for line in view.as_lines(100)).split())
    for said in (
        "* not ranked: bf16 against fp32: fake-b",
        "max err: against ort with optimisations off",
        "warning: The budget had room for 1 of at least 3 launches;",
        "This table alone needs about --budget 19s. [too-few-launches]",
    ):
        assert said in text


@pytest.mark.parametrize("name", [MIXED_ALLOWED, MIXED_EXCLUDED])
def test_the_tables_of_an_old_run_are_derived_again_with_facts_in_place_of_words(store: Store, name: str):
    folder = store.find(name)
    old = store.load(folder)
    (table,) = rederive(old, store.launches(folder)).groups
    assert [warning.code for warning in table.warnings] == ["too-few-launches", "few-clean-blocks"]
    assert {mark.code for cell in table.cells for mark in cell.marks} <= {"other-precision", "not-ranked"}
    (stored,) = json.loads((folder / "run.json").read_bytes())["groups"]
    for cell, stored_cell in zip(msgspec.to_builtins(table.cells), stored["cells"], strict=True):
        assert cell["id"] == stored_cell["id"]
        assert as_far_as_stored(cell["latency_ms"], stored_cell["latency_ms"]) == stored_cell["latency_ms"]


def as_far_as_stored(derived: dict[str, Any] | None, stored: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the figures that the old document has, too: a later irbench may derive more of the same samples."""
    return derived and {name: derived[name] for name in stored or {}}


def test_an_old_archive_is_imported_and_listed(tmp_path: Path):
    root = tmp_path / "results"
    assert results(root, "import", ARCHIVE).code == 0
    assert {entry["outcomes"][0]["kind"] for entry in listed(root)} == {"busy"}


@pytest.mark.parametrize("document", [None, [], {"groups": 3}, {"groups": [3]}, {"groups": [{"warnings": [3]}]}])
def test_what_no_format_allows_is_left_to_be_refused(document: Any):
    upgrade(document)
    with pytest.raises(IrbenchError, match="is damaged"):
        decode_document(b'{"schema_version": 1, "groups": [{"cells": [{"speedup": 3}]}]}', "run.json")


def test_what_an_old_conversion_falls_short_in_is_kept_in_its_words():
    old = upgrade({"groups": [{"cells": [{"caution": "top-1 agreement 63 %"}, {"caution": None}]}]})
    assert old["groups"][0]["cells"] == [
        {"disagreement": {"measure": "stored-words", "words": "top-1 agreement 63 %"}},
        {"disagreement": None},
    ]
