"""Stores of many runs, of which every figure follows from its samples."""

from __future__ import annotations

from pathlib import Path

from compared_runs import EVEN, store

import irbench
from benchmarks.growth import store_variants, variants
from benchmarks.storing import Stored
from irbench.across_runs.reading import read_run
from irbench.store import Store


def test_runs_have_their_own_ids_and_figures_that_follow_from_their_samples(tmp_path: Path) -> None:
    run = store(tmp_path / "template", {"ort": EVEN})
    made = variants(Stored(run.document, Store(tmp_path / "template").launches(run.folder)), 3)
    oldest, newest = store_variants(tmp_path / "many", made, 9)
    entries = Store(tmp_path / "many").listing().entries
    assert (len(entries), entries[0].run_id, entries[-1].run_id) == (9, newest, oldest)
    assert all(problems == () for _, problems in (read_run(Path(entry.folder)) for entry in entries))
    found = irbench.history("tiny", results=tmp_path / "many")
    assert 1 < len({point.value for point in found.rows[0].figures[0].points}) <= 3
