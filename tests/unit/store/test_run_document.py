"""The machine-readable result is one document that its shipped schema describes."""

from __future__ import annotations

import json
import math
import tracemalloc
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from documents import BUSY, cell, document, example, failed, group, speedup
from front_door import irbench
from stored_plans import stored_plan

from irbench.core.record import OutputError
from irbench.core.result import SCHEMA_VERSION, RunDocument
from irbench.errors import IrbenchError
from irbench.notices.marks import OtherPrecision
from irbench.store.file_errors import LARGEST_DOCUMENT_BYTES
from irbench.store.run_document import decode_document, encode_document, json_schema
from irbench.store.runs import Store, load_document


def shipped_schema() -> bytes:
    return resources.files("irbench.store").joinpath("run.schema.json").read_bytes()


MIXED = OtherPrecision(precision="bf16", baseline_precision="fp32")


def mixture() -> RunDocument:
    tail = replace(cell("tf"), latency_ms=replace(cell("tf").latency_ms, p99=50.0, p99_9=60.0))
    rows = (
        cell("openvino", 17.4, precision="bf16", speedup=speedup(1.9, 1.8, 2.0, reason=MIXED), marks=(MIXED,)),
        failed(),
        tail,
    )
    return document(
        example(),
        group(*rows, warnings=(BUSY,), stopped_by="budget"),
        group(failed("ort", state="interrupted", failure=None), baseline=None, stopped_by="interrupt"),
        group(),
        launches={"launch-00-00.bin": "0" * 64},
        complete=False,
    )


@pytest.mark.parametrize("run", [document(), mixture()], ids=["example", "mixture"])
def test_a_document_comes_back_as_it_went_in_and_fits_the_schema(run: RunDocument):
    data = encode_document(run)
    assert decode_document(data, "run.json") == run
    validator = jsonschema.Draft202012Validator(json.loads(shipped_schema()))
    assert not list(validator.iter_errors(json.loads(data)))


def test_the_shipped_schema_is_the_one_of_the_classes():
    assert shipped_schema() == json_schema(), "write it again: make generated"
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped_schema()))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("schema_version",), "1"),
        (("groups", 0, "cells", 0, "fps"), "30.3"),
        (("groups", 0, "cells", 0, "state"), "fine"),
        (("groups", 0, "cells", 0, "latency_ms", "p50"), None),
        (("groups", 0, "stopped_by"), "boredom"),
        (("groups", 0, "winner", "value"), None),
    ],
)
def test_the_schema_refuses_what_is_no_result(where: tuple[str | int, ...], value: object):
    plain: Any = json.loads(encode_document(document()))
    inner = plain
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    assert list(jsonschema.Draft202012Validator(json.loads(shipped_schema())).iter_errors(plain))


def test_the_names_are_those_that_were_promised():
    plain = json.loads(encode_document(mixture()))
    first, broken, tail = plain["groups"][1]["cells"]
    assert {"schema_version", "run_id", "created", "irbench_version", "environment", "plan", "groups"} <= plain.keys()
    assert first["phases_ms"].keys() >= {"import", "load", "compile", "first_inference", "ready"}
    assert first["speedup"].keys() == {
        "value", "low", "high", "verdict", "excludes_one", "all_blocks_value", "all_blocks_verdict", "reason",
        "verified", "launches", "confidence", "direction_confidence", "assumes_one_mode", "table_confidence",
        "range_low", "range_high",
    }  # fmt: skip
    assert broken["failure"].keys() == {"stage", "message", "hint", "budget_allowed_s"}
    assert broken["latency_ms"] is broken["fps"] is broken["speedup"] is None
    assert first["latency_ms"]["p99"] is None
    assert tail["latency_ms"]["p99"] == 50.0


def test_numbers_that_json_cannot_say_neither_break_the_document_nor_become_words():
    wrong = cell(state="mismatch", output_error=OutputError(math.inf, math.inf, 0.0, None))
    run = document(group(wrong), environment={"load": math.nan})
    plain = json.loads(encode_document(run), parse_constant=lambda word: pytest.fail(word))
    assert plain["environment"] == {"load": None}
    assert plain["groups"][0]["cells"][0]["output_error"]["max_rel"] > 1e308
    assert decode_document(encode_document(run), "run.json").groups[0].cells[0].output_error is not None


def test_a_document_of_a_newer_irbench_asks_for_an_update():
    later = json.dumps({"schema_version": SCHEMA_VERSION + 1, "groups": "of another form"}).encode()
    with pytest.raises(IrbenchError, match=r"run\.json was written by a newer irbench") as caught:
        decode_document(later, "run.json")
    assert "Upgrade irbench: " in caught.value.hint


def test_a_document_of_a_format_before_is_refused_and_asks_to_measure_again(tmp_path: Path):
    writer = Store(tmp_path).begin({}, stored_plan())
    writer.commit(document(example(), run_id=writer.document.run_id, created=writer.document.created))
    path = writer.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 1}))
    called = irbench("show", writer.folder)
    assert (called.code, called.out) == (2, "")
    said = " ".join(called.err.split())
    assert f"is of format 1, which this irbench does not read (it reads format {SCHEMA_VERSION})." in said
    assert "Measure again" in said


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"schema_version": 2}', b"\xff\xfe", b"null"])
def test_anything_else_is_one_clear_error_that_names_the_file(data: bytes):
    with pytest.raises(IrbenchError, match=r"results/run\.json is damaged"):
        decode_document(data, "results/run.json")


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION])
def test_a_document_nested_without_end_is_damaged(version: int):
    data = b'{"schema_version": %d, "groups": %s%s}' % (version, b"[" * 100_000, b"]" * 100_000)
    with pytest.raises(IrbenchError, match=r"run\.json is damaged"):
        decode_document(data, "run.json")


def test_fields_that_a_later_version_of_the_same_format_adds_are_passed_over():
    plain = json.loads(encode_document(document()))
    plain["groups"][0]["cells"][0]["energy_j"] = 1.5
    assert decode_document(json.dumps(plain).encode(), "run.json") == document()


def test_whoever_leads_a_table_is_one_of_its_rows():
    plain: Any = json.loads(encode_document(document(example())))
    plain["groups"][0]["lead"] = plain["groups"][0]["winner"] | {"launches": 3, "reason": None, "cell": "nobody"}
    with pytest.raises(IrbenchError, match="is not in its rows"):
        decode_document(json.dumps(plain).encode(), "run.json")


def test_no_row_has_an_empty_batch():
    plain: Any = json.loads(encode_document(document()))
    plain["groups"][0]["cells"][0]["batch"] = -1
    with pytest.raises(IrbenchError, match="has batches of -1"):
        decode_document(json.dumps(plain).encode(), "run.json")


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 10**300, json.loads("[" * 200 + "]" * 200)])
def test_what_no_run_holds_is_refused_wherever_it_stands(value: object):
    plain: Any = json.loads(encode_document(document()))
    plain["plan"]["anything"] = {"deep": [value]}
    with pytest.raises(IrbenchError, match=r"more than 64 bits|levels deep"):
        decode_document(json.dumps(plain).encode(), "run.json")


@pytest.mark.parametrize("text", ["]" * 200, '"]"', "\\", '\\"', "x"])
def test_no_text_hides_how_deep_lists_are(text: str):
    plain: Any = json.loads(encode_document(document()))
    deep: Any = []
    for _ in range(101):
        deep = [text, deep, text]
    plain["plan"]["anything"] = deep
    with pytest.raises(IrbenchError, match="levels deep"):
        decode_document(json.dumps(plain).encode(), "run.json")


def test_text_and_fractions_may_look_like_what_is_refused():
    plain: Any = json.loads(encode_document(document()))
    plain["plan"]["training"] = {
        "x": ["[" * 200, '\\"' + "9" * 30, -1.2345678901234567e-300, (1 << 63) - 1, -(1 << 63)]
    }
    assert decode_document(json.dumps(plain).encode(), "run.json").plan.training == plain["plan"]["training"]


def test_what_no_run_has_takes_memory_in_proportion_to_its_bytes():
    data = b'{"schema_version": %d, "unknown": [%s[]]}' % (SCHEMA_VERSION, b"[]," * 100_000)
    tracemalloc.start()
    try:
        with pytest.raises(IrbenchError, match="damaged"):
            decode_document(data, "run.json")
        assert tracemalloc.get_traced_memory()[1] < 8 * len(data)
    finally:
        tracemalloc.stop()


def test_a_document_that_is_larger_than_any_is_not_read(tmp_path: Path):
    with (tmp_path / "run.json").open("wb") as file:
        file.truncate(LARGEST_DOCUMENT_BYTES + 1)
    with pytest.raises(IrbenchError, match="has more than 17 MB"):
        load_document(tmp_path)


@pytest.mark.parametrize("models", [[{}], 7, [None], ["net", 3]], ids=str)
def test_a_plan_whose_values_have_other_types_is_refused(models: object):
    plain: Any = json.loads(encode_document(document()))
    plain["plan"]["models"] = models
    with pytest.raises(IrbenchError, match=r"plan\.models"):
        decode_document(json.dumps(plain).encode(), "run.json")
