"""What a run says on a machine that other programs keep busy."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import models
import pytest
from fake_runs import ENOUGH
from front_door import Called, irbench

from irbench.runner import launch
from irbench.stats.rederive import rederive
from irbench.store.runs import Store

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]


def keep_busy(monkeypatch: pytest.MonkeyPatch, processors: Callable[[str], float | None]) -> None:
    """Let other programs disturb every block, and use so many processors in the rounds of a row.

    Args:
        monkeypatch: Undoes it.
        processors: By the id of the row; ``None`` where that cannot be read.
    """
    take_round = launch.Launch._round

    def beside_others(self: launch.Launch, cell: str, *rest: Any) -> None:
        take_round(self, cell, *rest)
        rounds, used = self._progress[cell].rounds, processors(cell)
        seen = rounds[-1].evidence
        foreign_ns = None if used is None else round(used * seen.wall_ns)
        rounds[-1] = replace(rounds[-1], evidence=replace(seen, foreign_cpu_ns=foreign_ns))

    monkeypatch.setattr(launch.Launch, "_round", beside_others)
    monkeypatch.setattr(launch, "foreign_cpu_ns", lambda before, after: after.at_ns - before.at_ns)


def run(folder: Path, *arguments: object, calls_us: Mapping[str, int] | None = None) -> Called:
    calls_us = calls_us or {"fake-a": 2000, "fake-b": 6800}
    scripts = (part for name, call_us in calls_us.items() for part in ("--set", f"{name}.call_us={call_us}"))
    backends = ",".join(calls_us)
    asked = ("--backends", backends, *scripts, *ENOUGH, "--results", folder / "results", *arguments)
    return irbench("run", models.mlp(folder).path, *asked)


def headline(called: Called) -> str:
    """Return the sentence above the table, on one line."""
    lines = called.out.splitlines()
    end = next(number for number, line in enumerate(lines) if line.lstrip().startswith("backend"))
    return " ".join(lines[1:end])


def test_a_busy_machine_has_a_winner_as_loaded_as_it_was(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: 0.8)
    called = run(tmp_path)
    assert called.code == 0, called.err
    said = headline(called)
    assert "fake-a is fastest on this busy machine: 3.4" in said
    assert "x its nearest rival fake-b by time per inference" in said
    assert re.search(r"; (\d+) of \1 blocks were disturbed, so a quiet machine may differ$", said)
    assert "compared by time per inference" in " ".join(called.out.split())
    below = called.out.splitlines()[-3:]
    assert not any(word in line for line in below for word in ("disturbed", "busy", "warning"))  # the headline says it


def test_its_winner_is_undecided_where_strictness_is_asked_for(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: 0.8)
    assert run(tmp_path, "--strict").code == 4


def test_its_document_says_so_and_follows_from_its_samples_and_results_lists_it_apart(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: 0.8)
    (table,) = run(tmp_path, "--format", "json").document["groups"]
    assert (table["condition"], table["winner"]["condition"], table["lead"]["condition"]) == ("busy",) * 3
    assert table["winner"]["value"] == pytest.approx(3.4, rel=1e-4)
    assert table["blocks_disturbed"] == table["blocks_measured"] > table["blocks_excluded"] == 0
    listed = irbench("results", "--results", tmp_path / "results")
    assert "fake-a 3.40x fake-b, busy machine" in " ".join(listed.out.split())
    store = Store(tmp_path / "results")
    folder = store.find("latest")
    assert rederive(store.load(folder), store.launches(folder)) == store.load(folder)


def test_its_exports_say_so(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: 0.8)
    assert run(tmp_path).code == 0
    shown = irbench("show", "--results", tmp_path / "results", "--format", "csv").out
    fastest, slower = csv.DictReader(io.StringIO(shown))
    assert (fastest["is_winner"], slower["is_winner"]) == ("True", "False")
    for row in (fastest, slower):
        assert row["condition"] == "busy"
        assert row["blocks_disturbed"] == row["blocks_measured"]


def test_rows_that_a_busy_machine_slows_equally_are_the_same_on_it(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: 0.8)
    called = run(tmp_path, calls_us={"fake-a": 2000, "fake-b": 2000})
    assert "are the same on this busy machine" in headline(called)
    listed = " ".join(irbench("results", "--results", tmp_path / "results").out.split())
    assert re.search(r" the same \(fake-. 2\.0\d ms\), busy machine ", listed)


def test_a_load_that_is_tied_to_the_rounds_of_one_row_leaves_no_winner_and_no_verdict(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda cell: 0.9 if "fake-a" in cell else 0.0)
    called = run(tmp_path)
    assert called.code == 0, called.err
    said = headline(called)
    assert "no winner: other programs used 0.90 processors while fake-a ran and 0.00 while fake-b ran" in said
    assert "stop it, and repeat the run" in said
    assert "faster" not in called.out
    assert "machine unevenly busy" in " ".join(irbench("results", "--results", tmp_path / "results").out.split())


def test_no_winner_where_nobody_knows_in_whose_rounds_other_programs_ran(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: None)
    assert "no winner: the machine was too busy, " in headline(run(tmp_path))


def test_too_few_launches_are_said_before_a_busy_machine(tmp_path, monkeypatch):
    keep_busy(monkeypatch, lambda _: 0.8)
    said = headline(run(tmp_path, "--quick", "--budget", "0.01s"))
    assert "preview on this busy machine: fake-a leads, 3.40x" in said
    assert "after only one launch" in said
