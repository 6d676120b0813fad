"""Copies of a run that fill a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import documents

from benchmarks.listing import copies, fill
from irbench.store.run_document import decode_document
from irbench.store.runs import Store

NEWEST = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_copies_are_whole_documents_with_their_own_ids_times_and_models() -> None:
    found = list(copies(documents.document(), NEWEST, 42))
    whole = [decode_document(data, "copy") for _, data in found]
    assert len({item.run_id for item in whole}) == 42
    assert [item.run_id for item in whole] == [item.run_id for item, _ in found]
    assert whole[0].created == "2026-11-21T12:00:00+00:00"
    assert datetime.fromisoformat(whole[41].created) == NEWEST - timedelta(hours=41)
    assert [item.groups[0].model for item in whole].count("resnet50-7") == 2
    assert all(item.groups[0].cells == documents.document().groups[0].cells for item in whole)


def test_a_store_that_is_filled_with_copies_lists_every_one(tmp_path: Path) -> None:
    fill(tmp_path, documents.document(), 30)
    listing = Store(tmp_path).listing()
    assert len(listing.entries) == 30
    assert listing.problems == ()
    assert [entry.run_id for entry in listing.entries] == sorted(
        (entry.run_id for entry in listing.entries), reverse=True
    )
