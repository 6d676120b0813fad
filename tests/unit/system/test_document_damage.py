"""What is wrong with a document is said without the words of the library that decoded it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from irbench.errors import IrbenchError
from irbench.store.run_document import decode_document
from irbench.system.document_damage import damage_text, named_by_archive


class Inner(msgspec.Struct):
    number: int


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    inner: Inner


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "it is not valid JSON"),
        (b"nonsense", "it is not valid JSON"),
        (b"{}", "the field inner is missing"),
        (b'{"inner": {}}', "the field number at inner is missing"),
        (b'{"inner": {"number": "7"}}', "the value at inner.number is not of the type that it must have"),
        (b'{"inner": {"number": 7}, "innner": 8}', "there is no field innner"),
        (b"7", "the value is not of the type that it must have"),
    ],
)
def test_what_msgspec_refuses_is_said_in_words_of_our_own(content: bytes, said: str) -> None:
    with pytest.raises((msgspec.MsgspecError, ValueError)) as caught:
        msgspec.json.decode(content, type=Outer)
    assert damage_text(caught.value) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RecursionError("maximum recursion depth exceeded"), "it is nested too deeply"),
        (EOFError("Compressed file ended before the end-of-stream marker was reached"), "it is cut short"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (ValueError("two cells have the same id"), "two cells have the same id"),
    ],
)
def test_other_errors_are_told_apart_by_their_kind(error: Exception, said: str) -> None:
    assert damage_text(error) == said


def test_a_run_document_that_is_cut_short_is_no_valid_json() -> None:
    with pytest.raises(IrbenchError, match=r"run\.json is damaged, .*: it is not valid JSON\."):
        decode_document(b'{"schema_version": 2', "run.json")


def test_a_file_of_an_archive_is_named_by_the_archive(tmp_path: Path) -> None:
    text = f"{tmp_path / 'runs' / 'run.json'} is damaged."
    assert named_by_archive(text, tmp_path, "mine.tar.gz") == "mine.tar.gz: runs/run.json is damaged."
