"""Stores of many runs, of which every figure follows from its samples."""

from __future__ import annotations

from pathlib import Path

from compared_runs import EVEN, store

import irbench
from benchmarks.growth import Cost, store_variants, table_of, variants
from benchmarks.storing import Stored
from irbench.across_runs.checked_runs import read_run
from irbench.store.runs import Store


def test_runs_have_their_own_ids_and_figures_that_follow_from_their_samples(tmp_path: Path) -> None:
    run = store(tmp_path / "template", {"ort": EVEN})
    made = variants(Stored(run.document, Store(tmp_path / "template").launches(run.folder)), 3)
    oldest, newest = store_variants(tmp_path / "many", made, 9)
    entries = Store(tmp_path / "many").listing().entries
    assert (len(entries), entries[0].run_id, entries[-1].run_id) == (9, newest, oldest)
    assert all(problems == () for _, problems in (read_run(Path(entry.folder)) for entry in entries))
    found = irbench.history("tiny", results=tmp_path / "many")
    assert 1 < len({point.value for point in found.rows[0].figures[0].points}) <= 3


def test_the_table_has_a_line_for_each_call_and_a_column_for_each_number() -> None:
    found = [Cost("history", 1000, (2.0, 2.5, 9.0), (67.0,)), Cost("history", 10, (1.0,), (60.0,))]
    found.append(Cost("results", 10, (0.5,), (37.2,)))
    assert table_of(found).as_csv().splitlines() == [
        '"processor time, peak memory",10,"1,000"',
        'history,"1.00 s, 60 MB","2.50 s, 67 MB"',
        'results,"0.50 s, 37 MB",-',
    ]
