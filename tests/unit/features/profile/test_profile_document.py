"""Documents of profiles are read as they were written, and damaged ones are refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from typing import Any

import jsonschema
import profiles
import pytest

from irbench.errors import IrbenchError
from irbench.features.profile.profile_document import decode_profile, encode_profile, profile_schema
from irbench.stats.intervals import MOST_LAUNCHES


def shipped_schema() -> bytes:
    return resources.files("irbench.features.profile").joinpath("profile.schema.json").read_bytes()


def refusals(plain: Any) -> list[Any]:
    return list(jsonschema.Draft202012Validator(json.loads(shipped_schema())).iter_errors(plain))


def test_a_document_is_read_as_it_was_written_and_fits_the_schema() -> None:
    for document in (profiles.example(), profiles.compared(), profiles.with_peaks(profiles.example())):
        data = encode_profile(document)
        assert decode_profile(data, "it") == document
        assert not refusals(json.loads(data))


def test_the_shipped_schema_is_the_one_of_the_classes() -> None:
    assert shipped_schema() == profile_schema(), "write it again: make generated"
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped_schema()))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("profile_version",), "1"),
        (("stopped_by",), "boredom"),
        (("cells", 0, "operators", 0, "duration_ns"), 5),
        (("cells", 0, "launches", 0, "profiled_ns", 0), 1.5),
        (("graphs", "none", 0, "operator_class"), "work"),
    ],
)
def test_the_schema_refuses_what_is_no_profile(where: tuple[str | int, ...], value: object) -> None:
    plain: Any = json.loads(encode_profile(profiles.example()))
    inner = plain
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    assert refusals(plain)


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


@pytest.mark.parametrize("launches", [-1, 0, MOST_LAUNCHES + 1, 2**63 - 1])
def test_more_launches_than_intervals_can_be_computed_of_are_refused(launches: int) -> None:
    with pytest.raises(IrbenchError, match=f"it has {launches} launches"):
        decode_profile(encode_profile(profiles.document(profiles.ort(), launches=launches)), "it")


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
