"""A run is kept as plain files, and found by any name that means it alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stored_runs import measured_model

from irbench.errors import IrbenchError
from irbench.store.folders import new_ulid
from irbench.store.runs import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_a_run_is_found_by_its_name_its_beginning_its_folder_or_as_the_latest(store: Store):
    older, newer = measured_model(store, "alexnet"), measured_model(store, "vgg16")
    if older.document.run_id > newer.document.run_id:  # of the same millisecond
        older, newer = newer, older
    run_id = older.document.run_id
    for name in (run_id, run_id[:-1], run_id.lower(), str(older.folder), str(older.folder / "run.json")):
        assert store.find(name) == older.folder
    assert store.find(None) == store.find("latest") == newer.folder
    assert store.load(older.folder) == older.document
    assert older.folder.parent.parent == store.root / "runs"


def test_a_name_that_fits_no_run_or_several_is_an_error_with_a_way_out(store: Store):
    with pytest.raises(IrbenchError, match="No runs are stored") as caught:
        store.find("latest")
    assert "irbench run" in caught.value.hint
    runs = [measured_model(store).document.run_id for _ in range(2)]
    with pytest.raises(IrbenchError, match="2 runs match '0'") as caught:
        store.find("0")
    assert all(run in caught.value.hint for run in runs)
    with pytest.raises(IrbenchError, match="There is no run 'nope'") as caught:
        store.find("nope")
    assert "irbench results" in caught.value.hint


def test_launches_come_back_in_order_with_their_digests_in_the_document(store: Store):
    writer = measured_model(store, launches=3)
    assert list(writer.document.launches) == [f"launch-00-0{number}.bin" for number in range(3)]
    assert [record.launch for record in store.launches(writer.folder)] == [0, 1, 2]


def test_names_of_runs_sort_by_time_and_are_ulids():
    from datetime import UTC, datetime

    # 1469918176385 and 01ARYZ6S41 are the example of github.com/ulid/spec
    early = new_ulid(datetime.fromtimestamp(1469918176.385, UTC))
    late = new_ulid(datetime.fromtimestamp(1469918176.386, UTC))
    assert early.startswith("01ARYZ6S41")
    assert len(early) == len(late) == 26
    assert early < late
    assert new_ulid(datetime.fromtimestamp(0, UTC)) != new_ulid(datetime.fromtimestamp(0, UTC))


def test_a_document_in_the_store_is_plain_json_that_any_tool_reads(store: Store):
    plain = json.loads((measured_model(store).folder / "run.json").read_text(encoding="utf-8"))
    assert plain["groups"][0]["cells"][0]["latency_ms"]["p50"] == 32.5
