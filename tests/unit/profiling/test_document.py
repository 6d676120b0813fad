"""Documents of profiles are read as they were written, and damaged ones are refused in one line."""

from __future__ import annotations

from dataclasses import replace

import profiles
import pytest

from irbench.errors import IrbenchError
from irbench.profiling.document import decode_profile, encode_profile


def test_a_document_is_read_as_it_was_written() -> None:
    for document in (profiles.example(), profiles.compared(), profiles.with_peaks(profiles.example())):
        assert decode_profile(encode_profile(document), "it") == document


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"", "not a profile"),
        (b"[1]", "not a profile"),
        (b'{"schema_version": 2}', "not a profile"),
        (b'{"profile_version": 99}', "newer irbench"),
        (b"[" * 100_000, "not a profile"),
    ],
)
def test_what_is_no_profile_is_refused(data: bytes, wrong: str) -> None:
    with pytest.raises(IrbenchError, match=wrong):
        decode_profile(data, "it")


def test_figures_that_do_not_fit_the_launches_are_refused() -> None:
    document = profiles.example()
    ort = document.cells[0]
    lacking = (
        replace(ort, launches=ort.launches[:1]),
        replace(ort, launches=(replace(ort.launches[0], plain_ns=()), *ort.launches[1:])),
        replace(document.cells[1], id=document.cells[2].id),
    )
    for cell in lacking:
        damaged = encode_profile(replace(document, cells=(cell, *document.cells[1:])))
        if cell.id == document.cells[2].id:
            damaged = encode_profile(replace(document, cells=(document.cells[0], cell, document.cells[2])))
        with pytest.raises(IrbenchError, match="damaged"):
            decode_profile(damaged, "it")
