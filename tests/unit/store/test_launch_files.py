"""A launch comes back from its file exactly as it went in, or not at all."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

import numpy as np
import pytest
from documents import cell_launch, launch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irbench.core.record import (
    BlockEvidence,
    CellLaunch,
    Evidence,
    Failure,
    LaunchRecord,
    OutputError,
    Round,
    Stage,
    Sustained,
)
from irbench.errors import IrbenchError
from irbench.store.launch_files import decode_launch, encode_launch

NESTED = (200_000).to_bytes(4, "little") + b"[" * 100_000 + b"]" * 100_000
INT64 = st.integers(-(2**63), 2**63 - 1)
SERIES = hnp.arrays(np.int64, st.integers(0, 40), elements=INT64)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(allow_nan=False)
COUNTS = st.integers(0, 2**62)
SCALARS = st.one_of(st.none(), st.booleans(), COUNTS, NUMBERS, TEXT)
EVIDENCE = st.builds(Evidence, COUNTS, COUNTS, st.none() | COUNTS, *[COUNTS] * 4)
POSITIVE = st.integers(1, 2**62)
SAMPLES = st.shared(st.integers(1, 40), key="samples")
TIMES = hnp.arrays(np.int64, SAMPLES, elements=st.integers(-(2**62), 2**62 - 1))
LATENCIES = hnp.arrays(np.int64, SAMPLES, elements=st.integers(0, 2**62))


def round_of_calls(block: int, issue_ns: np.ndarray, latency_ns: np.ndarray, evidence: Evidence) -> Round:
    return Round(block, issue_ns, np.maximum(issue_ns + latency_ns, 1), evidence)


ROUNDS = st.builds(round_of_calls, COUNTS, TIMES, LATENCIES, EVIDENCE)
ERRORS = st.none() | st.builds(OutputError, NUMBERS, NUMBERS, NUMBERS, st.none() | NUMBERS)
CELLS = st.builds(
    CellLaunch,
    cell=TEXT,
    streams=POSITIVE,
    calls_per_sample=POSITIVE,
    rounds=st.lists(ROUNDS, max_size=3).map(tuple),
    phases_ns=st.dictionaries(TEXT, COUNTS, max_size=3),
    peak_memory_bytes=st.dictionaries(TEXT, COUNTS, max_size=3),
    effective=st.dictionaries(TEXT, SCALARS, max_size=4),
    output_error=ERRORS,
    tail_ns=SERIES,
)
BLOCKS = st.builds(BlockEvidence, COUNTS, st.lists(TEXT, max_size=3).map(tuple), *[COUNTS] * 4, st.none() | NUMBERS)
LAUNCHES = st.builds(
    LaunchRecord,
    group=COUNTS,
    launch=COUNTS,
    cells=st.lists(CELLS, max_size=3).map(tuple),
    failures=st.dictionaries(
        TEXT, st.builds(Failure, st.sampled_from(get_args(Stage)), TEXT, st.none() | TEXT), max_size=2
    ),
    blocks=st.lists(BLOCKS, max_size=2).map(tuple),
    sustained=st.lists(st.builds(Sustained, TEXT, POSITIVE, POSITIVE), max_size=2).map(tuple),
    load_average=NUMBERS,
    frozen=st.booleans(),
    pressure=st.none() | NUMBERS,
    processors=COUNTS,
)


def same(array: Any, other: Any) -> bool:
    if isinstance(array, np.ndarray):
        return array.dtype == other.dtype == np.int64 and np.array_equal(array, other)
    if is_dataclass(array):
        return type(array) is type(other) and all(
            same(getattr(array, field.name), getattr(other, field.name)) for field in fields(array)
        )
    if isinstance(array, Mapping):
        return array.keys() == other.keys() and all(same(array[key], other[key]) for key in array)
    if isinstance(array, tuple):
        return len(array) == len(other) and all(map(same, array, other))
    return type(array) is type(other) and array == other


@pytest.mark.ci
@settings(deadline=None, max_examples=150)
@given(LAUNCHES)
def test_every_launch_comes_back_as_it_went_in(record: LaunchRecord):
    data = encode_launch(record)
    assert same(decode_launch(data, "a file"), record)
    assert encode_launch(decode_launch(data, "a file")) == data


def test_the_comparison_of_this_test_sees_a_single_nanosecond():
    record = launch()
    altered = launch()
    altered.cells[0].rounds[0].completion_ns[0] += 1
    assert same(record, launch())
    assert not same(record, altered)


def test_a_wrong_answer_that_is_infinitely_wrong_is_still_readable():
    wrong = replace(cell_launch("a", 1), output_error=OutputError(math.inf, math.inf, math.nan, None))
    (cell,) = decode_launch(encode_launch(replace(launch(), cells=(wrong,))), "a file").cells
    assert cell.output_error is not None
    assert cell.output_error.max_rel == math.inf
    assert math.isnan(cell.output_error.cosine)


def test_what_was_read_can_be_computed_with_and_does_not_pin_the_file():
    series = decode_launch(encode_launch(launch()), "a file").cells[0].rounds[0].completion_ns
    series += 1
    assert series.flags.owndata or series.base is not None
    assert series.dtype.isnative


def test_a_round_takes_fewer_bytes_than_its_samples_would():
    long = replace(launch(), cells=(replace(cell_launch("a", 1), tail_ns=np.arange(30_000_000, 31_000_000, 100)),))
    assert len(encode_launch(long)) < 10_000 * 8 / 2


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_mutated_file_is_one_clear_error(data: st.DataObject):
    whole = bytearray(encode_launch(launch(blocks=1)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(IrbenchError, match=r"launch-00-00\.bin") as caught:
        decode_launch(bytes(whole), "launch-00-00.bin")
    assert caught.value.hint


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 20, 39, 40, 41, 43, 44, 500, -1])
def test_a_file_that_is_cut_short_is_one_clear_error(kept: int):
    with pytest.raises(IrbenchError, match=r"launch-00-00\.bin"):
        decode_launch(encode_launch(launch())[:kept], "launch-00-00.bin")


@pytest.mark.parametrize(
    "body", [b"", b"\1\0\0\0{", b"\2\0\0\0{}", b"\xff\xff\xff\xff{}", b"\2\0\0\0[]\1\0\0\0x", NESTED]
)
def test_a_body_that_is_no_launch_is_one_clear_error_even_with_a_right_checksum(body: bytes):
    with pytest.raises(IrbenchError, match=r"x\.bin cannot be read"):
        decode_launch(b"IRBENCH1" + hashlib.sha256(body).digest() + body, "x.bin")


def empty(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


LACKING = {
    "fewer issues than completions": {"issue_ns": empty(3)},
    "no samples": {"issue_ns": empty(0), "completion_ns": empty(0)},
    "answers before calls": {"issue_ns": np.full(5, 2), "completion_ns": np.ones(5, np.int64)},
    "no time": {"issue_ns": empty(5), "completion_ns": empty(5)},
}


@pytest.mark.parametrize("kind", LACKING)
def test_a_round_whose_times_cannot_be_is_one_clear_error_even_with_a_right_checksum(kind: str):
    cell = cell_launch("a", 1)
    rounds = (replace(cell.rounds[0], **LACKING[kind]),)
    with pytest.raises(IrbenchError, match=r"x\.bin cannot be read: a round"):
        decode_launch(encode_launch(replace(launch(), cells=(replace(cell, rounds=rounds),))), "x.bin")


def test_counts_that_are_divided_by_are_positive():
    for record in (
        replace(launch(), cells=(replace(cell_launch("a", 1), calls_per_sample=0),)),
        replace(launch(), sustained=(Sustained("a", 9, 0),)),
    ):
        with pytest.raises(IrbenchError, match=r"x\.bin cannot be read"):
            decode_launch(encode_launch(record), "x.bin")


def test_a_file_of_a_later_format_asks_for_an_update():
    with pytest.raises(IrbenchError, match="another version") as caught:
        decode_launch(b"IRBENCH2" + encode_launch(launch())[8:], "x.bin")
    assert "Upgrade irbench: " in caught.value.hint
