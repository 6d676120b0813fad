"""The raw samples of a stored run, line by line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from documents import ENVIRONMENT, cell, group, launch
from front_door import irbench
from stored_plans import stored_plan
from stored_runs import altered, refused

from irbench.store.runs import RunWriter, Store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "stored"


def sampled(root: Path, *arguments: object) -> list[dict[str, str]]:
    called = irbench("show", "--samples", "--results", root, *arguments)
    assert called.code == 0, called.err
    return list(csv.DictReader(io.StringIO(called.out)))


def with_launches(root: Path) -> RunWriter:
    """Store two launches of three blocks, five calls each, of two cells; one ran a tail, and one alone."""
    first, second = launch(0, cells=("ort", "tf")), launch(1, cells=("ort", "tf"))
    tail = replace(second.cells[0], tail_ns=np.asarray([7, 8, 9], np.int64))
    busy = replace(second.blocks[1], foreign_cpu_ns=second.blocks[1].wall_ns)
    writer = Store(root).begin(ENVIRONMENT, stored_plan(timing={"min_blocks": 2, "burn_in_blocks": 0}))
    writer.add_launch(replace(first, sustained=()))
    writer.add_launch(replace(second, cells=(tail, second.cells[1]), blocks=(second.blocks[0], busy, second.blocks[2])))
    rows = (cell("ort", id="ort", label="ort"), cell("tf", id="tf", label="tf"))
    writer.commit(replace(writer.document, groups=(group(*rows),), complete=True))
    return writer


def test_samples_are_lines_that_say_what_they_belong_to(root: Path) -> None:
    run = with_launches(root)
    lines = sampled(root)
    rounds = [line for line in lines if line["kind"] == "round"]
    assert len(rounds) == 2 * 2 * 3 * 5
    stored = [
        int(latency)
        for record in Store(root).launches(run.folder)
        for cell_launch in record.cells
        for round_ in cell_launch.rounds
        for latency in round_.latency_ns
    ]
    assert [int(line["latency_ns"]) for line in rounds] == stored
    assert all(int(line["completion_ns"]) - int(line["issue_ns"]) == int(line["latency_ns"]) for line in rounds)
    assert {(line["run_id"], line["model"], line["group"]) for line in lines} == {
        (run.document.run_id, "resnet50", "0")
    }
    assert {(line["launch"], line["block"]) for line in rounds if line["disturbed"] == "1"} == {("1", "1")}
    assert {(line["launch"], line["block"]) for line in rounds if line["counts"] == "0"} == {("1", "1")}


def test_tails_and_runs_alone_are_samples_of_their_own_kind(root: Path) -> None:
    with_launches(root)
    lines = sampled(root)
    tails = [line for line in lines if line["kind"] == "tail"]
    assert [line["latency_ns"] for line in tails] == ["7", "8", "9"]
    assert {(line["row"], line["block"], line["issue_ns"]) for line in tails} == {("ort", "", "")}
    (alone,) = [line for line in lines if line["kind"] == "sustained"]
    assert (alone["calls"], alone["completion_ns"], alone["latency_ns"]) == ("90", str(3 * 10**9), "")


def test_samples_as_json_lines_hold_the_same_with_null_for_nothing(root: Path, tmp_path: Path) -> None:
    with_launches(root)
    called = irbench("show", "--samples", "--format", "jsonl", "-o", tmp_path / "x.jsonl", "--results", root)
    assert (called.code, called.out) == (0, "")
    read = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    as_text = [
        {
            name: "" if value is None else str(int(value) if isinstance(value, bool) else value)
            for name, value in item.items()
        }
        for item in read
    ]
    assert as_text == sampled(root)


def test_samples_of_a_damaged_launch_are_refused_before_the_first_is_printed(root: Path) -> None:
    path = with_launches(root).folder / "launch-00-01.bin"
    path.write_bytes(altered(path.read_bytes()))
    called = irbench("show", "--samples", "--results", root)
    assert refused(called, "launch-00-01.bin is damaged", "other runs are not affected")
    assert called.out == ""


@pytest.mark.parametrize("form", ["table", "json", "md"])
def test_samples_are_not_printed_in_any_other_format(root: Path, form: str) -> None:
    with_launches(root)
    assert refused(
        irbench("show", "--samples", "--format", form, "--results", root), f"as {form}", "--format csv or jsonl"
    )
