"""What a run claims, in a file that finds what was changed in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import EVEN, store, times
from documents import cell, group

from irbench.across_runs.checked_runs import CheckedRun, read_run
from irbench.api.display import as_text
from irbench.errors import IrbenchError
from irbench.features.receipt.report import (
    Receipt,
    decode_receipt,
    encode_receipt,
    receipt_of,
    reservations_of,
    sealed,
)
from irbench.features.receipt.view import receipt_view
from irbench.notices.doubts import NotSteady, UnsteadyRow
from irbench.notices.marks import OtherPrecision
from irbench.notices.warnings import Refused, Unverified


def stored(root: Path, **levels_ms: tuple[float, ...]) -> CheckedRun:
    run, _ = read_run(store(root, levels_ms, graph="abc").folder)
    assert run is not None
    return run


def made(root: Path) -> Receipt:
    return receipt_of(stored(root, ort=EVEN, tf=times(2)))


def test_a_receipt_has_the_verdicts_and_what_is_needed_to_check_them(tmp_path: Path):
    run = stored(tmp_path, ort=EVEN, tf=times(2))
    receipt = receipt_of(run)
    assert [(claim.kind, claim.row.backend, claim.verdict) for claim in receipt.claims] == [
        ("winner", "ort", "faster"),
        ("speedup", "tf", "slower"),
    ]
    assert receipt.claims[0].value == pytest.approx(2)
    assert receipt.launches == run.document.launches
    assert receipt.plan == run.document.plan
    assert [graph.files.sha256 for graph in receipt.graphs] == ["abc"]


def test_a_single_row_claims_its_latency(tmp_path: Path):
    (claim,) = receipt_of(stored(tmp_path, ort=EVEN)).claims
    assert (claim.kind, claim.other) == ("latency", None)
    assert claim.low <= 10 <= claim.high


@pytest.mark.parametrize("levels", [{"ort": EVEN[:3]}, {"ort": EVEN[:3], "tf": times(2)[:3]}])
def test_a_run_without_a_decided_verdict_claims_nothing(tmp_path: Path, levels: dict[str, tuple[float, ...]]):
    with pytest.raises(IrbenchError, match="claims nothing") as refused:
        receipt_of(stored(tmp_path, **levels))
    assert "--thorough" in refused.value.hint


def test_verdicts_come_from_the_samples_and_not_from_the_document(tmp_path: Path):
    run = stored(tmp_path, ort=EVEN, tf=times(2))
    document = json.loads((run.folder / "run.json").read_text())
    for row in document["groups"][0]["cells"]:
        if row["speedup"]:
            row["speedup"]["value"] = 99
    (run.folder / "run.json").write_text(json.dumps(document))
    again, _ = read_run(run.folder)
    assert again is not None
    assert receipt_of(again).claims == receipt_of(run).claims


def test_marks_of_a_claims_rows_are_kept_and_shown(tmp_path: Path):
    lower = OtherPrecision(precision="bf16", baseline_precision="fp32")
    table = group(cell("openvino", marks=(lower,)), cell("ort"), cell("tf"))
    fast, other = (
        reservations_of(table, named, 6) for named in (("openvino/fp32", "ort/fp32"), ("tf/fp32", "ort/fp32"))
    )
    assert fast.marks == {"openvino/fp32": (lower,)}
    assert fast.rows["openvino/fp32"].backend == "openvino"
    assert other.marks == {}
    receipt = made(tmp_path)
    marked = replace(receipt, claims=(replace(receipt.claims[0], reservations=fast), *receipt.claims[1:]))
    assert "openvino: computes in bf16, the baseline in fp32." in as_text(receipt_view(marked))
    assert decode_receipt(encode_receipt(sealed(marked)), "claim.irb") == sealed(marked)


def test_a_warning_bears_on_the_rows_that_its_code_says_it_names_and_on_no_text_that_looks_like_one():
    refused = Unverified(model="ort/fp32", refusals=(Refused("tf/fp32", "no"),))
    steady = NotSteady(rows=(UnsteadyRow("openvino/fp32", 0.1),))
    table = group(cell("openvino"), cell("ort"), cell("tf"), warnings=(refused, steady))
    of_openvino, of_others = (
        reservations_of(table, named, 6) for named in (("openvino/fp32", "ort/fp32"), ("tf/fp32", "ort/fp32"))
    )
    assert (of_openvino.warnings, set(of_openvino.rows)) == ((refused, steady), {"openvino/fp32"})
    assert (of_others.warnings, set(of_others.rows)) == ((refused,), set())


def test_a_file_holds_what_was_written(tmp_path: Path):
    receipt = made(tmp_path)
    assert decode_receipt(encode_receipt(receipt), "claim.irb") == receipt


def test_whatever_is_changed_in_a_file_is_found(tmp_path: Path):
    text = encode_receipt(made(tmp_path)).decode()
    for before, after in (("slower", "faster"), ("onnxruntime", "openvino"), ("A CPU", "B CPU"), ('"cpu"', '"gpu"')):
        assert before in text
        with pytest.raises(IrbenchError, match="was changed after it was written"):
            decode_receipt(text.replace(before, after, 1).encode(), "claim.irb")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a receipt"),
        (b"{}", "not a receipt"),
        (b'{"format": 99}', "newer irbench"),
        (b'{"format": 2, "run_id": 3}', "not a receipt"),
        (b"\xff\xfe", "not a receipt"),
    ],
)
def test_what_is_no_receipt_is_refused_with_a_remedy(data: bytes, said: str):
    with pytest.raises(IrbenchError, match=said) as refused:
        decode_receipt(data, "claim.irb")
    assert refused.value.hint


def test_half_a_receipt_is_none(tmp_path: Path):
    data = encode_receipt(made(tmp_path))
    with pytest.raises(IrbenchError, match="not a receipt"):
        decode_receipt(data[: len(data) // 2], "claim.irb")
